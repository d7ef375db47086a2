// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Seconds of one call as a + b * work, fitted to the completions seen so far; recent ones count more.

#include <algorithm>

namespace sluice {

class CostModel {
 public:
  void observe(double work, double seconds) {
    // 0.9: ten calls are remembered well, so a machine that slows down (another user, heat) is noticed within a few batches.
    constexpr double keep = 0.9;
    n_ = keep * n_ + 1;
    w_ = keep * w_ + work;
    s_ = keep * s_ + seconds;
    ww_ = keep * ww_ + work * work;
    ws_ = keep * ws_ + work * seconds;
    ++count_;
  }
  bool known() const { return count_ > 0; }
  int count() const { return count_; }
  double predict(double work) const {
    if (count_ == 0) return 0;
    const double spread = n_ * ww_ - w_ * w_;
    // With batches of one size a and b can't be told apart: then all is proportional to work.
    if (count_ < 3 || spread <= 1e-6 * n_ * ww_) return w_ > 0 ? s_ / w_ * work : s_ / n_;
    const double b = std::max(0.0, (n_ * ws_ - w_ * s_) / spread);
    const double a = std::max(0.0, (s_ - b * w_) / n_);
    return a + b * work;
  }
  double rate() const { return s_ > 0 ? w_ / s_ : 0; }  // work per second

 private:
  double n_ = 0, w_ = 0, s_ = 0, ww_ = 0, ws_ = 0;
  int count_ = 0;
};

}  // namespace sluice
