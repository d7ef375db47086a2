// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The events of one alignment record on the reference, as the stage event_alignment gives them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::event_alignment_writer {

enum class Strand : std::uint8_t { forward, reverse };

// One row of output each, in the order of the reference.
struct EventPath {
  std::span<const std::int32_t> event;
  std::span<const std::int32_t> position;  // of the k-mer's first base on the contig
  std::span<const std::uint8_t> state;     // 1: the event matches the k-mer, 0: a bad event, which matches none

  std::size_t rows() const { return event.size(); }
};

// The read's events. Those of DNA are in the order of time, those of RNA, which passes the pore from its 3' end, last first.
struct Events {
  std::span<const std::int32_t> start, length;  // samples
  std::span<const float> mean, stdv;            // pA

  std::int64_t end(std::int32_t event) const {
    const auto e = static_cast<std::size_t>(event);
    return std::int64_t{start[e]} + length[e];
  }
};

struct Scaling {
  float shift = 0, scale = 1;  // pA = scale * level_mean + shift
  float var = 1;               // factor on level_stdv
};

struct Alignment {
  std::string_view read_id;
  std::string_view contig, contig_bases;
  Strand strand = Strand::forward;
  std::int64_t record_index = 0;  // ordinal of the record in its file
  EventPath path;
  Events events;
  std::int64_t signal_begin = 0;  // sample of the sequencer's read that events.start counts from
  Scaling scaling;
  float samples_per_second = 0;
};

// The lists have one length, the events are among `event_count`, and each position has a whole k-mer.
bool is_sound(const EventPath& path, std::size_t event_count, std::size_t contig_bases, std::uint32_t k);

// Each event of the path lies in the signal.
bool is_inside(const EventPath& path, const Events& events, std::size_t samples);

inline bool are_last_first(std::span<const std::int32_t> event_start) { return event_start.size() > 1 && event_start.front() > event_start.back(); }

// Behind the last row from `row` on that is on its position.
inline std::size_t end_of_run(std::span<const std::int32_t> position, std::size_t row) {
  std::size_t end = row + 1;
  while (end < position.size() && position[end] == position[row]) ++end;
  return end;
}

}  // namespace sluice::event_alignment_writer
