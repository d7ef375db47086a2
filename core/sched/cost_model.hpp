// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Seconds of a call, learned from the calls that have ended.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace sluice {

// constant + per_work * work + per_largest_row * work of the largest row, in seconds and the stage's work unit.
//
// The largest row matters on devices: a kernel that gives every read one warp can't end before its longest read, however little
// work there is in all. On a CPU lane the third term comes out near 0.
struct Cost {
  double constant = 0, per_work = 0, per_largest_row = 0;
  double seconds(double work, double largest_row) const { return constant + per_work * work + per_largest_row * largest_row; }
};

// A Cost fitted to the calls seen so far by least squares; recent ones count more.
class CostModel {
 public:
  void observe(double work, double largest_row, double seconds) {
    if (prior_) {
      const double expected = std::max(prior_->seconds(work, largest_row), 1e-12);
      prior_scale_ = count_ == 0 ? seconds / expected : 0.5 * (prior_scale_ + seconds / expected);
    }
    // 0.9: ten calls are remembered well, so a machine that slows down (another user, heat) is noticed within a few batches.
    constexpr double keep = 0.9;
    if (count_ > 0 && largest_row > 4.0 * recent_.xx[0][2] / recent_.xx[0][0]) outlier_ = Outlier{work, largest_row, seconds};
    recent_.scale(keep);
    recent_.add(work, largest_row, seconds, 1.0);
    ++count_;
  }
  // What another run on this machine has learned: holds, scaled by what this run sees, until there are enough calls for a fit.
  void prime(const Cost& prior) { prior_ = prior; }

  int count() const { return count_; }
  bool known() const { return count_ > 0 || prior_; }

  Cost fit() const {
    // With few calls, or calls of one size, the terms can't be told apart: then all is proportional to work.
    if (count_ < 4 && prior_) return {prior_->constant * prior_scale_, prior_->per_work * prior_scale_, prior_->per_largest_row * prior_scale_};
    if (count_ == 0) return {};
    const Cost proportional = recent_.xx[0][1] > 0 ? Cost{0, recent_.xs[0] / recent_.xx[0][1], 0} : Cost{recent_.xs[0] / recent_.xx[0][0], 0, 0};
    if (count_ < 4) return proportional;
    // The last call with a row far above the usual is never forgotten: once it is known what such rows cost here they go elsewhere, and
    // nothing would renew the knowledge.
    Sums sums = recent_;
    if (outlier_) sums.add(outlier_->work, outlier_->largest_row, outlier_->seconds, 0.3);
    // A negative term has no meaning: of the forms without one, that which leaves the least unexplained. The largest row of a call is the larger the
    // more rows it has, so that it explains some of what is noise: it has to explain much.
    constexpr double much = 0.7;
    Cost best = proportional;
    double least = std::numeric_limits<double>::infinity();
    for (const std::array<bool, 3>& terms : {std::array{true, true, false}, std::array{true, true, true}, std::array{false, true, true}}) {
      const auto cost = sums.solve(terms);
      if (!cost) continue;
      const double left = sums.ss - cost->constant * sums.xs[0] - cost->per_work * sums.xs[1] - cost->per_largest_row * sums.xs[2];
      if (left < much * least) {
        least = left;
        best = *cost;
      }
    }
    return best;
  }

 private:
  struct Outlier {
    double work, largest_row, seconds;
  };

  // Sums of products of (1, work, largest row) and the seconds with each other.
  struct Sums {
    double xx[3][3] = {};
    double xs[3] = {};
    double ss = 0;

