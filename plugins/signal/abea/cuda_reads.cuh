// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: what lies in device memory for each read, and the geometry of its bands.
//
// One warp aligns one read. As on the CPU (band_fill.hpp), a cell belongs to its k-mer, whichever way the band moved: k-mer k lives in slot k modulo
// 128, four neighbouring slots to a lane.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/methods/abea/narrow_arithmetic.hpp>

#include "abea/cuda.hpp"

namespace sluice::abea::cuda {

constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;
constexpr int warp_lanes = 32;
constexpr std::int32_t slots = 128;
constexpr std::int32_t slots_per_lane = 4;
static_assert(band_width % slots_per_lane == 0 && guided_band_width % slots_per_lane == 0);

// The arithmetic is chosen anew after this many bands. Choosing costs about as much as three bands.
constexpr std::int32_t stretch_bands = 128;
// Events that the slots meet in a stretch, those outside the band included: 128 slots and a slot more for each band. Lanes hold three from before,
// read two ahead, and begin up to four k-mers below the band.
constexpr std::int32_t spare_events = 16;
constexpr std::int32_t staged_events = stretch_bands + slots + spare_events;

// A trace row holds four bands: 32 bits per lane, the first band in the highest byte, in each byte from the high bit down "not from above" and "not
// from the left" of slots 3, 2, 1, 0. A path stays in one memory sector, eight lanes of a row, for four bands or more.
constexpr std::int32_t bands_per_row = 4;
constexpr std::int32_t bits_per_band = 2 * slots_per_lane;
constexpr std::int64_t row_lanes = 32;
constexpr std::int64_t row_bytes = row_lanes * static_cast<std::int64_t>(sizeof(std::uint32_t));

// Levels behind the last k-mer that lanes read but never use.
constexpr std::int64_t spare_levels = 64;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Of one k-mer: scale * level_mean + shift (pA), spread (pA), 1 / spread, log-likelihood of an event at the mean.
struct alignas(16) Level {
  float mean, stdv, inverse_stdv, peak;
};
constexpr Level no_level{0.0F, 1.0F, 1.0F, -1.0F};
constexpr std::int32_t levels_per_line = 8;  // of the cache, 128 bytes

// What prepare_levels finds out about a read.
struct ReadFacts {
  LevelRanges ranges;
  bool levels_are_moderate;  // levels_fit, and every event is moderate: the inner loop may run
};

// A cell that a walk back begins at: on its way it joins the best path soon, wherever it begins.
struct Waypoint {
  std::int32_t event, kmer;
};

// What is summed up over the cells of a path, by warps in any order.
struct PathSums {
  double emission;
  double magnitude;        // of the sum of absolute values, or a little more
  std::uint32_t smallest;  // bits of the smallest absolute value that is not 0
  std::uint32_t pairs;
  std::int32_t longest_skip;
};
constexpr PathSums no_sums{0.0, 0.0, 0x7F800000U, 0U, 0};

// The part of a path that one warp sums up.
constexpr std::int32_t segment_kmers = 1024;

struct Workspace {
  ReadFacts* facts;
  Waypoint* waypoints;          // warp_lanes per read; walking back leaves the first cell of the path in the last one
  PathSums* sums;               // one per read
  std::int32_t* segment_reads;  // the read of each segment
  std::uint32_t* codes;         // one per level (cuda_walk_back.cuh)
  Level* levels;
  std::uint32_t* traces;
};

// Constants of every read.
struct CommonTransitions {
  double skip, trim;
};

// What a warp keeps in shared memory.
struct WarpStage {
  float events[staged_events];
};

__device__ __forceinline__ std::int32_t band_of(std::int32_t event, std::int32_t kmer) { return event + kmer + 2; }

// Correctly rounded (narrow_arithmetic.hpp, 4.), for levels and events that are moderate.
__device__ __forceinline__ float emission_of_level(float event, const Level& level) {
  const float distance = __fsub_rn(event, level.mean);
  const float quotient = __fmul_rn(distance, level.inverse_stdv);
  const float remainder = __fmaf_rn(-quotient, level.stdv, distance);
  const float deviation = __fmaf_rn(remainder, level.inverse_stdv, quotient);
  return __fmaf_rn(-0.5F, __fmul_rn(deviation, deviation), level.peak);
}

// The same for any level and event.
__device__ __forceinline__ float emission_of_any_level(float event, const Level& level) {
  const float deviation = __fdiv_rn(__fsub_rn(event, level.mean), level.stdv);
  return __fadd_rn(level.peak, __fmul_rn(__fmul_rn(-0.5F, deviation), deviation));
}

// Unsigned order of floats, for reductions and atomics: NaN has no place in it and is counted apart.
__device__ __forceinline__ std::uint32_t order_of(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ __forceinline__ float value_of_order(std::uint32_t order) {
  return __uint_as_float((order & 0x80000000U) != 0 ? order & 0x7FFFFFFFU : ~order);
}

}  // namespace sluice::abea::cuda
