// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is expected of a k-mer's level before it is seen: few parameters, learned from all k-mers together.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kmer_training/alphabet.hpp"

namespace sluice::kmer_training {

// A column of a linear model that is not zero for a k-mer.
struct Term {
  std::uint32_t column = 0;
  double value = 1;
};

// Columns that share the variance of their coefficients.
struct TermGroup {
  std::uint32_t begin = 0, end = 0;
};

// 1 for what lies within 2.5 standard deviations of what is expected, less beyond (Huber 1964): misaligned events.
double outlier_weight(double residual, double variance);

// What all k-mers say of one quantity y: y = sum of terms + a deviation of the k-mer's own + an error of known variance. Coefficients are normal
// around 0, those of a group with the same variance; the groups' variances, and that of the deviations, are estimated: evidence approximation (MacKay
// 1992, "Bayesian interpolation"), and the moments of the residuals (Paule and Mandel 1982). So a quantity that the k-mers do not tell stays near 0.
class LevelPrior {
 public:
  LevelPrior(std::uint32_t columns, std::vector<TermGroup> groups);

  struct Sample {
    double y = 0;         // pA
    double variance = 0;  // of its error, pA^2; > 0
  };
  // terms(i, list) adds those of the i-th sample to an empty list.
  template <class Terms>
  void fit(std::span<const Sample> samples, Terms&& terms);

  double predict(std::span<const Term> terms) const;
  double deviation_variance() const { return deviation_variance_; }  // pA^2

 private:
  void clear();
  void add(std::span<const Term> terms, double y, double weight);
  void solve();
  void estimate_deviation(std::span<const Sample> samples, std::span<const double> residuals);

  std::uint32_t columns_;
  std::vector<TermGroup> groups_;
  std::vector<double> group_variance_;
  std::vector<double> normal_, right_;  // columns x columns, lower triangle; columns
  std::vector<double> coefficients_;
  double effective_parameters_ = 0;
  double deviation_variance_ = 1;
};

template <class Terms>
void LevelPrior::fit(std::span<const Sample> samples, Terms&& terms) {
  constexpr int passes = 4;  // weights and deviation variance hang on each other
  std::vector<Term> list;
  std::vector<double> residuals(samples.size(), 0);
  for (int pass = 0; pass < passes; ++pass) {
    clear();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      list.clear();
      terms(i, list);
      add(list, samples[i].y, outlier_weight(residuals[i], deviation_variance_ + samples[i].variance) / (deviation_variance_ + samples[i].variance));
    }
    solve();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      list.clear();
      terms(i, list);
      residuals[i] = samples[i].y - predict(list);
    }
    estimate_deviation(samples, residuals);
  }
}

// Terms of a k-mer's error in the model of the start: which base is where. M counts as the base that it modifies.
class BaseTerms {
 public:
  explicit BaseTerms(const Levels& start) : k_(start.k), alphabet_(start.alphabet) {}
  std::uint32_t columns() const { return 1 + 4 * k_; }
  std::vector<TermGroup> groups() const { return {{0, 1}, {1, columns()}}; }
  void add(std::size_t rank, std::vector<Term>& to) const;

 private:
  std::uint32_t k_;
  Alphabet alphabet_;
};

// Terms of the shift that modified bases bring: for each M its place, its neighbours' bases by their places, and what other bases in its place change
// in the start's model (5-methylcytosine and thymine share their methyl group).
class ShiftTerms {
 public:
  // `base`: the one that M modifies. `start` lives as long as this.
  ShiftTerms(const Levels& start, char base);
  std::uint32_t columns() const { return slopes_ + 3 * k_; }
  std::vector<TermGroup> groups() const { return {{0, k_}, {k_, slopes_}, {slopes_, columns()}}; }
  void add(std::size_t rank, std::vector<Term>& to) const;
  std::size_t unmodified(std::size_t rank) const;  // rank with M as the base that it modifies

 private:
  const Levels* start_;
  std::uint32_t k_, slopes_;
  std::uint32_t base_;                   // code
  std::array<std::uint32_t, 3> others_;  // codes
};

}  // namespace sluice::kmer_training
