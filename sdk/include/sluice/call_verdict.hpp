// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a methylation call counts as.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace sluice::methylation {

enum class Verdict : std::uint8_t {
  methylated,
  unmethylated,
  below_threshold,  // counted nowhere
  not_a_number,     // counted nowhere (f5c counts it as unmethylated)
};

namespace detail {

// The number that a reader of the table sees.
inline double printed_ratio(double ratio) {
  constexpr int kDecimals = 2;
  std::array<char, 512> text;  // the largest double has 309 digits before the point
  const auto written = std::to_chars(text.data(), text.data() + text.size(), ratio, std::chars_format::fixed, kDecimals);
  double read = ratio;
  std::from_chars(text.data(), written.ptr, read);
  return read;
}

}  // namespace detail

// The verdict on a ratio as f5c reaches it from its table, where ratios have two decimals: 2.496 is printed 2.50 and passes a threshold of 2.5.
inline Verdict judge(double log_lik_ratio, double call_threshold) {
  // Printing moves a ratio by at most 0.005, so only ratios near the threshold need it.
  constexpr double kMargin = 0.006;
  if (std::isnan(log_lik_ratio)) return Verdict::not_a_number;
  double magnitude = std::abs(log_lik_ratio);
  if (magnitude < call_threshold - kMargin) return Verdict::below_threshold;
  double ratio = log_lik_ratio;
  if (magnitude < call_threshold + kMargin || magnitude < kMargin) {
    ratio = detail::printed_ratio(log_lik_ratio);
    magnitude = std::abs(ratio);
  }
  if (magnitude < call_threshold) return Verdict::below_threshold;
  return ratio > 0 ? Verdict::methylated : Verdict::unmethylated;
}

}  // namespace sluice::methylation
