// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: fills the bands of one read, by one warp.

#include "abea/cuda_bands.cuh"

namespace sluice::abea::cuda {

// What a warp knows of its read while it fills the bands.
struct ReadInput {
  std::int32_t event_count, kmer_count, band_count;
  const Level* __restrict__ levels;
  const float* __restrict__ events;
  std::uint32_t* traces;
  bool moderate;  // ReadFacts::levels_are_moderate
};

struct BandPosition {
  std::int32_t first_kmer;
  std::int32_t last_event;  // the event of the first k-mer's cell
};

struct EndCell {
  float score;
  std::int32_t event;
};

// By value: through a reference the compiler would choose between addresses, and the scores would have to live in memory.
__device__ __forceinline__ float chosen(float first, float second, float third, float fourth, std::int32_t slot) {
  const float low = (slot & 1) != 0 ? second : first;
  const float high = (slot & 1) != 0 ? fourth : third;
  return (slot & 2) != 0 ? high : low;
}

// The score of the band before in a k-mer's slot, whatever its lane.
__device__ __forceinline__ float score_of_slot(const Lane& lane, std::int32_t kmer) {
  const float own = chosen(lane.score[1][0], lane.score[1][1], lane.score[1][2], lane.score[1][3], kmer & 3);
  return __shfl_sync(whole_warp, own, (kmer >> 2) & (warp_lanes - 1));
}

// The first of the four k-mers of a lane when the slots hold the k-mers from 4 * first_block on.
__device__ __forceinline__ std::int32_t block_of_lane(std::int32_t first_block, std::int32_t lane) {
  return first_block + ((lane - first_block) & (warp_lanes - 1));
}

// Short reads have fewer than 31: each costs its walker the bands until it has joined the path.
__device__ __forceinline__ std::int32_t distance_of_waypoints(std::int32_t band_count) { return max(stretch_bands, band_count / warp_lanes + 1); }

// Bands 0 and 1: the cell before everything, and the first event trimmed; both in slot 127, that of k-mer -1.
__device__ __forceinline__ void fill_first_bands(Lane& lane, std::int32_t this_lane, double trim) {
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) lane.score[0][slot] = lane.score[1][slot] = -infinity;
  const auto first_trimmed = static_cast<float>(trim);
  if (this_lane == warp_lanes - 1) {
    lane.score[0][3] = 0.0F;
    lane.score[1][3] = first_trimmed;
  }
  lane.before[0] = this_lane == 0 ? 0.0F : -infinity;
  lane.before[1] = this_lane == 0 ? first_trimmed : -infinity;
}

// Bands that can be filled without looking at the edges: inside the matrix and before the last k-mer however the band moves, and four k-mers from the
// first one (move_slots<0>). Of a guided band, too, the slots above it may have levels of so many k-mers.
__device__ __forceinline__ std::int32_t inner_bands(const ReadInput& read, std::int32_t band, const BandPosition& at) {
  if (band % bands_per_row != 0 || at.first_kmer < slots_per_lane || at.last_event < band_width || !read.moderate) return 0;
  const std::int32_t room = min(stretch_bands, min(read.kmer_count - 1 - band_width - at.first_kmer, read.event_count - 1 - at.last_event));
  return room < 16 ? 0 : room & -bands_per_row;
}

// The arithmetic of the next bands, from the two bands before them and from the lowest and highest event that they will meet.
template <std::int32_t width>
__device__ __forceinline__ Arithmetic arithmetic_of_stretch(const Lane& lane, const NarrowTransitions& narrow, float lowest_event,
                                                            float highest_event, const LevelRanges& ranges, std::int32_t band_count) {
  float lowest_score = infinity;
  float highest_score = -infinity;
  std::int32_t cells = 0;
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) {
    cells += lane.score[1][slot] > -infinity ? 1 : 0;
#pragma unroll
    for (int ago = 0; ago < 2; ++ago) {
      highest_score = fmaxf(highest_score, lane.score[ago][slot]);
      lowest_score = lane.score[ago][slot] > -infinity ? fminf(lowest_score, lane.score[ago][slot]) : lowest_score;
    }
  }
  lowest_score = value_of_order(__reduce_min_sync(whole_warp, order_of(lowest_score)));
  highest_score = value_of_order(__reduce_max_sync(whole_warp, order_of(highest_score)));
  const bool every_cell_scored = __reduce_add_sync(whole_warp, cells) == width;
  if (!every_cell_scored) return Arithmetic::wide;
  return admissible_arithmetic(narrow, lowest_score, highest_score, lowest_emission(lowest_event, highest_event, ranges), band_count);
}

