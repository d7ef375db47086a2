// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which samples of its signal belong to each k-mer of a read, and the lines of f5c resquiggle that say so.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::resquiggle_writer {

// The events of a read, and those of each of its k-mers (first_event -1: none), as event_detection and abea give them. Of DNA the events ascend in
// time, of RNA they descend.
struct AlignedEvents {
  std::span<const std::int32_t> start_sample;
  std::span<const std::int32_t> length_samples;
  std::span<const std::int32_t> first_event;
  std::span<const std::int32_t> last_event;
  std::int64_t signal_begin = 0;  // sample of the sequencer's read that start_sample counts from; lines count from that read's first
};

// "" if the lists fit each other: k-mers have events, no event lies outside, and the samples of k-mers follow each other without overlap.
std::string_view problem_with(const AlignedEvents& events);

// The functions below are for events without a problem.

// Samples of k-mers, added up over reads.
struct DwellCounts {
  std::uint64_t kmers = 0, with_events = 0, samples = 0;  // samples: of those with events
  std::array<std::uint64_t, 101> of_samples{};            // k-mers with so many samples, the last: or more
};
void count_dwells(const AlignedEvents& events, DwellCounts& counts);

std::string_view table_header();
// One line per k-mer: read, k-mer, first sample and end; "." for both where the k-mer has no event.
void append_table(std::string& text, std::string_view read_id, const AlignedEvents& events);

// One line a read, in three parts: twelve columns and a tab, the tags sc and sh and a tab, the tag ss and the end of the line.
void append_paf_columns(std::string& text, std::string_view read_id, std::int64_t sample_count, const AlignedEvents& events);
void append_scaling_tags(std::string& text, float scale, float shift);
void append_path_tag(std::string& text, const AlignedEvents& events);

}  // namespace sluice::resquiggle_writer
