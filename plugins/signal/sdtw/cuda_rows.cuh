// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The recurrence in the registers of a group of lanes. Private to the plugin.
//
// Each lane has some rows of the query; columns stream through the lanes, two a step: lane l is at columns 2 (t - l) and 2 (t - l) + 1 in step t, and
// gets the row above its own from lane l - 1 by two shuffles. A word holds one column of each of two segments.
//
// A cell pair costs three instructions, 3.25 on average (see sum). Levels are moved to 0 .. 126, and |q - r| = (q - r) + 2 max(0, r - q). Cells are
// kept without the sum of the
// (+q) of the rows so far, and then
//
//   cell = min(above, above-left) + 2 max(0, r - q) - r
//
// The maximum is one fused multiply-add with relu in half precision, whose subnormal numbers have the bits of integers: k 2^-24 is 0x0000 + k, up to
// 2,047. The rest is a minimum of 16-bit halves and one addition of three words; since both halves of the sum lie within 0 .. 65,535, carries between
// them cancel. Sums of q are added ahead of a lane's first row, so that its last row is as if nothing had been left out.

#include <cstdint>

#include "sdtw/cuda.hpp"

namespace sluice::sdtw::cuda {

constexpr unsigned int all_lanes = 0xFFFFFFFFU;

__device__ constexpr std::uint32_t both_halves(std::uint32_t value) { return value << 16 | value; }

__device__ __forceinline__ std::uint32_t least(std::uint32_t a, std::uint32_t b) { return __vminu2(a, b); }

// 2 max(0, level - query) of both halves. A word has the half-precision numbers -2 query of an even row and the next one; the instruction takes one
// of them for both halves.
__device__ __forceinline__ std::uint32_t excess(std::uint32_t level, std::uint32_t minus_twice_queries, int row) {
  constexpr std::uint32_t two = 0x40004000;  // 2.0 twice
  std::uint32_t result;
  if (row % 2 == 0)
    asm("{.reg .b16 low, high; .reg .b32 both; mov.b32 {low, high}, %3; mov.b32 both, {low, low}; fma.rn.relu.f16x2 %0, %1, %2, both;}"
        : "=r"(result)
        : "r"(level), "r"(two), "r"(minus_twice_queries));
  else
    asm("{.reg .b16 low, high; .reg .b32 both; mov.b32 {low, high}, %3; mov.b32 both, {high, high}; fma.rn.relu.f16x2 %0, %1, %2, both;}"
        : "=r"(result)
        : "r"(level), "r"(two), "r"(minus_twice_queries));
  return result;
}

// The new cell. The minimum and this sum go to one pipe, the multiply-add of the excess to another that is not as busy: so every fourth row's sum is
// two multiply-adds by 1, which the compiler must not know (14.2 instead of 12.7 Tcells/s; every third row 13.9).
__device__ __forceinline__ std::uint32_t sum(std::uint32_t least_before, std::uint32_t excess_of_level, std::uint32_t level, int row, int one) {
  constexpr int rows_a_multiplied_sum = 4;
  if (row % rows_a_multiplied_sum != rows_a_multiplied_sum - 1) return least_before + excess_of_level - level;
  std::uint32_t without_level, result;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(without_level) : "r"(level), "r"(-one), "r"(least_before));
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(excess_of_level), "r"(one), "r"(without_level));
  return result;
}

// Warps that run at a time on a multiprocessor. A lane has one and a half registers a row, and 168 of them with 12 warps, 128 with 16.
constexpr int warps_of(int lane_rows) { return lane_rows <= 56 ? 16 : 12; }

// Cells that no path reaches: not less than any that counts, and far enough from the end of the range for one more cost.
constexpr std::uint32_t unreachable_cell = ceiling + most_lane_rows * 2 * squiggle_limit;
static_assert(unreachable_cell + most_lane_rows * 2 * squiggle_limit <= 65535);

// Some rows of one query in one stretch of the reference.
struct Item : QueryRows, TargetStretch {};