// The best cell of the band before is most likely on the path, or next to it. lowest_block: of that band's slots.
__device__ __forceinline__ void keep_waypoint(const Lane& lane, std::int32_t this_lane, std::int32_t band_before, std::int32_t lowest_block,
                                              Waypoint& waypoint) {
  float highest_of_lane = -infinity;
  std::int32_t highest_slot = 0;
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) {
    highest_slot = lane.score[1][slot] > highest_of_lane ? slot : highest_slot;
    highest_of_lane = fmaxf(highest_of_lane, lane.score[1][slot]);
  }
  const std::uint32_t highest = __reduce_max_sync(whole_warp, order_of(highest_of_lane));
  const std::int32_t kmer = slots_per_lane * block_of_lane(lowest_block, this_lane) + highest_slot;
  const std::uint32_t lanes = __ballot_sync(whole_warp, order_of(highest_of_lane) == highest);
  if (this_lane == __ffs(static_cast<int>(lanes)) - 1) waypoint = {band_before - 2 - kmer, kmer};
}

// A band that may reach over an edge of the matrix, or with values that need every care.
template <std::int32_t width>
__device__ __forceinline__ void fill_edge_band(Lane& lane, const ReadInput& read, std::int32_t band, const BandPosition& at, std::int32_t own_first,
                                               std::int32_t this_lane, std::int32_t lane_before, const ReadTransitions& transition, double trim,
                                               EndCell& end) {
  std::uint32_t trace = 0;
  float fresh[slots_per_lane];
#pragma unroll
  for (int slot = slots_per_lane - 1; slot >= 0; --slot) {
    // The lane of the band's first cells also holds the slots before it, which end up as k-mers outside the band.
    const std::int32_t kmer = own_first + slot;
    const std::int32_t offset = kmer - at.first_kmer;
    const std::int32_t event = at.last_event - offset;
    Cell cell{-infinity, false, false};
    if (offset >= 0 && offset < width && event >= 0 && event < read.event_count) {
      if (kmer >= 0 && kmer < read.kmer_count) {
        const float left_score = slot == 0 ? lane.before[1] : lane.score[1][slot - 1];
        const float diagonal_score = slot == 0 ? lane.before[0] : lane.score[0][slot - 1];
        const float emission =
            read.moderate ? emission_of_level(read.events[event], read.levels[kmer]) : emission_of_any_level(read.events[event], read.levels[kmer]);
        cell = wide_cell(diagonal_score, lane.score[1][slot], left_score, emission, transition);
        if (kmer == read.kmer_count - 1) {
          const auto trimmed = static_cast<float>(__dadd_rn(cell.score, __dmul_rn(static_cast<double>(read.event_count - event), trim)));
          if (trimmed > end.score) end = {trimmed, event};
        }
      } else if (kmer == -1) {
        cell.score = static_cast<float>(__dmul_rn(trim, static_cast<double>(event) + 1.0));
      }
    }
    fresh[slot] = cell.score;
    trace = push_bit(push_bit(trace, cell.not_from_above), cell.not_from_left);
  }
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) {
    lane.score[0][slot] = lane.score[1][slot];
    lane.score[1][slot] = fresh[slot];
  }
  lane.before[0] = lane.before[1];
  lane.before[1] = __shfl_sync(whole_warp, fresh[3], lane_before);
  lane.trace = lane.trace << bits_per_band | trace;
  const std::int32_t bands_missing = bands_per_row - 1 - band % bands_per_row;
  if (bands_missing == 0 || band == read.band_count - 1)
    read.traces[std::int64_t{band / bands_per_row} * row_lanes + this_lane] = lane.trace << bits_per_band * bands_missing;
}

