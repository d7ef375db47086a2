// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Percentiles of any number of values in memory that does not grow: counts in classes whose bounds are 2 % apart, so that the middle of a class
// is within 1 % of every value in it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

class Distribution {
 public:
  // Values of 0 and less, and those that are no numbers, count as 0; those above 1e12 are in the last class.
  void add(double value) {
    if (!(value > 0)) value = 0;
    ++count_;
    sum_ += value;
    maximum_ = std::max(maximum_, value);
    ++classes_[class_of(value)];
  }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }
  double maximum() const { return maximum_; }
  // The value that a share q of all values does not exceed; 0 if there are none.
  double quantile(double q) const {
    if (count_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(count_ - 1));
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      below += classes_[i];
      if (below > rank) return std::min(middle(i), maximum_);
    }
    return maximum_;
  }
  // The classes with values in them: what lies in the middle of each, and how many there are.
  std::vector<std::pair<double, std::uint64_t>> occupied() const {
    std::vector<std::pair<double, std::uint64_t>> result;
    for (std::size_t i = 0; i < classes_.size(); ++i)
      if (classes_[i] > 0) result.emplace_back(middle(i), classes_[i]);
    return result;
  }

 private:
  static constexpr double smallest = 1e-9, log_step = 0.0198026272961797;  // ln 1.02
  static constexpr std::size_t classes = 1 + 2443;                         // up to 1e12
  static constexpr double largest = 1e12;
  static double middle(std::size_t i) { return i == 0 ? 0 : smallest * std::exp((static_cast<double>(i) - 0.5) * log_step); }
  static std::size_t class_of(double value) {
    if (value < smallest) return 0;
    if (value >= largest) return classes - 1;
    return std::min(1 + static_cast<std::size_t>(std::log(value / smallest) / log_step), classes - 1);
  }
  std::array<std::uint32_t, classes> classes_{};
  std::uint64_t count_ = 0;
  double sum_ = 0, maximum_ = 0;
};

}  // namespace sluice
