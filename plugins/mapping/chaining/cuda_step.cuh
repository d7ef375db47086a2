// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// step_score (chain_score.hpp) in device code, and what the kernels share.

#include <cstdint>

#include "chaining/cuda.hpp"

namespace sluice::chaining::cuda {

constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;
constexpr std::uint32_t warp_lanes = 32;
constexpr std::uint32_t no_anchor = 0xFFFFFFFFU;

// A run is chained by one warp over all pairs of its windows, unless it has so many that the others would wait for that warp: a million take it 1 to
// 1.6 ms on an H200. By diagonals such a run is faster if most of its pairs are no valid steps: with this many predecessors in the window of an
// anchor on average, or with more than one anchor on every so many bases of the read, which no single diagonal has.
constexpr std::uint64_t wide_run_pairs = 2'000'000;
constexpr std::uint32_t wide_window = 512;
constexpr std::uint32_t bases_per_anchor = 4;

// Runs with fewer anchors are not looked at in this way.
constexpr std::uint32_t long_run_anchors = 1024;

enum class Penalty { tabled, computed };

__device__ inline std::int32_t computed_penalty(std::int32_t difference, std::int32_t gap, StepCosts costs) {
  const float linear = __fadd_rn(__fmul_rn(costs.gap, static_cast<float>(difference)), __fmul_rn(costs.skip, static_cast<float>(gap)));
  float logarithm = 0.0F;
  if (difference >= 1) {
    const std::uint32_t bits = __float_as_uint(static_cast<float>(difference + 1));
    const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23 & 255U) - 128);
    const float mantissa = __uint_as_float((bits & 0x007FFFFFU) | 0x3F800000U);
    const float square = __fadd_rn(__fmul_rn(-0.34484843F, mantissa), 2.02466578F);
    logarithm = __fadd_rn(exponent, __fsub_rn(__fmul_rn(square, mantissa), 0.67487759F));
  }
  return static_cast<std::int32_t>(__fadd_rn(linear, __fmul_rn(0.5F, logarithm)));
}

// Fills table[0 .. band] by the threads of a block; the caller waits for them.
__device__ inline void fill_penalties(std::uint16_t* table, const StepRules& rules) {
  for (auto difference = static_cast<std::int32_t>(threadIdx.x); difference <= rules.limits.band; difference += static_cast<std::int32_t>(blockDim.x))
    table[difference] = static_cast<std::uint16_t>(difference == 0 ? 0 : computed_penalty(difference, 0, rules.costs));
}

struct Step {
  std::int32_t score;
  bool valid;
};

// From an anchor at (from_target, from_query) to one at (to_target, to_query), which does not precede it on the target.
template <Penalty penalty>
__device__ __forceinline__ Step step(std::int32_t to_target, std::int32_t to_query, std::int32_t from_target, std::int32_t from_query,
                                     std::int32_t from_span, const StepRules& rules, const std::uint16_t* table) {
  const std::int32_t query = to_query - from_query, target = to_target - from_target;
  const std::int32_t gap = min(target, query);
  const std::int32_t difference = abs(target - query);
  const bool valid = gap > 0 && query <= rules.limits.query_gap && query <= rules.limits.target_gap && difference <= rules.limits.band;
  std::int32_t cost = 0;
  if constexpr (penalty == Penalty::tabled) {
    cost = table[valid ? difference : 0];
  } else if (valid && (difference > 0 || gap > from_span)) {
    cost = computed_penalty(difference, gap, rules.costs);
  }
  return {min(from_span, gap) - cost, valid};
}

__device__ inline std::int32_t device_target(std::uint64_t x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }
__device__ inline std::int32_t device_query(std::uint64_t y) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(y)); }
__device__ inline std::int32_t device_span(std::uint64_t y) { return static_cast<std::int32_t>(y >> 32 & 0xFFU); }

}  // namespace sluice::chaining::cuda
