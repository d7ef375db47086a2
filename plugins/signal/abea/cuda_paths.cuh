// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: from the codes of a path (cuda_walk_back.cuh) to the map, the sums and the status of a read.

#include <sluice/cuda/warp.cuh>

#include "abea/cuda_reads.cuh"

namespace sluice::abea::cuda {

// A read whose path is known.
struct PathInput {
  std::int32_t end_event, kmer_count;
  Waypoint begin;  // the path's first cell in the read
  const std::uint32_t* __restrict__ codes;
  const Level* __restrict__ levels;
  const float* __restrict__ events;
  bool moderate;  // ReadFacts::levels_are_moderate
};

// The code of a k-mer's successor; behind the last k-mer as if that had been left for another one.
__device__ __forceinline__ std::uint32_t code_behind(const PathInput& path, std::int32_t kmer) {
  return kmer + 1 < path.kmer_count ? path.codes[kmer + 1] : 2U * static_cast<std::uint32_t>(path.end_event) + 1U;
}
__device__ __forceinline__ bool from_left(std::uint32_t code) { return (code & 1U) != 0; }
__device__ __forceinline__ std::int32_t lowest_event_of(std::uint32_t code) { return static_cast<std::int32_t>(code >> 1); }
__device__ __forceinline__ std::int32_t uppermost_event_before(std::uint32_t next_code) {
  return lowest_event_of(next_code) - (from_left(next_code) ? 0 : 1);
}

__device__ __forceinline__ float emission_on_path(const PathInput& path, std::int32_t event, const Level& level) {
  return path.moderate ? emission_of_level(path.events[event], level) : emission_of_any_level(path.events[event], level);
}

// K-mers in a row without an event of their own, up to and with this one and from later ones on; by the whole warp.
__device__ __forceinline__ std::int32_t skip_that_reaches(const PathInput& path, std::int32_t kmer) {
  std::int32_t skip = 0;
  while (true) {
    const std::int32_t own = kmer + static_cast<std::int32_t>(threadIdx.x % warp_lanes);
    const bool exists = own < path.kmer_count;
    const std::uint32_t code = exists ? path.codes[own] : 0U;
    const bool left = exists && from_left(code);
    const bool skipped = left && lowest_event_of(code) == uppermost_event_before(code_behind(path, own));
    const std::uint32_t lefts = __ballot_sync(whole_warp, left), skips = __ballot_sync(whole_warp, skipped);
    if (skips != whole_warp) {
      const std::int32_t run = __ffs(static_cast<int>(~skips)) - 1;
      return skip + run + static_cast<std::int32_t>(lefts >> run & 1U);
    }
    skip += warp_lanes;
    kmer += warp_lanes;
  }
}

// The map of a segment's k-mers and its share of the sums, by one warp. Segments of a read do not depend on each other.
__device__ __forceinline__ void sum_segment(const PathInput& path, std::int32_t segment, std::int32_t* __restrict__ first_event,
                                            std::int32_t* __restrict__ last_event, PathSums& sums) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const std::int32_t segment_begin = segment * segment_kmers;
  const std::int32_t lowest_kmer = max(segment_begin, path.begin.kmer);
  std::int32_t highest = min(segment_kmers, path.kmer_count - segment_begin) - 1 + segment_begin;
  if (highest < lowest_kmer) return;
  // Sums of floats of similar size are exact in double precision, whatever their order.
  double sum = 0.0;
  float magnitude_of_lane = 0.0F;
  float smallest = infinity;
  std::int32_t pairs = 0;
  std::int32_t longest_skip = 0;
  std::int32_t skip_behind = skip_that_reaches(path, highest + 1);
  // Chunks of 32 k-mers, from the end.
  for (; highest >= lowest_kmer; highest -= warp_lanes) {
    const std::int32_t kmer = highest - lane;
    const bool on_path = kmer >= lowest_kmer;
    const std::uint32_t code = on_path ? path.codes[kmer] : 0U;
    const std::uint32_t next_code = on_path ? code_behind(path, kmer) : 0U;
    const Level level = on_path ? path.levels[kmer] : no_level;
    const std::int32_t lowest = lowest_event_of(code);
    const std::int32_t uppermost = on_path ? uppermost_event_before(next_code) : lowest - 1;
    const bool left = on_path && from_left(code);
    const bool skipped = left && lowest == uppermost;
    for (std::int32_t event = lowest; event <= uppermost; ++event) {
      const float emission = emission_on_path(path, event, level);
      sum = __dadd_rn(sum, static_cast<double>(emission));
      magnitude_of_lane = __fadd_ru(magnitude_of_lane, fabsf(emission));
      smallest = emission == 0.0F ? smallest : fminf(smallest, fabsf(emission));
    }
    pairs += uppermost - lowest + 1;
    // K-mers in a row: those skipped without an event before, and one entered from the left after events of its own.
    const std::uint32_t lefts = __ballot_sync(whole_warp, left);
    if (lefts != 0) {
      const std::uint32_t skips = __ballot_sync(whole_warp, skipped);
      const std::int32_t run = __clz(static_cast<int>(~(skips << (warp_lanes - 1 - lane))));
      const std::int32_t reached = min(run, lane + 1);
      const std::int32_t before = reached == lane + 1 ? skip_behind : static_cast<std::int32_t>(lefts >> (lane - reached) & 1U);
      const std::int32_t skip = reached + before;
      longest_skip = max(longest_skip, skip);
      skip_behind = __shfl_sync(whole_warp, skip, warp_lanes - 1);
    } else {
      skip_behind = 0;
    }
    if (on_path) {
      // The first k-mer begins at the first pair, entered from the left or not.
      const bool own_lowest = !left || kmer == 0;
      first_event[kmer] = own_lowest ? lowest : skipped ? -1 : lowest + 1;
      last_event[kmer] = skipped && kmer != 0 ? -1 : uppermost;
    }
  }
  const std::uint32_t all_pairs = __reduce_add_sync(whole_warp, static_cast<std::uint32_t>(pairs));
  longest_skip = __reduce_max_sync(whole_warp, longest_skip);
  const std::uint32_t smallest_of_all = __reduce_min_sync(whole_warp, __float_as_uint(smallest));
  const double magnitude = sluice::cuda::sum_over_warp(static_cast<double>(magnitude_of_lane));
  sum = sluice::cuda::sum_over_warp(sum);
  if (lane != 0) return;
  atomicAdd(&sums.emission, sum);
  atomicAdd(&sums.magnitude, magnitude);
  atomicMin(&sums.smallest, smallest_of_all);
  atomicAdd(&sums.pairs, all_pairs);
  atomicMax(&sums.longest_skip, longest_skip);
}

