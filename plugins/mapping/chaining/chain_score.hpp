// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a step from one anchor to the next is worth. All operations on floats are single operations in this order, so that every implementation gives
// the same bits.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "chaining/chaining.hpp"

namespace sluice::chaining {

// One anchor as the recurrences see it.
struct Point {
  std::int32_t target, query, span;
};

SLUICE_HOST_DEVICE inline Point point_of(std::uint64_t x, std::uint64_t y) { return {target_position(x), query_position(y), span_of(y)}; }

// Costs of a step: per base of difference between the two gaps, and per base of the shorter gap.
struct StepCosts {
  float gap, skip;
  bool introns = false;
  bool operator==(const StepCosts&) const = default;
};

inline StepCosts step_costs(const ChainingParameters& p) {
  return {static_cast<float>(static_cast<double>(p.chain_gap_scale) * 0.01 * p.k),
          static_cast<float>(static_cast<double>(p.chain_skip_scale) * 0.01 * p.k), p.splice};
}

// log2(x) as minimap2 approximates it; x >= 1.
SLUICE_HOST_DEVICE inline float approximate_log2(std::int32_t x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23 & 255) - 128);
  const auto mantissa = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f800000U);
  return exponent + ((-0.34484843F * mantissa + 2.02466578F) * mantissa - 0.67487759F);
}

// `difference` of the gaps >= 0, `gap` the shorter one.
SLUICE_HOST_DEVICE inline std::int32_t step_penalty(std::int32_t difference, std::int32_t gap, StepCosts costs) {
  const float linear = costs.gap * static_cast<float>(difference) + costs.skip * static_cast<float>(gap);
  const float logarithm = difference >= 1 ? approximate_log2(difference + 1) : 0.0F;
  return static_cast<std::int32_t>(linear + 0.5F * logarithm);
}

// Of a gap that is longer on the target: an intron, perhaps.
inline std::int32_t intron_penalty(std::int32_t difference, std::int32_t gap, StepCosts costs) {
  const float linear = costs.gap * static_cast<float>(difference) + costs.skip * static_cast<float>(gap);
  return static_cast<std::int32_t>(std::min(linear, approximate_log2(difference + 1)));
}

// Limits of the first engine.
struct StepLimits {
  std::int32_t target_gap, query_gap, band;
  bool operator==(const StepLimits&) const = default;
};

// minimap2 widens the gaps to the band; across introns only that on the target.
inline StepLimits step_limits(const ChainingParameters& p) {
  const std::int32_t target_gap = p.max_gap_ref > 0 ? p.max_gap_ref : p.max_gap;
  return {std::max(target_gap, p.bw), p.splice ? p.max_gap : std::max(p.max_gap, p.bw), p.bw};
}

inline constexpr std::int32_t no_step = INT32_MIN;

// The step from `from` to `to` by the first engine, or no_step. Note that the gap on the read is limited by both limits.
inline std::int32_t step_score(Point to, Point from, StepLimits limits, StepCosts costs) {
  const std::int32_t query = to.query - from.query, target = to.target - from.target;
  if (query <= 0 || query > limits.target_gap || query > limits.query_gap || target == 0) return no_step;
  const std::int32_t difference = std::max(target, query) - std::min(target, query);
  if (difference > limits.band) return no_step;
  const std::int32_t gap = std::min(target, query);
  std::int32_t score = std::min(from.span, gap);
  if (difference > 0 || gap > from.span)
    score -= costs.introns && target > query ? intron_penalty(difference, gap, costs) : step_penalty(difference, gap, costs);
  return score;
}

// Places that no anchor has (of threads without one) may lie further apart than an int holds.
SLUICE_HOST_DEVICE inline std::int32_t apart(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

// The step by the second engine: any gap, and the penalty depends on the gap on the read.
SLUICE_HOST_DEVICE inline std::int32_t join_score(Point to, Point from, StepCosts costs) {
  const std::int32_t query = apart(to.query, from.query), target = apart(to.target, from.target);
  const std::int32_t gap = std::min(target, query), difference = apart(std::max(target, query), gap);
  std::int32_t score = std::min(from.span, gap);
  if (difference > 0 || query > from.span) score -= step_penalty(difference, gap, costs);
  return score;
}

// The second engine takes the predecessor of the lowest cost, which is the highest score less a linear gap cost, up to a constant. The part of the
// cost that does not depend on the score:
SLUICE_HOST_DEVICE inline double join_advance(Point at, StepCosts costs) {
  const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(at.target) + static_cast<std::uint32_t>(at.query));
  return 0.5 * costs.gap * static_cast<double>(sum);
}
SLUICE_HOST_DEVICE inline double join_cost(std::int32_t score, double advance) { return -(score + advance); }
SLUICE_HOST_DEVICE inline double join_cost(std::int32_t score, Point at, StepCosts costs) { return join_cost(score, join_advance(at, costs)); }

}  // namespace sluice::chaining
