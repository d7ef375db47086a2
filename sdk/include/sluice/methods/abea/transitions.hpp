// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Log-probabilities of ABEA that hold for a whole read, and the emission of one cell. Natural logarithms.

#include <cmath>
#include <cstddef>

namespace sluice::abea {

// Transition log-probabilities (f5c 1.6; f64 throughout).
struct Transitions {
  double stay;  // next event, same k-mer
  double step;  // next event, next k-mer
  double skip;  // same event, next k-mer
  double trim;  // an event left out at the beginning or at the end of the read
};

inline Transitions transitions(std::size_t event_count, std::size_t kmer_count) {
  const double events_per_kmer = static_cast<double>(event_count) / static_cast<double>(kmer_count);
  Transitions result{};
  result.skip = std::log(1e-10);
  result.stay = std::log(1.0 - 1.0 / (events_per_kmer + 1.0));
  result.step = std::log(1.0 - std::exp(result.skip) - std::exp(result.stay));
  result.trim = std::log(0.01);
  return result;
}

// f5c's rounding of -ln(sqrt(2 pi)); nanopolish uses -0.9189385.
inline constexpr float log_normal_constant = -0.918938F;

// Log-likelihood of an event under a normal distribution. peak = log_normal_constant - ln(level_stdv), rounded to f32.
inline float emission(float event_mean, float level_mean, float level_stdv, float peak) {
  const float deviation = (event_mean - level_mean) / level_stdv;
  return peak + (-0.5F * deviation * deviation);
}

}  // namespace sluice::abea
