// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/shorter_kmers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace sluice::kmer_model {
namespace {

double mean_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()); }

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

// Means over all k-mers with the same k bases from `first` on.
std::vector<double> means_by_part(const std::vector<double>& values, std::uint32_t whole, std::uint32_t k, std::uint32_t first) {
  const std::size_t parts = std::size_t{1} << 2 * k;
  const std::uint32_t behind = 2 * (whole - k - first);
  std::vector<double> sums(parts, 0);
  for (std::size_t rank = 0; rank < values.size(); ++rank) sums[rank >> behind & (parts - 1)] += values[rank];
  for (double& sum : sums) sum /= static_cast<double>(values.size() / parts);
  return sums;
}

}  // namespace

KmerModel shortened(const KmerModel& model, std::uint32_t k, std::uint32_t& first) {
  const std::vector<double> levels(model.level_mean.begin(), model.level_mean.end());
  std::vector<double> best;
  double most = -1;
  for (std::uint32_t from = 0; from + k <= model.k; ++from) {
    std::vector<double> means = means_by_part(levels, model.k, k, from);
    if (const double variance = variance_of(means); variance > most) {
      most = variance;
      first = from;
      best = std::move(means);
    }
  }
  // The mean of squares: of the spread within each k-mer, and of the levels around their mean.
  std::vector<double> squares(levels.size());
  for (std::size_t rank = 0; rank < levels.size(); ++rank) {
    const double stdv = model.level_stdv[rank];
    squares[rank] = stdv * stdv + levels[rank] * levels[rank];
  }
  const std::vector<double> square_means = means_by_part(squares, model.k, k, first);
  KmerModel made;
  made.k = k;
  made.alphabet = model.alphabet;
  made.name = model.name.empty() ? "" : model.name + ", " + std::to_string(k) + "-mers";
  made.alphabet_name = model.alphabet_name;
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    const double variance = std::max(square_means[rank] - best[rank] * best[rank], 1e-6);
    made.level_mean.push_back(static_cast<float>(best[rank]));
    made.level_stdv.push_back(static_cast<float>(std::sqrt(variance)));
    made.log_level_stdv.push_back(static_cast<float>(std::log(static_cast<double>(made.level_stdv.back()))));
  }
  return made;
}

}  // namespace sluice::kmer_model
