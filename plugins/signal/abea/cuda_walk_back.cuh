// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: walks back along the path of one read, by one warp.

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
// Traces are asked for before they are needed, into the second cache: the nearest one has no room for a line of each walker and row. A path moves by
// about one k-mer in three bands.
constexpr std::int32_t rows_ahead = 8;
constexpr std::int32_t kmers_ahead = rows_ahead * bands_per_row / 3;

struct Walk {
  Waypoint next;  // not yet visited; negative where the path ends
  Waypoint last;  // visited last; -1 when none was
};

__device__ __forceinline__ const std::uint32_t* traces_of(const std::uint32_t* traces, std::int32_t row, std::int32_t kmer) {
  return traces + (std::int64_t{row} * row_lanes + ((kmer >> 2) & (warp_lanes - 1)));
}

// Until the path ends or reaches a band at or below `boundary`.
__device__ __forceinline__ void walk_back(Walk& walk, std::int32_t boundary, const std::uint32_t* traces, std::uint32_t* codes) {
  const std::uint32_t* held = nullptr;
  std::uint32_t word = 0;
  while (walk.next.event >= 0 && walk.next.kmer >= 0) {
    const std::int32_t event = walk.next.event;
    const std::int32_t kmer = walk.next.kmer;
    const std::int32_t band = band_of(event, kmer);
    if (band <= boundary) break;
    walk.last = walk.next;
    const std::int32_t row = band / bands_per_row;
    const std::uint32_t* const own = traces_of(traces, row, kmer);
    if (own != held) {
      word = *own;
      held = own;
      if (row >= rows_ahead) asm volatile("prefetch.global.L2 [%0];" ::"l"(traces_of(traces, row - rows_ahead, kmer - kmers_ahead)));
    }
    const std::uint32_t bits = word >> (bits_per_band * (bands_per_row - 1 - band % bands_per_row) + 2 * (kmer & 3));
    const bool left = (bits & 1U) == 0;
    const bool up = (bits & 3U) == 1;
    if (!up && codes != nullptr) codes[kmer] = 2U * static_cast<std::uint32_t>(event) + (left ? 1U : 0U);
    walk.next = {event - (left ? 0 : 1), kmer - (up ? 0 : 1)};
  }
  // The k-mer in which the path ran out of events.
  if (walk.next.event < 0 && walk.next.kmer >= 0 && codes != nullptr) codes[walk.next.kmer] = 0;
}

// The path's first cell in the read. codes: one per k-mer, those on the path are written.
__device__ __forceinline__ Waypoint walk_read(const ReadPlan& read, std::int32_t end_event, const std::uint32_t* traces, const Waypoint* waypoints,
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

  // One loop for both walks of a walker, to its boundary and on from there: the second begins anew while guesses were wrong.
  Walk walk{own, {-1, -1}};
  Waypoint begin = own;
  for (bool joins = true;; joins = false) {
    walk = {begin, {-1, -1}};
    if (walks) walk_back(walk, joins ? own_boundary : boundary, traces, joins ? nullptr : codes);
    __syncwarp();
    if (joins) {
      begin = walk.next;
      continue;
    }
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

}  // namespace sluice::abea::cuda
