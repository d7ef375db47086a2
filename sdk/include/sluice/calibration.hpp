// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What makes pA and seconds of samples, and which numbers can't.

#include <cmath>

namespace sluice {

// Nanopore sequencers sample at 3,012 to 10,000 Hz. Far from that the number is none of a rate: lengths in bases, which are times a rate, would be
// wrong without anything else that looks wrong.
inline constexpr double least_sampling_rate = 100, most_sampling_rate = 1e6;  // Hz
// False for NaN, too.
inline bool is_sampling_rate(double hz) { return hz >= least_sampling_rate && hz <= most_sampling_rate; }

// pA = (raw + offset) * range / digitisation
inline bool is_calibrated(double digitisation, double range, double offset, double sampling_rate) {
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
  return is_positive(digitisation) && is_positive(range) && std::isfinite(offset) && is_sampling_rate(sampling_rate);
}

}  // namespace sluice
