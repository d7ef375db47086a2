// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Seconds of one call as a + b * work + c * largest row, fitted to the completions seen so far; recent ones count more.
//
// The largest row matters on devices: a kernel that gives every read one warp can't end before its longest read, however little
// work there is in all. On a CPU lane c comes out near 0.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice {

class CostModel {
 public:
  void observe(double work, double largest_row, double seconds) {
    // 0.9: ten calls are remembered well, so a machine that slows down (another user, heat) is noticed within a few batches.
    constexpr double keep = 0.9;
    const std::array<double, 3> x = {1.0, work, largest_row};
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) xx_[i][j] = keep * xx_[i][j] + x[i] * x[j];
      xs_[i] = keep * xs_[i] + x[i] * seconds;
    }
    ++count_;
  }
  bool known() const { return count_ > 0; }
  int count() const { return count_; }
  double rate() const { return xs_[0] > 0 ? xx_[0][1] / xs_[0] : 0; }  // work per second

  double predict(double work, double largest_row) const {
    if (count_ == 0) return 0;
    // With few calls, or calls of one size, the terms can't be told apart: then all is proportional to work.
    const double proportional = xx_[0][1] > 0 ? xs_[0] / xx_[0][1] * work : xs_[0] / xx_[0][0];
    if (count_ < 4) return proportional;
    std::array<double, 3> fit{};
    if (!solve({true, true, true}, fit) || fit[1] < 0 || fit[2] < 0 || fit[0] < 0) {
      // A negative term has no meaning; leave the largest row out, then the start-up time.
      if (!solve({true, true, false}, fit) || fit[0] < 0 || fit[1] < 0) {
        if (!solve({false, true, true}, fit) || fit[1] < 0 || fit[2] < 0) return proportional;
      }
    }
    return fit[0] + fit[1] * work + fit[2] * largest_row;
  }

 private:
  // Normal equations of the chosen terms by elimination, scaled so that units do not matter. False: no unique answer.
  bool solve(const std::array<bool, 3>& use, std::array<double, 3>& fit) const {
    double m[3][4] = {};
    double scale[3];
    for (int i = 0; i < 3; ++i) scale[i] = xx_[i][i] > 0 ? 1.0 / std::sqrt(xx_[i][i]) : 0.0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) m[i][j] = use[i] && use[j] ? xx_[i][j] * scale[i] * scale[j] : (i == j ? 1.0 : 0.0);
      m[i][3] = use[i] ? xs_[i] * scale[i] : 0.0;
    }
    for (int i = 0; i < 3; ++i) {
      if (m[i][i] < 1e-6) return false;
      for (int k = i + 1; k < 3; ++k) {
        const double factor = m[k][i] / m[i][i];
        for (int j = i; j < 4; ++j) m[k][j] -= factor * m[i][j];
      }
    }
    for (int i = 2; i >= 0; --i) {
      double value = m[i][3];
      for (int j = i + 1; j < 3; ++j) value -= m[i][j] * fit[j];
      fit[i] = value / m[i][i];
    }
    for (int i = 0; i < 3; ++i) fit[i] = use[i] ? fit[i] * scale[i] : 0.0;
    return true;
  }

  double xx_[3][3] = {};
  double xs_[3] = {};
  int count_ = 0;
};

}  // namespace sluice
