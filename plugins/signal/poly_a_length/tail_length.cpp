// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/tail_length.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <sluice/poly_a_tail.hpp>
#include <sluice/rna_adapter.hpp>
#include <vector>

namespace sluice::poly_a_length {
namespace {

constexpr double usual_bases_per_second = 130;  // RNA004
constexpr double flat_stdv = 4;                 // pA; of the means of a tail's bases
// A tail begins so near to the adapter's end: between them lies what is ligated, and the rise of the current.
constexpr double most_bases_between = 25;
// The tail's level is that of its first bases; it ends where so many bases in a row lie off it. Slips and other letters are shorter.
constexpr std::size_t level_bases = 12, most_off_level = 3;
constexpr double off_level = 6;  // pA
// Shorter reads do not tell their speed.
constexpr std::int64_t least_bases = 50;

// Samples of `run` that are the tail's, from its front: flat bases of the transcript that happen to follow have another level.
std::int64_t on_level(std::span<const std::int16_t> run, std::size_t base_samples, double limit) {
  std::vector<double> means;
  for (std::size_t at = 0; at + base_samples <= run.size(); at += base_samples) {
    const auto base = run.subspan(at, base_samples);
    means.push_back(static_cast<double>(std::accumulate(base.begin(), base.end(), std::int64_t{0})) / static_cast<double>(base_samples));
  }
  std::vector<double> first(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(std::min(level_bases, means.size())));
  if (first.empty()) return std::ssize(run);
  std::nth_element(first.begin(), first.begin() + std::ssize(first) / 2, first.end());
  const double level = first[first.size() / 2];
  std::size_t end = 0;
  for (std::size_t i = 0; i < means.size() && i - end < most_off_level; ++i)
    if (std::abs(means[i] - level) <= limit) end = i + 1;
  return static_cast<std::int64_t>(std::min(run.size(), end * base_samples));
}

}  // namespace

TailLength tail_length(std::span<const std::int16_t> raw, double digitisation, double range, double offset, double sampling_rate, std::int64_t bases,
                       Front front) {
  const std::int64_t adapter = front == Front::cut ? 0 : find_rna_adapter(raw, digitisation, range, offset);
  TailLength found;
  if (adapter == 0 && front == Front::whole) return found;
  const double usual = sampling_rate / usual_bases_per_second;
  PolyATail tail;
  tail.begin(usual, flat_stdv / (range / digitisation));
  tail.take(raw.subspan(static_cast<std::size_t>(adapter)));
  tail.finish();
  found.bases = TailLength::no_tail;
  if (!tail.is_found() || static_cast<double>(tail.first()) > most_bases_between * usual) return found;
  found.begin = adapter + tail.first();
  const auto run = raw.subspan(static_cast<std::size_t>(found.begin), static_cast<std::size_t>(tail.end() - tail.first()));
  found.end = found.begin + on_level(run, static_cast<std::size_t>(std::max(usual, 1.0)), off_level / (range / digitisation));
  const auto rest = static_cast<double>(std::ssize(raw) - found.end);
  const double samples_per_base = bases >= least_bases && rest > 0 ? std::clamp(rest / static_cast<double>(bases), usual / 3, usual * 3) : usual;
  found.bases = std::max(1, static_cast<std::int32_t>(std::lround(static_cast<double>(found.end - found.begin) / samples_per_base)));
  return found;
}

}  // namespace sluice::poly_a_length
