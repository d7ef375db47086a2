// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/level_prior.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::kmer_training {
namespace {

constexpr std::uint32_t code_of_m = base_code(Alphabet::methylation, 'M');
constexpr std::uint32_t most_k = 12;
constexpr double outlier_reach = 2.5;                // standard deviations
constexpr double mean_square_within_reach = 0.9776;  // of a standard normal variable that is cut to +-2.5

// Codes of the letters, first letter first.
std::array<std::uint32_t, most_k> codes_of(std::size_t rank, Alphabet alphabet, std::uint32_t k) {
  std::array<std::uint32_t, most_k> codes{};
  const std::uint32_t letters = alphabet_size(alphabet);
  for (std::uint32_t i = k; i-- > 0; rank /= letters) codes[i] = static_cast<std::uint32_t>(rank % letters);
  return codes;
}

std::size_t rank_of(std::span<const std::uint32_t> codes, Alphabet alphabet) {
  std::size_t rank = 0;
  for (const std::uint32_t code : codes) rank = rank * alphabet_size(alphabet) + code;
  return rank;
}

// Cholesky's factor of a positive definite matrix, its lower triangle in place.
void factorize(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column <= row; ++column) {
      double sum = matrix[row * n + column];
      for (std::size_t i = 0; i < column; ++i) sum -= matrix[row * n + i] * matrix[column * n + i];
      matrix[row * n + column] = row == column ? std::sqrt(std::max(sum, 1e-300)) : sum / matrix[column * n + column];
    }
}

// The diagonal of the inverse of factor * factor'.
std::vector<double> inverse_diagonal(const std::vector<double>& factor, std::size_t n) {
  std::vector<double> diagonal(n, 0), column(n);
  for (std::size_t j = 0; j < n; ++j) {  // column j of the factor's inverse
    for (std::size_t row = j; row < n; ++row) {
      double sum = row == j ? 1 : 0;
      for (std::size_t i = j; i < row; ++i) sum -= factor[row * n + i] * column[i];
      column[row] = sum / factor[row * n + row];
      diagonal[j] += column[row] * column[row];
    }
  }
  return diagonal;
}

std::vector<double> solve_factored(const std::vector<double>& factor, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < row; ++i) right[row] -= factor[row * n + i] * right[i];
    right[row] /= factor[row * n + row];
  }
  for (std::size_t row = n; row-- > 0;) {
    for (std::size_t i = row + 1; i < n; ++i) right[row] -= factor[i * n + row] * right[i];
    right[row] /= factor[row * n + row];
  }
  return right;
}

}  // namespace

double outlier_weight(double residual, double variance) {
  const double limit = outlier_reach * std::sqrt(variance);
  return std::fabs(residual) <= limit ? 1 : limit / std::fabs(residual);
}

LevelPrior::LevelPrior(std::uint32_t columns, std::vector<TermGroup> groups)
    : columns_(columns),
      groups_(std::move(groups)),
      group_variance_(groups_.size(), 1),
      normal_(std::size_t{columns} * columns, 0),
      right_(columns, 0),
      coefficients_(columns, 0) {}

void LevelPrior::clear() {
  std::fill(normal_.begin(), normal_.end(), 0);
  std::fill(right_.begin(), right_.end(), 0);
}

void LevelPrior::add(std::span<const Term> terms, double y, double weight) {
  for (const Term& one : terms) {
    right_[one.column] += weight * one.value * y;
    for (const Term& other : terms)
      if (other.column <= one.column) normal_[std::size_t{one.column} * columns_ + other.column] += weight * one.value * other.value;
  }
}

void LevelPrior::solve() {
  constexpr int updates = 15;
  constexpr double least = 1e-6, most = 1e4;  // pA^2
  for (int update = 0; update < updates; ++update) {
    std::vector<double> factor = normal_;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t i = groups_[g].begin; i < groups_[g].end; ++i) factor[i * columns_ + i] += 1 / group_variance_[g];
    factorize(factor, columns_);
    coefficients_ = solve_factored(factor, right_);
    const std::vector<double> variance = inverse_diagonal(factor, columns_);
    effective_parameters_ = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      double determined = 0, squares = 0;
      for (std::size_t i = groups_[g].begin; i < groups_[g].end; ++i) {
        determined += 1 - variance[i] / group_variance_[g];
        squares += coefficients_[i] * coefficients_[i];
      }
      effective_parameters_ += determined;
      group_variance_[g] = std::clamp(determined > 1e-9 ? squares / determined : least, least, most);
    }
  }
}

void LevelPrior::estimate_deviation(std::span<const Sample> samples, std::span<const double> residuals) {
  const double freedom = static_cast<double>(samples.size()) - effective_parameters_;
  double low = 1e-4, high = 1e4;  // pA^2
  if (!(freedom > 1)) return;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(low * high);
    double sum = 0;
    for (std::size_t s = 0; s < samples.size(); ++s)
      sum += std::min(residuals[s] * residuals[s] / (middle + samples[s].variance), outlier_reach * outlier_reach);
    (sum > mean_square_within_reach * freedom ? low : high) = middle;
  }
  deviation_variance_ = std::sqrt(low * high);
}

double LevelPrior::predict(std::span<const Term> terms) const {
  double sum = 0;
  for (const Term& term : terms) sum += coefficients_[term.column] * term.value;
  return sum;
}

void BaseTerms::add(std::size_t rank, std::vector<Term>& to) const {
  const auto codes = codes_of(rank, alphabet_, k_);
  to.push_back({0, 1});
  for (std::uint32_t place = 0; place < k_; ++place) to.push_back({1 + 4 * place + std::min(codes[place], 3U), 1});
}

ShiftTerms::ShiftTerms(const Levels& start, char base)
    : start_(&start), k_(start.k), slopes_(k_ + 5 * k_ * k_), base_(base_code(Alphabet::methylation, base)), others_{} {
  std::size_t next = 0;
  for (const char other : {'A', 'C', 'G', 'T'})
    if (other != base && next < others_.size()) others_[next++] = base_code(Alphabet::methylation, other);
}

std::size_t ShiftTerms::unmodified(std::size_t rank) const {
  auto codes = codes_of(rank, start_->alphabet, k_);
  std::replace(codes.begin(), codes.begin() + k_, code_of_m, base_);
  return rank_of({codes.data(), k_}, start_->alphabet);
}

void ShiftTerms::add(std::size_t rank, std::vector<Term>& to) const {
  const auto codes = codes_of(rank, start_->alphabet, k_);
  auto plain = codes;
  std::replace(plain.begin(), plain.begin() + k_, code_of_m, base_);
  const auto level = [&] { return static_cast<double>(start_->mean[rank_of({plain.data(), k_}, start_->alphabet)]); };
  const double unmodified = level();
  for (std::uint32_t place = 0; place < k_; ++place) {
    if (codes[place] != code_of_m) continue;
    to.push_back({place, 1});
    for (std::uint32_t other = 0; other < k_; ++other)
      if (other != place) to.push_back({k_ + 5 * (k_ * place + other) + codes[other], 1});
    for (std::uint32_t i = 0; i < others_.size(); ++i) {
      plain[place] = others_[i];
      to.push_back({slopes_ + 3 * place + i, level() - unmodified});
    }
    plain[place] = base_;
  }
}

}  // namespace sluice::kmer_training
