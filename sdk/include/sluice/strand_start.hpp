// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where a strand begins in raw signal, and how much signal a prefix of it takes. One rule for stages that judge a read by its beginning
// (signal_normalization), and for those that decode no more than such a stage will look at (signal_decode).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

// More samples than any read has; longer prefixes and adapters count as that long. Levels of 64 samples are then at most 3e5, which keeps the sum of
// their squares within 63 bits.
inline constexpr double longest_signal_prefix = 2e7;
// A level is the mean of so many samples at most.
inline constexpr std::int32_t most_samples_per_level = 64;

// Whole samples in so many bases. Neither argument is negative or NaN.
inline std::int64_t samples_in(double bases, double samples_per_base) {
  return static_cast<std::int64_t>(std::min(bases * samples_per_base, longest_signal_prefix));
}

// Before the strand moves the current rests (open pore, stall): the strand begins with the first of three windows in a row, 50 samples each, whose
// standard deviation is at least a limit. Those windows are the first 150 samples of the adapter, which is left out. Sums are integers: where the
// signal is cut into pieces makes no difference. One read at a time.
class StrandStart {
 public:
  static constexpr std::int32_t window_samples = 50;
  static constexpr std::int32_t moving_windows = 3;

  // Begins a read. digitisation and range (pA) as in a SLOW5 record; adapter: samples from the beginning of the strand to the first that is wanted,
  // at least 150; stall_stdv (pA): signal is at rest below it. False: digitisation or range is no positive number.
  bool begin(double digitisation, double range, double stall_stdv, std::int64_t adapter) {
    samples_ = sum_ = squares_ = 0;
    first_ = -1;
    in_window_ = moving_ = 0;
    adapter_ = adapter;
    const double step = range / digitisation;  // pA
    if (!positive(digitisation) || !positive(range) || !positive(step)) return false;
    const double least_stdv = stall_stdv / step;
    least_variance_ = least_stdv * least_stdv;
    return true;
  }

  // Takes the read's next samples, and returns how many of them it has looked at: all, unless the strand was found before their end.
  std::size_t take(std::span<const std::int16_t> samples) {
    if (found()) return 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      sum_ += samples[i];
      squares_ += std::int64_t{samples[i]} * samples[i];
      if (++in_window_ < window_samples) continue;
      // 50 samples: the numerator has at most 44 bits, so the quotient is rounded once.
      const auto variance = static_cast<double>(window_samples * squares_ - sum_ * sum_) / (window_samples * window_samples);
      moving_ = variance >= least_variance_ ? moving_ + 1 : 0;
      in_window_ = 0;
      sum_ = squares_ = 0;
      if (moving_ < moving_windows) continue;
      samples_ += static_cast<std::int64_t>(i) + 1;
      first_ = samples_ + std::max<std::int64_t>(0, adapter_ - moving_windows * window_samples);
      return i + 1;
    }
    samples_ += static_cast<std::int64_t>(samples.size());
    return samples.size();
  }

  bool found() const { return first_ >= 0; }
  // The first sample behind the adapter; -1: the strand has not begun.
  std::int64_t first() const { return first_; }

 private:
  static bool positive(double value) { return std::isfinite(value) && value > 0; }
  std::int64_t adapter_ = 0;
  double least_variance_ = 0;  // of a moving window, squared converter steps
  std::int64_t samples_ = 0;   // looked at
  std::int64_t first_ = -1;
  std::int32_t in_window_ = 0, moving_ = 0;
  std::int64_t sum_ = 0, squares_ = 0;  // of the window
};

}  // namespace sluice