// Fills the bands of a read; report gets the end of the path and the counts of bands. Traces are only read after a __syncwarp.
template <FillForm form, bool guided>
__device__ __forceinline__ void fill_read(const ReadPlan& plan, const ReadFacts& facts, const CommonTransitions& common, const ReadInput& read,
                                          WarpStage& stage, Waypoint* waypoints, Guide guide, AlignmentReport& report) {
  constexpr std::int32_t width = guided ? guided_band_width : band_width;
  const auto this_lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const ReadTransitions transition{plan.stay, plan.step, common.skip, plan.away_stay, plan.away_step, plan.narrow_skip};
  NarrowTransitions narrow;
  narrow.possible = plan.narrow_possible;
  narrow.lowest_exact_score = plan.lowest_exact_score;
  const std::int32_t waypoint_distance = distance_of_waypoints(read.band_count);
  std::int32_t waypoint_count = 0;
  waypoints[this_lane] = {-1, -1};
  __syncwarp();

  Lane lane{};
  fill_first_bands(lane, this_lane, common.trim);
  BandPlace place{};
  place.lane_before = (this_lane + warp_lanes - 1) % warp_lanes;
  BandPosition at{-1 - width / 2, width / 2};  // of band 1
  EndCell end{-infinity, -1};
  std::int32_t narrow_bands = 0, checked_bands = 0, repeated_bands = 0, wide_bands = 0;

  for (std::int32_t band = 2; band < read.band_count;) {
    const std::int32_t inner = inner_bands(read, band, at);
    const float lower_left = score_of_slot(lane, at.first_kmer);
    const float upper_right = score_of_slot(lane, at.first_kmer + width - 1);
    bool right = lower_left == -infinity && upper_right == -infinity ? band % 2 == 1 : lower_left < upper_right;
    if constexpr (guided) right = guide.moves_right(band);
    at.first_kmer += right ? 1 : 0;
    at.last_event += right ? 0 : 1;
    const std::int32_t lowest_block = (at.first_kmer - 1) >> 2;
    const std::int32_t block = block_of_lane(lowest_block, this_lane);
    const std::int32_t own_first = slots_per_lane * block;
    if (inner == 0) {
      fill_edge_band<width>(lane, read, band, at, own_first, this_lane, place.lane_before, transition, common.trim, end);
      ++band;
      ++wide_bands;
      continue;
    }

    const std::int32_t lowest_staged = band - 2 - at.first_kmer - 1 - slots;
    float lowest_event = infinity;
    float highest_event = -infinity;
    for (std::int32_t i = this_lane; i < inner + slots + spare_events; i += warp_lanes) {
      const std::int32_t event = lowest_staged + i;
      const float mean = read.events[min(max(event, 0), read.event_count - 1)];
      stage.events[i] = mean;
      const bool met = event > at.last_event - width && event <= at.last_event + inner;
      lowest_event = met ? fminf(lowest_event, mean) : lowest_event;
      highest_event = met ? fmaxf(highest_event, mean) : highest_event;
    }
    lowest_event = value_of_order(__reduce_min_sync(whole_warp, order_of(lowest_event)));
    highest_event = value_of_order(__reduce_max_sync(whole_warp, order_of(highest_event)));
    Arithmetic arithmetic = Arithmetic::wide;
    if constexpr (form != FillForm::wide) arithmetic = arithmetic_of_stretch<width>(lane, narrow, lowest_event, highest_event, facts.ranges, inner);
    if (waypoint_count < warp_lanes - 1 && band >= (waypoint_count + 1) * waypoint_distance) {
      // The slots of the band before are those of this band, but for the lane that the band has just left.
      keep_waypoint(lane, this_lane, band - 1, (at.first_kmer - (right ? 1 : 0)) >> 2, waypoints[waypoint_count]);
      ++waypoint_count;
    }

    place.first_kmer = at.first_kmer;
    place.offset = at.first_kmer - own_first;
    place.first_block = at.first_kmer >> 2;
    place.last_block = (at.first_kmer + width - 1) >> 2;
    show_ends(place, at.first_kmer & (slots_per_lane - 1));
    load_levels(lane, read.levels + own_first);
#pragma unroll
    for (int slot = 0; slot < slots_per_lane; ++slot) {
      const std::int32_t offset = own_first + slot - at.first_kmer;
      lane.level[slot].peak = offset < 0 ? -infinity : lane.level[slot].peak;
      lane.skip[slot] = offset < width ? transition.narrow_skip : -infinity;
    }
    // Levels that the band may meet, into the nearest cache: a lane that waits for its levels stops the whole warp.
    const std::int32_t level_ahead = slots_per_lane * (lowest_block + warp_lanes) + levels_per_line * this_lane;
    if (levels_per_line * this_lane < inner && level_ahead < read.kmer_count)
      asm volatile("prefetch.global.L1 [%0];" ::"l"(read.levels + level_ahead));
    __syncwarp();
    place.staged_event = stage.events + (band - 2 - own_first - lowest_staged);
#pragma unroll
    for (int slot = 0; slot < slots_per_lane; ++slot) lane.event[3 - slot] = place.staged_event[-slot];
    ++place.staged_event;
    find_emissions(lane);

    std::uint32_t* const trace_row = read.traces + std::int64_t{band / bands_per_row} * row_lanes + this_lane;
    if (form == FillForm::mixed && arithmetic == Arithmetic::narrow) {
      fill_narrow_bands<guided>(lane, place, transition, read.levels, trace_row, inner, guide, band + 1);
      narrow_bands += inner;
    } else {
      fill_careful_bands<form, guided>(lane, place, transition, read.levels, trace_row, inner, arithmetic, repeated_bands, guide, band + 1);
      (arithmetic == Arithmetic::checked ? checked_bands : wide_bands) += inner;
    }
    at.first_kmer = place.first_kmer;
    band += inner;
    at.last_event = band - 1 - 2 - at.first_kmer;
    __syncwarp();
  }

  report.end_event = __shfl_sync(whole_warp, end.event, ((read.kmer_count - 1) >> 2) & (warp_lanes - 1));
  report.narrow = narrow_bands;
  report.checked = checked_bands;
  report.repeated = repeated_bands;
  report.wide = wide_bands;
}

}  // namespace sluice::abea::cuda
