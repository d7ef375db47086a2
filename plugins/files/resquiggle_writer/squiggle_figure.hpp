// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Some k-mers from the middle of a read with their samples, for the report of a run.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/result_figures.hpp>
#include <span>
#include <string>
#include <string_view>

#include "resquiggle_writer/signal_path.hpp"

namespace sluice::resquiggle_writer {

// The samples that event_start counts from, and what one is in pA: (sample + offset) * range / digitisation.
struct CalibratedSignal {
  std::span<const std::int16_t> samples;
  double offset = 0, range = 1, digitisation = 1;

  std::int32_t tenths_of_pa(double sample) const {
    const double pico_amps = (sample + offset) * range / digitisation;
    return std::isfinite(pico_amps) ? static_cast<std::int32_t>(std::lround(std::clamp(pico_amps, -1e6, 1e6) * 10)) : 0;
  }
};

// Each k-mer with events is one step, as high as the mean of its samples. Samples are counted in the sequencer's read. None: the read has too few
// such k-mers, or some lie outside of the signal. For events without a problem, see problem_with().
inline std::optional<FigureSquiggle> squiggle_of(std::string_view read_id, std::string_view bases, const AlignedEvents& events,
                                                 const CalibratedSignal& signal, std::size_t shown_kmers = 60, std::size_t shown_samples = 800) {
  std::size_t placed = 0;
  for (const std::int32_t event : events.first_event) placed += event < 0 ? 0 : 1;
  if (placed < shown_kmers || events.first_event.size() > bases.size()) return std::nullopt;
  const std::size_t k = bases.size() - events.first_event.size() + 1;
  FigureSquiggle squiggle{.read = read_id};
  std::int64_t begin = 0, end = 0;
  std::size_t skipped = (placed - shown_kmers) / 2;
  for (std::size_t kmer = 0; squiggle.events.size() < shown_kmers; ++kmer) {
    if (events.first_event[kmer] < 0 || skipped > 0) {
      skipped -= events.first_event[kmer] < 0 ? 0 : 1;
      continue;
    }
    const auto a = static_cast<std::size_t>(events.first_event[kmer]), b = static_cast<std::size_t>(events.last_event[kmer]);
    const std::int64_t from = std::min(events.start_sample[a], events.start_sample[b]);
    const std::int64_t until = std::max<std::int64_t>(std::int64_t{events.start_sample[a]} + events.length_samples[a],
                                                      std::int64_t{events.start_sample[b]} + events.length_samples[b]);
    if (from < 0 || until <= from || until > static_cast<std::int64_t>(signal.samples.size())) return std::nullopt;
    double sum = 0;
    for (std::int64_t at = from; at < until; ++at) sum += signal.samples[static_cast<std::size_t>(at)];
    squiggle.events.push_back({events.signal_begin + from, events.signal_begin + until, signal.tenths_of_pa(sum / static_cast<double>(until - from)),
                               "k-mer " + std::to_string(kmer) + " " + std::string(bases.substr(kmer, k))});
    begin = squiggle.events.size() == 1 ? from : std::min(begin, from);
    end = std::max(end, until);
  }
  squiggle.first = events.signal_begin + begin;
  const auto most = static_cast<std::int64_t>(shown_samples);
  squiggle.step = std::max<std::int64_t>(1, (end - begin + most - 1) / most);
  for (std::int64_t at = begin; at < end; at += squiggle.step)
    squiggle.samples.push_back(signal.tenths_of_pa(signal.samples[static_cast<std::size_t>(at)]));
  return squiggle;
}

}  // namespace sluice::resquiggle_writer