    void scale(double keep) {
      for (auto& row : xx)
        for (double& value : row) value *= keep;
      for (double& value : xs) value *= keep;
      ss *= keep;
    }
    void add(double work, double largest_row, double seconds, double weight) {
      const std::array<double, 3> x = {1.0, work, largest_row};
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) xx[i][j] += weight * x[i] * x[j];
        xs[i] += weight * x[i] * seconds;
      }
      ss += weight * seconds * seconds;
    }

    // Normal equations of the chosen terms by elimination, scaled so that units do not matter. Nothing: no unique answer, or a negative one.
    std::optional<Cost> solve(const std::array<bool, 3>& use) const {
      double m[3][4] = {};
      double unit[3];
      for (int i = 0; i < 3; ++i) unit[i] = xx[i][i] > 0 ? 1.0 / std::sqrt(xx[i][i]) : 0.0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) m[i][j] = use[i] && use[j] ? xx[i][j] * unit[i] * unit[j] : (i == j ? 1.0 : 0.0);
        m[i][3] = use[i] ? xs[i] * unit[i] : 0.0;
      }
      for (int i = 0; i < 3; ++i) {
        // 1e-3: sizes that differ by less than 3 % say nothing about the constant, but noise would.
        if (m[i][i] < 1e-3) return std::nullopt;
        for (int k = i + 1; k < 3; ++k) {
          const double factor = m[k][i] / m[i][i];
          for (int j = i; j < 4; ++j) m[k][j] -= factor * m[i][j];
        }
      }
      double fit[3];
      for (int i = 2; i >= 0; --i) {
        double value = m[i][3];
        for (int j = i + 1; j < 3; ++j) value -= m[i][j] * fit[j];
        fit[i] = value / m[i][i];
      }
      for (int i = 0; i < 3; ++i) {
        fit[i] = use[i] ? fit[i] * unit[i] : 0.0;
        if (fit[i] < 0) return std::nullopt;
      }
      return Cost{fit[0], fit[1], fit[2]};
    }
  };

  Sums recent_;
  std::optional<Outlier> outlier_;
  int count_ = 0;
  std::optional<Cost> prior_;
  double prior_scale_ = 1;
};

// How much calls that run side by side slow each other: of n calls each takes 1 + sharing * (n - 1) times as long as alone.
// 0: not at all (streams of a device that one call does not fill). 1: they share one speed (threads that help each other).
inline double slowdown(double sharing, double calls) { return 1.0 + sharing * (std::max(calls, 1.0) - 1.0); }
// Calls' worth of work that n calls side by side do in the time of one alone.
inline double speedup(double sharing, double calls) { return std::max(calls, 1.0) / slowdown(sharing, calls); }

// The cost of a call that has its lane to itself, and `sharing`, both from calls that ran side by side with others. One model is kept
// for each of a few values of sharing; the value whose model predicts best is the one. So throughput is predicted, not the latency of
// one of eight calls at once.
class SharedCallCost {
 public:
  static constexpr std::array<double, 5> sharings = {0.0, 0.125, 0.25, 0.5, 1.0};

  // first_guess: index into sharings, for as long as calls never met each other.
  explicit SharedCallCost(std::size_t first_guess) : best_(first_guess) {
    for (std::size_t i = 0; i < sharings.size(); ++i) errors_[i] = i == first_guess ? 0.0 : 1e-4;
  }

  // calls: mean number of calls on the lane during this one, itself included.
  void observe(double work, double largest_row, double seconds, double calls) {
    for (std::size_t i = 0; i < sharings.size(); ++i) {
      const double slower = slowdown(sharings[i], calls);
      if (models_[i].known()) {
        const double predicted = models_[i].fit().seconds(work, largest_row) * slower;
        const double error = std::log(std::max(predicted, 1e-9) / std::max(seconds, 1e-9));
        errors_[i] = 0.9 * errors_[i] + std::min(error * error, 4.0);
      }
      models_[i].observe(work, largest_row, seconds / slower);
    }
    for (std::size_t i = 0; i < sharings.size(); ++i)
      // 0.9: no change of mind for a trifle.
      if (errors_[i] < 0.9 * errors_[best_]) best_ = i;
    cost_ = models_[best_].fit();
  }
  void prime(const Cost& prior) {
    for (CostModel& model : models_) model.prime(prior);
    cost_ = models_[best_].fit();
  }

  bool known() const { return models_[0].known(); }
  int count() const { return models_[0].count(); }
  const Cost& cost() const { return cost_; }
  double sharing() const { return sharings[best_]; }

 private:
  std::array<CostModel, 5> models_;
  std::array<double, 5> errors_{};
  std::size_t best_;
  Cost cost_;
};

}  // namespace sluice
