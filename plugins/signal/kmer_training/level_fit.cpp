// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/level_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace sluice::kmer_training {
namespace {

constexpr double stdv_of_median_deviation = 1.4826;  // normal distribution: 1 / quantile(3/4)
constexpr double reach = 2.5;                        // standard deviations
constexpr double stdv_left_within_reach = 0.95460;   // sqrt(1 - 2 * 2.5 phi(2.5) / (2 Phi(2.5) - 1))

constexpr double expected_weight = 5;  // observations that the expected deviation counts as

// Reorders the values.
template <class Values, class Less>
auto median_of(Values& values, Less less) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end(), less);
  return middle;
}

float median_level(std::span<Observation> observations) {
  const auto less = [](const Observation& a, const Observation& b) { return a.level < b.level; };
  const auto middle = median_of(observations, less);
  if (observations.size() % 2 == 1) return middle->level;
  return (middle->level + std::max_element(observations.begin(), middle, less)->level) / 2;
}

}  // namespace

LevelFit fit_level(std::span<Observation> observations, float expected_stdv) {
  const float median = median_level(observations);
  std::vector<float> deviations(observations.size());
  double square_var = 0;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    deviations[i] = std::fabs(observations[i].level - median);
    square_var += 1 / (static_cast<double>(observations[i].inverse_var) * static_cast<double>(observations[i].inverse_var));
  }
  const auto count = static_cast<double>(observations.size());
  square_var /= count;
  const double deviation = stdv_of_median_deviation * static_cast<double>(*median_of(deviations, std::less<>()));
  const double expected = static_cast<double>(expected_stdv) * static_cast<double>(expected_stdv) * square_var;
  const double limit = reach * std::sqrt((expected_weight * expected + count * deviation * deviation) / (expected_weight + count));

  double sum = 0;
  std::uint32_t kept = 0;
  const auto is_within = [&](const Observation& one) { return std::fabs(static_cast<double>(one.level - median)) <= limit; };
  for (const Observation& one : observations)
    if (is_within(one)) {
      sum += static_cast<double>(one.level);
      ++kept;
    }
  if (kept == 0) return {median, 0, static_cast<float>(square_var), 1};  // two that lie apart
  const double mean = sum / kept;
  double squares = 0;
  for (const Observation& one : observations)
    if (is_within(one)) {
      const double difference = (static_cast<double>(one.level) - mean) * static_cast<double>(one.inverse_var);
      squares += difference * difference;
    }
  const double variance = kept > 1 ? squares / (kept - 1) : 0;
  return {static_cast<float>(mean), static_cast<float>(std::sqrt(variance) / stdv_left_within_reach), static_cast<float>(square_var), kept};
}

Units to_start_units(std::span<const float> start_mean, std::span<const float> trained_mean, std::span<const Anchor> anchors) {
  if (anchors.size() < 2) return {};
  double weights = 0, sum_start = 0, sum_trained = 0;
  for (const auto& [rank, weight] : anchors) {
    weights += weight;
    sum_start += weight * static_cast<double>(start_mean[rank]);
    sum_trained += weight * static_cast<double>(trained_mean[rank]);
  }
  double product = 0, square = 0;
  for (const auto& [rank, weight] : anchors) {
    const double difference = static_cast<double>(trained_mean[rank]) - sum_trained / weights;
    product += weight * difference * (static_cast<double>(start_mean[rank]) - sum_start / weights);
    square += weight * difference * difference;
  }
  if (!(product > 0) || !(square > 0)) return {};
  const double factor = product / square;
  return {(sum_start - factor * sum_trained) / weights, factor};
}

}  // namespace sluice::kmer_training
