// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/level_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace sluice::kmer_training {
namespace {

constexpr double stdv_of_median_deviation = 1.4826;  // normal distribution: 1 / quantile(3/4)
constexpr double reach = 2.5;                        // standard deviations
constexpr double stdv_left_within_reach = 0.95460;   // sqrt(1 - 2 * 2.5 phi(2.5) / (2 Phi(2.5) - 1))

float median_level(std::span<Observation> observations) {
  const auto middle = observations.begin() + static_cast<std::ptrdiff_t>(observations.size() / 2);
  std::nth_element(observations.begin(), middle, observations.end(), [](const Observation& a, const Observation& b) { return a.level < b.level; });
  return middle->level;
}

}  // namespace

LevelFit fit_level(std::span<Observation> observations) {
  const float median = median_level(observations);
  std::vector<float> deviations(observations.size());
  for (std::size_t i = 0; i < observations.size(); ++i) deviations[i] = std::fabs(observations[i].level - median);
  const auto middle = deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() / 2);
  std::nth_element(deviations.begin(), middle, deviations.end());
  const double limit = reach * stdv_of_median_deviation * static_cast<double>(*middle);

  double sum = 0;
  std::size_t kept = 0;
  for (const Observation& one : observations)
    if (std::fabs(static_cast<double>(one.level - median)) <= limit) {
      sum += static_cast<double>(one.level);
      ++kept;
    }
  const double mean = sum / static_cast<double>(kept);  // the median itself is always within reach
  double squares = 0;
  for (const Observation& one : observations)
    if (std::fabs(static_cast<double>(one.level - median)) <= limit) {
      const double difference = (static_cast<double>(one.level) - mean) * static_cast<double>(one.inverse_var);
      squares += difference * difference;
    }
  return {static_cast<float>(mean), static_cast<float>(std::sqrt(squares / static_cast<double>(kept)) / stdv_left_within_reach)};
}

Units to_start_units(std::span<const float> start_mean, std::span<const float> start_stdv, std::span<const float> trained_mean,
                     std::span<const float> trained_stdv, std::span<const std::size_t> anchors) {
  if (anchors.size() < 2) return {};
  const auto count = static_cast<double>(anchors.size());
  double sum_start = 0, sum_trained = 0, sum_log_ratio = 0;
  for (const std::size_t i : anchors) {
    sum_start += static_cast<double>(start_mean[i]);
    sum_trained += static_cast<double>(trained_mean[i]);
    sum_log_ratio += std::log(static_cast<double>(start_stdv[i]) / static_cast<double>(trained_stdv[i]));
  }
  double product = 0, square = 0;
  for (const std::size_t i : anchors) {
    const double difference = static_cast<double>(trained_mean[i]) - sum_trained / count;
    product += difference * (static_cast<double>(start_mean[i]) - sum_start / count);
    square += difference * difference;
  }
  if (!(product > 0) || !(square > 0)) return {};
  const double factor = product / square;
  return {(sum_start - factor * sum_trained) / count, factor, std::exp(sum_log_ratio / count)};
}

}  // namespace sluice::kmer_training
