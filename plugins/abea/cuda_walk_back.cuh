// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: walks back along the path of one read, by the warp that filled its bands.

#include "abea/cuda_reads.cuh"

namespace sluice::abea::cuda {

// The path is a chain of single steps, but paths that begin anywhere in a band soon join: up to 32 walkers, one a lane, each take a part of the read.
// A walker begins at its waypoint and takes over at the first cell behind a boundary some bands on. Where the walker before (from later bands) leaves
// off elsewhere, the guess was wrong: all walk again, and those who guessed wrong begin where they should have. The first walker is always right, so
// that this ends, with the one path there is.
//
// For each k-mer on the path the walk writes 2 * (event of the k-mer's cell that comes first in the read) + (1 when that cell was entered from the
// left): all other cells of the k-mer lie above it, and the highest one follows from the next k-mer's.

// Bands from a waypoint to its boundary.
constexpr std::int32_t joining_bands = 96;
// A walker asks for the traces of the rows ahead, so that it need not wait for them one by one: it stays with its lane for twelve bands.
constexpr std::int32_t rows_ahead = 6;

struct Walk {
  Waypoint next;  // not yet visited; negative where the path ends
  Waypoint last;  // visited last; -1 when none was
};

// Until the path ends or reaches a band at or below `boundary`.
__device__ __forceinline__ void walk_back(Walk& walk, std::int32_t boundary, const std::uint16_t* traces, std::uint32_t* codes) {
  while (walk.next.event >= 0 && walk.next.kmer >= 0) {
    const std::int32_t event = walk.next.event;
    const std::int32_t kmer = walk.next.kmer;
    const std::int32_t band = band_of(event, kmer);
    if (band <= boundary) return;
    walk.last = walk.next;
    const std::uint16_t* const own = traces + std::int64_t{band / bands_per_row} * row_lanes + ((kmer >> 2) & (warp_lanes - 1));
    if (band >= bands_per_row * rows_ahead) asm volatile("prefetch.global.L1 [%0];" ::"l"(own - rows_ahead * row_lanes));
    const std::uint32_t row = *own;
    const std::uint32_t bits = row >> (8 * (1 - band % 2) + 2 * (kmer & 3));
    const bool left = (bits & 1U) == 0;
    const bool up = (bits & 3U) == 1;
    if (!up && codes != nullptr) codes[kmer] = 2U * static_cast<std::uint32_t>(event) + (left ? 1U : 0U);
    walk.next = {event - (left ? 0 : 1), kmer - (up ? 0 : 1)};
  }
  // The k-mer in which the path ran out of events.
  if (walk.next.event < 0 && walk.next.kmer >= 0 && codes != nullptr) codes[walk.next.kmer] = 0;
}

// The path's first cell in the read. codes: one per k-mer, those on the path are written.
__device__ __forceinline__ Waypoint walk_read(const ReadPlan& read, std::int32_t end_event, const std::uint16_t* traces, const Waypoint* waypoints,
                                              std::uint32_t* codes) {
  const auto walker = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const Waypoint end{end_event, read.kmer_count - 1};
  const Waypoint own = walker == warp_lanes - 1 ? end : waypoints[walker];
  // Exclusive: the walker's path begins at the first cell in a band at or below it.
  const std::int32_t own_boundary = walker == warp_lanes - 1 ? band_of(end.event, end.kmer) : band_of(own.event, own.kmer) - joining_bands;
  const bool walks = walker == warp_lanes - 1 || (own.event >= 0 && own.event < read.event_count && own.kmer >= 0 && own.kmer < read.kmer_count &&
                                                  own_boundary > 2 && own_boundary < band_of(end.event, end.kmer));
  const std::uint32_t walkers = __ballot_sync(whole_warp, walks);
  const std::uint32_t later = walker == warp_lanes - 1 ? 0U : walkers >> (walker + 1) << (walker + 1);
  const std::uint32_t earlier = walkers & ((1U << walker) - 1U);
  const std::int32_t walker_before = later == 0 ? walker : __ffs(static_cast<int>(later)) - 1;
  const std::int32_t walker_behind = earlier == 0 ? walker : warp_lanes - 1 - __clz(static_cast<int>(earlier));
  const std::int32_t behind_boundary = __shfl_sync(whole_warp, own_boundary, walker_behind);
  const std::int32_t boundary = earlier == 0 ? 0 : behind_boundary;

  Walk walk{own, {-1, -1}};
  if (walks) walk_back(walk, own_boundary, traces, nullptr);
  __syncwarp();
  Waypoint begin = walk.next;
  while (true) {
    walk = {begin, {-1, -1}};
    if (walks) walk_back(walk, boundary, traces, codes);
    __syncwarp();
    const std::int32_t true_event = __shfl_sync(whole_warp, walk.next.event, walker_before);
    const std::int32_t true_kmer = __shfl_sync(whole_warp, walk.next.kmer, walker_before);
    const bool wrong = walks && walker != warp_lanes - 1 && (true_event != begin.event || true_kmer != begin.kmer);
    if (!__any_sync(whole_warp, wrong)) break;
    if (wrong) begin = {true_event, true_kmer};
  }
  // The last walker that still had something to do; the one from the end always has.
  const std::int32_t last = __ffs(static_cast<int>(__ballot_sync(whole_warp, walks && walk.last.kmer >= 0))) - 1;
  return {__shfl_sync(whole_warp, walk.last.event, last), __shfl_sync(whole_warp, walk.last.kmer, last)};
}

// As the method is written, pair by pair from the end: for emissions of which the sum depends on the order.
__device__ double sum_in_order(std::int32_t event, std::int32_t kmer, const Level* levels, const float* events, const std::uint16_t* traces) {
  double sum = 0.0;
  Walk walk{{event, kmer}, {-1, -1}};
  while (walk.next.event >= 0 && walk.next.kmer >= 0) {
    sum = __dadd_rn(sum, static_cast<double>(emission_of_any_level(events[walk.next.event], levels[walk.next.kmer])));
    walk_back(walk, band_of(walk.next.event, walk.next.kmer) - 1, traces, nullptr);
  }
  return sum;
}

template <class T>
__device__ __forceinline__ T sum_over_warp(T value) {
#pragma unroll
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(whole_warp, value, distance);
  return value;
}

// The map, the report and the status of a read with filled bands, by one warp.
__device__ __forceinline__ void trace_back(const ReadPlan& read, const AlignmentLimits& limits, bool moderate, const Level* __restrict__ levels,
                                           const float* __restrict__ events, const std::uint16_t* traces, const Waypoint* waypoints,
                                           const DeviceAlignments& alignments, AlignmentReport& report) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  std::int32_t* const first_event = alignments.first_event + read.kmer_begin;
  std::int32_t* const last_event = alignments.last_event + read.kmer_begin;
  AlignmentStatus status = AlignmentStatus::no_end_cell_in_band;
  double events_per_base = 0.0;
  if (report.end_event >= 0) {
    auto* const codes = reinterpret_cast<std::uint32_t*>(first_event);
    const Waypoint begin = walk_read(read, report.end_event, traces, waypoints, codes);
    __syncwarp();
    // Chunks of 32 k-mers, from the end. Sums of floats of similar size are exact in double precision, whatever their order.
    double sum = 0.0;
    float magnitude_of_lane = 0.0F;  // or a little more
    float smallest = infinity;
    std::int32_t pairs = 0;
    std::int32_t longest_skip = 0;
    std::int32_t skip_behind = 0;
    std::uint32_t code_behind =
        2U * static_cast<std::uint32_t>(report.end_event) + 1U;  // as if the last k-mer had been entered from the left of another one
    for (std::int32_t highest = read.kmer_count - 1; highest >= begin.kmer; highest -= warp_lanes) {
      const std::int32_t kmer = highest - lane;
      const bool on_path = kmer >= begin.kmer;
      const std::uint32_t code = on_path ? codes[kmer] : 0U;
      std::uint32_t next_code = __shfl_up_sync(whole_warp, code, 1);
      next_code = lane == 0 ? code_behind : next_code;
      code_behind = __shfl_sync(whole_warp, code, warp_lanes - 1);
      const auto lowest = static_cast<std::int32_t>(code >> 1);
      const std::int32_t uppermost = on_path ? static_cast<std::int32_t>(next_code >> 1) - ((next_code & 1U) != 0 ? 0 : 1) : lowest - 1;
      const bool left = on_path && (code & 1U) != 0;
      const bool skipped = left && lowest == uppermost;
      const Level level = on_path ? levels[kmer] : no_level;
      for (std::int32_t event = lowest; event <= uppermost; ++event) {
        const float emission = moderate ? emission_of_level(events[event], level) : emission_of_any_level(events[event], level);
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
    report.pair_count = __reduce_add_sync(whole_warp, static_cast<std::uint32_t>(pairs));
    report.longest_skip = __reduce_max_sync(whole_warp, longest_skip);
    smallest = __uint_as_float(__reduce_min_sync(whole_warp, __float_as_uint(smallest)));
    const double magnitude = sum_over_warp(static_cast<double>(magnitude_of_lane));
    sum = sum_over_warp(sum);
    // All terms are multiples of the last bit of the smallest one (2^-24 of it or more), and 53 bits then hold every partial sum. Never true with
    // NaN.
    const bool exact = magnitude <= 0x1p28 * static_cast<double>(smallest);
    if (!exact) sum = sum_in_order(report.end_event, read.kmer_count - 1, levels, events, traces);
    report.average_emission = sum / static_cast<double>(report.pair_count);
    status = AlignmentStatus::ok;
    if (report.average_emission < limits.min_average_emission) {
      status = AlignmentStatus::low_average_emission;
    } else if (begin.kmer != 0) {
      status = AlignmentStatus::not_spanning;
    } else if (report.longest_skip > limits.max_skipped_kmers) {
      status = AlignmentStatus::too_many_skipped_kmers;
    }
    events_per_base = static_cast<double>(report.end_event - begin.event) / static_cast<double>(read.kmer_count);
  }
  if (status != AlignmentStatus::ok) {
    __syncwarp();
    for (std::int32_t kmer = lane; kmer < read.kmer_count; kmer += warp_lanes) first_event[kmer] = last_event[kmer] = -1;
  }
  if (lane != 0) return;
  alignments.status[read.row] = status;
  alignments.events_per_base[read.row] = status == AlignmentStatus::ok ? events_per_base : 0.0;
  alignments.reports[read.row] = report;
}

}  // namespace sluice::abea::cuda
