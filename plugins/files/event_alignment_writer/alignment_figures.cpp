// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/alignment_figures.hpp"

#include <algorithm>
#include <cmath>
#include <sluice/result_figures.hpp>
#include <string>

namespace sluice::event_alignment_writer {
namespace {

constexpr std::size_t shown_events = 60, shown_samples = 800;

constexpr Figure aligned_events{0, FigureKind::total, "events aligned", "event", "rows of aligned events, those that match no k-mer included"};
constexpr Figure events_of_read{1, FigureKind::mean, "events of a read", "", "aligned events of the reads that have any, in the mean"};
constexpr Figure squiggles{2, FigureKind::squiggles, "squiggles of three reads", "pA",
                           "samples from the middle of the first reads, and over them their events"};

std::int32_t tenths(float pico_amps) {
  return std::isfinite(pico_amps) ? static_cast<std::int32_t>(std::lround(std::clamp(pico_amps, -1e6F, 1e6F) * 10)) : 0;
}

}  // namespace

void give_figures(const Call& call, const Batch& in) {
  const auto path = in.list<std::int32_t>("path_event");
  std::uint64_t events = 0, reads = 0;
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    events += path[row].size();
    reads += path[row].empty() ? 0 : 1;
  }
  ResultFigures figures;
  figures.add_total(aligned_events, events);
  figures.add_mean(events_of_read, events, reads);
  figures.give(call);
}

bool give_squiggle(const Call& call, const Alignment& alignment, const RawSignal& signal, std::uint32_t k, std::uint32_t number) {
  const EventPath& path = alignment.path;
  const Events& events = alignment.events;
  if (path.rows() < shown_events || !is_inside(path, events, signal.samples.size())) return false;
  const std::size_t from = (path.rows() - shown_events) / 2;
  FigureSquiggle squiggle{.read = alignment.read_id};
  std::int64_t begin = events.end(path.event[from]), end = 0;
  for (std::size_t row = from; row < from + shown_events; ++row) {
    const auto event = static_cast<std::size_t>(path.event[row]);
    const std::int64_t first = events.start[event], last = events.end(path.event[row]);
    begin = std::min(begin, first), end = std::max(end, last);
    const auto position = static_cast<std::size_t>(path.position[row]);
    squiggle.events.push_back(
        {first, last, tenths(events.mean[event]),
         std::string(alignment.contig) + ":" + std::to_string(position + 1) + " " + std::string(alignment.contig_bases.substr(position, k))});
  }
  squiggle.first = begin;
  squiggle.step = std::max<std::int64_t>(1, (end - begin + static_cast<std::int64_t>(shown_samples) - 1) / static_cast<std::int64_t>(shown_samples));
  for (std::int64_t at = begin; at < end; at += squiggle.step)
    squiggle.samples.push_back(tenths(signal.pico_amps(signal.samples[static_cast<std::size_t>(at)])));
  ResultFigures figures;
  figures.add_squiggle(squiggles, number, squiggle);
  figures.give(call);
  return true;
}

void describe_figures(const Call& call) {
  ResultFigures figures;
  for (const Figure& figure : {aligned_events, events_of_read, squiggles}) figures.describe(figure);
  figures.give(call);
}

}  // namespace sluice::event_alignment_writer
