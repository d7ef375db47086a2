// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/flat_stretch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <sluice/poly_a_tail.hpp>
#include <vector>

namespace sluice::poly_a_length {
namespace {

constexpr double flat_stdv = 4;  // pA; of the means of a tail's bases
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

std::optional<Stretch> flat_stretch(std::span<const std::int16_t> raw, double samples_per_base, double step) {
  PolyATail tail;
  tail.begin(samples_per_base, flat_stdv / step);
  tail.take(raw);
  tail.finish();
  if (!tail.is_found()) return std::nullopt;
  const auto run = raw.subspan(static_cast<std::size_t>(tail.first()), static_cast<std::size_t>(tail.end() - tail.first()));
  return Stretch{tail.first(), tail.first() + on_level(run, static_cast<std::size_t>(std::max(samples_per_base, 1.0)), off_level / step)};
}

std::int32_t bases_of_stretch(std::int64_t samples, std::int64_t rest_samples, std::int64_t rest_bases, double usual) {
  const bool is_told = rest_bases >= least_bases && rest_samples > 0;
  const double samples_per_base =
      is_told ? std::clamp(static_cast<double>(rest_samples) / static_cast<double>(rest_bases), usual / 3, usual * 3) : usual;
  return std::max(1, static_cast<std::int32_t>(std::lround(static_cast<double>(samples) / samples_per_base)));
}

}  // namespace sluice::poly_a_length
