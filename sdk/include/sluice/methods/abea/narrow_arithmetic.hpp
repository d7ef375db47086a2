// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Why single precision can give the bits of the double-precision recurrence, and when.
//
// The method asks for RN32(RN64(RN64(d + c) + em)): d a score (f32), c a transition (f64), em an emission (f32). Converting each operand to f64 and
// the result back costs twice the vectors. Instead: x = RO32(em + c), the sum rounded to odd (cut towards zero, last bit set), then RN32(d + x).
//
// 1. If em is a multiple of q = 2^-23 (|em| >= 1), c is not a multiple of q, and the result has an exponent at least 2 above that of x, then every
//    f32 value and every midpoint between two lies at an even multiple of ulp(x) from d, while RO32 keeps em + c on its side of every even multiple.
//    So RN32(d + RO32(em + c)) = RN32(d + em + c) (Boldo and Melquiond 2008). Exponent: |result| >= 4 |x| is enough.
// 2. The f64 sums err by less than 2^(E-52) for |result| < 2^(E+1), and d + em + c stays at least `distance` = dist(c, q Z) away from every midpoint;
//    if 2^(E-52) < distance, RN32(RN64(RN64(d + c) + em)) = RN32(d + em + c) too. Hence a lowest admissible score per read (lowest_exact_score).
// 3. em + c cut towards zero does not change when c is first cut to a multiple of q, which is an f32 as |c| < 2.
// 4. em itself is f32 in the method. (x - m) / s is computed as Markstein does: r = RN(1/s), a0 = RN(d r), a = fma(fma(-a0, s, d), r, a0), which is
// the
//    correctly rounded quotient; where it underflows, a * a is far below the last bit of peak. peak - 0.5 a^2 is one fma because 0.5 a^2 is exact.
// Anything that misses a condition (an odd model, NaN, short scores at the beginning of a read) is filled in f64.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sluice/methods/abea/band_fill.hpp>

namespace sluice::abea {

// Constants of a read in single precision. `possible` is false when the read must be filled in f64 throughout.
struct NarrowTransitions {
  bool possible = false;
  float stay = 0.0F;  // cut to a multiple of 2^-23
  float step = 0.0F;  // likewise
  float skip = 0.0F;  // rounded to odd
  float lowest_exact_score = 0.0F;
};

inline float round_to_odd(double value) {
  auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value) return nearest;
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) nearest = std::nextafter(nearest, 0.0F);
  std::uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof bits);
  bits |= 1U;
  std::memcpy(&nearest, &bits, sizeof bits);
  return nearest;
}

inline double distance_to_multiple(double value, double quantum) { return std::fabs(std::remainder(value, quantum)); }

// The conditions of 1. to 4. on the levels of the read.
constexpr bool levels_fit(const LevelRanges& ranges) {
  return ranges.highest_peak <= -1.0F && ranges.lowest_peak > -0x1p10F && ranges.lowest_stdv > 0x1p-20F && ranges.highest_stdv < 0x1p20F &&
         ranges.lowest_mean > -0x1p20F && ranges.highest_mean < 0x1p20F;
}

inline NarrowTransitions narrow_transitions(const BandFillInput& input) {
  constexpr double emission_quantum = 0x1p-23;  // of |em| >= 1
  constexpr double skip_quantum = 0x1p-18;      // of scores below -32
  NarrowTransitions narrow;
  const Transitions& wide = input.log_probability;
  const bool transitions_fit = wide.stay > -2.0 && wide.stay < 0.0 && wide.step > -2.0 && wide.step < 0.0;
  if (!levels_fit(input.ranges) || !transitions_fit || !input.events_are_moderate) return narrow;

  const double distance = std::min({distance_to_multiple(wide.stay, emission_quantum), distance_to_multiple(wide.step, emission_quantum),
                                    distance_to_multiple(wide.skip, skip_quantum)});
  if (!(distance > 0x1p-50)) return narrow;
  // 2^(E-52) <= distance / 2 leaves a factor of two for the bound itself.
  const int exponent = std::min(std::ilogb(distance) - 1 + 52, 60);
  narrow.lowest_exact_score = -std::ldexp(1.0F, exponent);
  narrow.stay = static_cast<float>(std::trunc(wide.stay / emission_quantum) * emission_quantum);
  narrow.step = static_cast<float>(std::trunc(wide.step / emission_quantum) * emission_quantum);
  narrow.skip = round_to_odd(wide.skip);
  narrow.possible = true;
  return narrow;
}

// A lower bound of every emission between these events and the levels of the read.
constexpr float lowest_emission(float lowest_event, float highest_event, const LevelRanges& ranges) {
  const float farthest = std::max(highest_event - ranges.lowest_mean, ranges.highest_mean - lowest_event);
  const float deviation = farthest / ranges.lowest_stdv;
  return ranges.lowest_peak - 0.501F * deviation * deviation - 1.0F;
}

enum class Arithmetic : std::uint8_t { narrow, checked, wide };

// Scores at or above this are filled in f64: skip itself needs 64, see 1. with x = skip.
inline constexpr float highest_narrow_score = -64.0F;

// What the next `band_count` bands can be filled with, from the extremes of the two bands before them (finite scores only) and of the events that
// these bands will meet. Scores only fall from here on: every emission and transition is negative.
constexpr Arithmetic admissible_arithmetic(const NarrowTransitions& narrow, float lowest_score, float highest_score, float lowest_emission_ahead,
                                           std::int32_t band_count) {
  if (!narrow.possible || !(highest_score < highest_narrow_score) || !(lowest_emission_ahead > -0x1p20F)) return Arithmetic::wide;
  const float largest_fall = (24.0F - lowest_emission_ahead) * static_cast<float>(band_count);
  if (!(lowest_score - largest_fall > narrow.lowest_exact_score)) return Arithmetic::wide;
  return highest_score <= 4.0F * lowest_emission_ahead - 12.0F ? Arithmetic::narrow : Arithmetic::checked;
}

}  // namespace sluice::abea
