// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/alignment_rows.hpp"

#include <algorithm>

#include "event_alignment_writer/alignment_figures.hpp"

namespace sluice::event_alignment_writer {

std::optional<Alignment> AlignmentRows::alignment(std::int64_t row) const {
  const auto list = [&]<class T>(const char* name, std::span<const T>& target) { target = in_.list<T>(name)[row]; };
  Alignment a;
  a.read_id = in_.text("read_id")[row];
  a.contig = in_.text("contig")[row];
  a.contig_bases = contigs_.find(a.contig);
  a.strand = value<std::uint8_t>("is_reverse", row) != 0 ? Strand::reverse : Strand::forward;
  list("path_event", a.path.event);
  list("path_position", a.path.position);
  list("path_state", a.path.state);
  list("event_start", a.events.start);
  list("event_length", a.events.length);
  const std::size_t events = a.events.start.size();
  if (a.events.length.size() != events) return {};
  if (columns_.levels) {
    list("event_mean", a.events.mean);
    list("event_stdv", a.events.stdv);
    if (a.events.mean.size() != events || a.events.stdv.size() != events) return {};
  }
  if (!is_sound(a.path, events, a.contig_bases.size(), k_)) return {};
  if (!a.path.position.empty()) {
    const auto [first, last] = std::ranges::minmax(a.path.position);
    constexpr std::int64_t beside = 16;  // letters around a site
    contigs_.reference().read_near(a.contig_bases, first - beside, last + std::int64_t{k_} + beside, host_);
  }
  if (in_.has("signal_begin")) a.signal_begin = value<std::int64_t>("signal_begin", row);
  a.scaling.shift = value<float>("shift", row);
  a.scaling.scale = value<float>("scale", row);
  if (columns_.var) a.scaling.var = value<float>("var", row);
  if (columns_.rate) a.samples_per_second = static_cast<float>(value<double>("sampling_rate", row));
  if (columns_.index) a.record_index = value<std::int64_t>("record_index", row);
  return a;
}

RawSignal AlignmentRows::signal(std::int64_t row) const {
  return {in_.list<std::int16_t>("raw_signal")[row], static_cast<float>(value<double>("offset", row)),
          static_cast<float>(value<double>("range", row)) / static_cast<float>(value<double>("digitisation", row))};
}

void say_written(const Call& call, const Batch& in) {
  const auto path = in.list<std::int32_t>("path_event");
  double events = 0;
  std::uint64_t aligned = 0;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    events += static_cast<double>(path[row].size());
    aligned += path[row].empty() ? 0 : 1;
  }
  give_figures(call, in);
  call.count("aligned events written", events);
  call.outcome("aligned", aligned, static_cast<std::uint64_t>(in.rows()));
}

}  // namespace sluice::event_alignment_writer