template <int lane_rows, int most_spare_rows, Rows kind>
__global__ void __launch_bounds__(32, warps_of(lane_rows))
    rows_kernel(const QueryRows* __restrict__ queries, std::int64_t query_count, const TargetStretch* __restrict__ stretches, std::int64_t item_count,
                int group, const std::uint32_t* __restrict__ levels, const std::int16_t* __restrict__ query, std::uint64_t* results) {
  const int lane = static_cast<int>(threadIdx.x) & (group - 1);
  const std::int64_t index = (std::int64_t{blockIdx.x} * 32 + threadIdx.x) / group;
  Item item;
  if (index < item_count) {
    static_cast<QueryRows&>(item) = queries[has_own_stretches(kind) ? index : index % query_count];
    static_cast<TargetStretch&>(item) = stretches[has_own_stretches(kind) ? index : index / query_count];
  }

  // Rows are spread evenly; a lane with fewer than lane_rows takes its last row from further up.
  const int rows_before = lane * (item.rows / group) + min(lane, item.rows % group);
  const int own_rows = item.rows / group + (lane < item.rows % group ? 1 : 0);
  const int spare_rows = lane_rows - own_rows;
  std::uint32_t minus_twice_query[lane_rows / 2], cell[lane_rows];
  const int one = item_count > 0 ? 1 : 0;
  std::uint32_t query_sum = 0;
#pragma unroll
  for (int k = 0; k < lane_rows; ++k) {
    const std::uint32_t level = k < own_rows ? static_cast<std::uint32_t>(query[item.query + rows_before + k] + squiggle_limit) : 0;
    query_sum += level;
    const std::uint32_t number = 0x8000 | 2 * level;
    minus_twice_query[k / 2] = k % 2 == 0 ? number : minus_twice_query[k / 2] | number << 16;
    cell[k] = both_halves(unreachable_cell);
  }
  query_sum = both_halves(query_sum);

  const bool is_first = lane == 0, is_last = lane == group - 1;
  const bool reads_state = kind == Rows::stateful && is_first && item.state_in != nullptr;
  const bool writes_state = kind == Rows::stateful && is_last && item.state_out != nullptr;
  const uint2* const state_in = reinterpret_cast<const uint2*>(reads_state ? item.state_in + item.word : nullptr);
  std::uint32_t* const state_out = writes_state ? item.state_out + item.word : nullptr;
  const int own_steps = (item.columns + 1) / 2;
  const int steps = __reduce_max_sync(all_lanes, own_steps == 0 ? 0 : own_steps + group - 1);
  const uint2* const own_levels = reinterpret_cast<const uint2*>(levels + item.word);

  uint2 above = {0, 0}, next_level = {0, 0}, next_state = {0, 0};
  std::uint32_t above_left = both_halves(unreachable_cell);
  if (kind == Rows::anchored && is_first) above_left = query_sum;
  std::uint32_t best = 0xFFFFFFFFU;
  int best_column[2] = {0, 0};
  if (own_steps > 0) {
    next_level = own_levels[0];
    if (reads_state) next_state = state_in[0];
  }

  for (int step = -lane; step < steps - lane; ++step) {
    if (step >= 0 && step < own_steps) {
      const uint2 level = next_level;
      next_level = own_levels[step + 1];
      if (is_first) {
        above = kind == Rows::anchored ? uint2{both_halves(ceiling), both_halves(ceiling)} : uint2{0, 0};
        if (reads_state) {
          above = next_state;
          next_state = state_in[step + 1];
        }
      }
      const std::uint32_t top = least(above.x, both_halves(ceiling)) + query_sum, top_right = least(above.y, both_halves(ceiling)) + query_sum;
      // `here` goes down the first column, `right` one row behind it down the second: by then the cell of the step before has been used, and its
      // register is free for the new one.
      std::uint32_t here_before = top, right = top_right;
      std::uint32_t here = least(top, above_left) + excess(level.x, minus_twice_query[0], 0) - level.x;
      above_left = top_right;
#pragma unroll
      for (int k = 1; k <= lane_rows; ++k) {
        const std::uint32_t least_below = least(here, cell[k - 1]);
        right = sum(least(right, here_before), excess(level.y, minus_twice_query[(k - 1) / 2], k - 1), level.y, k - 1, one);
        cell[k - 1] = right;
        if (k >= lane_rows - most_spare_rows && spare_rows == lane_rows - k) above = {here, right};  // the lane's last row
        here_before = here;
        if (k < lane_rows) here = sum(least_below, excess(level.x, minus_twice_query[k / 2], k), level.x, k, one);
      }
      const std::uint32_t counted = 2 * step + 1 < item.columns ? above.y : 0xFFFFFFFFU;
      const std::uint32_t lower = least(least(best, above.x), counted);
      if (lower != best) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t before = best >> 16 * half & 0xFFFF, first = above.x >> 16 * half & 0xFFFF, second = counted >> 16 * half & 0xFFFF;
          if (first < before && first <= second)
            best_column[half] = 2 * step;
          else if (second < before)
            best_column[half] = 2 * step + 1;
        }
        best = lower;
      }
      if (writes_state && 2 * step >= item.early_columns) {
        if (2 * step + 1 < item.columns)
          *reinterpret_cast<uint2*>(state_out + 2 * step) = above;
        else
          state_out[2 * step] = above.x;
      }
    }
    above.x = __shfl_up_sync(all_lanes, above.x, 1);
    above.y = __shfl_up_sync(all_lanes, above.y, 1);
  }
  if (!is_last || own_steps == 0 || item.result < 0) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (item.least_column[half] < 0) continue;
    const auto score = static_cast<unsigned long long>(best >> 16 * half & 0xFFFF);
    atomicMin(reinterpret_cast<unsigned long long*>(results + item.result),
              score << column_bits | static_cast<unsigned long long>(found_column(item, half, best_column[half])));
  }
}

}  // namespace sluice::sdtw::cuda