// As the method is written, pair by pair from the end: for emissions of which the sum depends on the order.
__device__ inline double sum_in_order(const PathInput& path) {
  double sum = 0.0;
  std::int32_t uppermost = path.end_event;
  for (std::int32_t kmer = path.kmer_count - 1; kmer >= path.begin.kmer; --kmer) {
    const std::uint32_t code = path.codes[kmer];
    const Level level = path.levels[kmer];
    for (std::int32_t event = uppermost; event >= lowest_event_of(code); --event)
      sum = __dadd_rn(sum, static_cast<double>(emission_on_path(path, event, level)));
    uppermost = uppermost_event_before(code);
  }
  return sum;
}

// The report and the status of a read whose segments are summed up, by one warp.
__device__ __forceinline__ void conclude_read(const ReadPlan& read, const PathInput& path, const PathSums& sums, const AlignmentLimits& limits,
                                              const DeviceAlignments& alignments, AlignmentReport& report) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  AlignmentStatus status = AlignmentStatus::no_end_cell_in_band;
  double events_per_base = 0.0;
  if (report.end_event >= 0) {
    report.pair_count = sums.pairs;
    report.longest_skip = sums.longest_skip;
    // All terms are multiples of the last bit of the smallest one (2^-24 of it or more), and 53 bits then hold every partial sum. Never true with
    // NaN.
    const bool exact = sums.magnitude <= 0x1p28 * static_cast<double>(__uint_as_float(sums.smallest));
    const double sum = exact ? sums.emission : sum_in_order(path);
    report.average_emission = sum / static_cast<double>(report.pair_count);
    status = AlignmentStatus::ok;
    if (report.average_emission < limits.min_average_emission) {
      status = AlignmentStatus::low_average_emission;
    } else if (path.begin.kmer != 0) {
      status = AlignmentStatus::not_spanning;
    } else if (report.longest_skip > limits.max_skipped_kmers) {
      status = AlignmentStatus::too_many_skipped_kmers;
    }
    events_per_base = static_cast<double>(report.end_event - path.begin.event) / static_cast<double>(read.kmer_count);
  }
  if (status != AlignmentStatus::ok) {
    for (std::int32_t kmer = lane; kmer < read.kmer_count; kmer += warp_lanes)
      alignments.first_event[read.kmer_begin + kmer] = alignments.last_event[read.kmer_begin + kmer] = -1;
  }
  if (lane != 0) return;
  alignments.status[read.row] = status;
  alignments.events_per_base[read.row] = status == AlignmentStatus::ok ? events_per_base : 0.0;
  alignments.reports[read.row] = report;
}

}  // namespace sluice::abea::cuda
