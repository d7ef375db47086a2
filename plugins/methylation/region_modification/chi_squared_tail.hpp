// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A tail probability as a fixed sequence of IEEE f64 operations, so that every machine gives the same bits: `exp` and `erfc` of C libraries differ in
// the last place between processors with and without fused multiply-add, and between x86-64 and ARM.

#include <cmath>

namespace sluice::region_modification {

// e to the power of -z, for z >= 0: 2^k times a series in |r| <= ln 2 / 2, whose next term is below 2^-57 of it. 0 beyond the range of f64.
inline double negative_exp(double z) {
  constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;  // as natural_log has them: k * ln2_high is exact
  if (!(z < 746)) return 0;
  const double k = std::floor(0.5 - z * 0x1.71547652b82fep0);  // 1 / ln 2
  const double r = (-z - k * ln2_high) - k * ln2_low;
  double series = 1;
  for (int n = 14; n > 0; --n) series = 1 + series * r / n;
  return std::ldexp(series, static_cast<int>(k));
}

// How probable it is that a chi-squared variable with one degree of freedom is above g >= 0: erfc(sqrt(g / 2)). Relative error below 1e-14.
// Abramowitz and Stegun, 7.1.6 (a sum of positive terms) and 7.1.14 (a continued fraction, from its 120th term inwards).
inline double chi_squared_tail(double g) {
  constexpr double sqrt_pi = 0x1.c5bf891b4ef6bp0;
  const double z = g / 2, x = std::sqrt(z), power = negative_exp(z);
  if (z < 2) {
    double sum = 0;
    for (int n = 48; n >= 0; --n) sum = 1 + sum * 2 * z / (2 * n + 3);
    return 1 - 2 * x * power * sum / sqrt_pi;
  }
  double fraction = 0;
  for (int k = 120; k > 0; --k) fraction = k / (2 * (x + fraction));
  return power / (sqrt_pi * (x + fraction));
}

}  // namespace sluice::region_modification
