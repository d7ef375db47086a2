// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: the bands of a stretch, filled in registers.
//
// A cell's neighbours are the slot itself and the slot before it, one shuffle per band serves all of them, and the events of a lane slide by one per
// band. Of 128 slots 100 belong to the band; the others hold minus infinity: below the band because no emission is finite there, above it because no
// skip is. The slot just above it may get a score all the same, from the band's last cell: its level is ready for the next band. Such scores never
// leave their lane, and a slot forgets its score when it enters the band.
//
// The loops are short, and there is one copy of each: the warps of a multiprocessor are at different places of different loops, and what does not fit
// into its instruction caches costs more than the instructions themselves. (One copy per position of the band within a lane saves the selection of
// the scores at the band's ends, five instructions of 84 per band; two of its copies, 12 KB, ran at 0.58 instructions a cycle, four, 29 KB, at 0.32.)

#include "abea/cuda_reads.cuh"

namespace sluice::abea::cuda {

struct ReadTransitions {
  double stay, step, skip;
  float away_stay, away_step, narrow_skip;  // see sum_with_emission
};

// The four slots of a lane.
struct Lane {
  Level level[slots_per_lane];     // peak is minus infinity below the band: no score can come out of such a slot
  float skip[slots_per_lane];      // narrow_skip, minus infinity above the band: nor can one get into such a slot from the one before
  float emission[slots_per_lane];  // of the next band
  float diagonal[slots_per_lane];  // of the next band: its scores when reached from the k-mer and the event before. In narrow bands only
  float score[2][slots_per_lane];  // of the last band but one (not kept in narrow bands) and of the last band
  float before[2];                 // the score of the slot before the first one, likewise
  float event[slots_per_lane];     // [3] is that of slot 0 in the next band, [2] of slot 1, ...
  std::uint32_t trace;             // the last bands, two bits per slot and eight per band, newest last
};

// Rounds a score plus an emission plus a transition as the method does, in two instructions. narrow_arithmetic.hpp rounds emission + transition to
// odd: what decides the rounded sum is only between which two even multiples of its unit in the last place (ulp) the inner sum lies. Here the inner
// sum is rounded away from zero, from a transition one quantum further from zero than the cut one, which gives the multiple of the ulp just beyond
// the exact sum. Times 1 - 2^-24 that is half an ulp to one ulp nearer to zero, hence again strictly between the same even multiples (at a power of
// two, where the ulp halves, it is the odd multiple between them). The product is exact inside the fused multiply-add. Emissions of minus infinity
// stay so.
__device__ __forceinline__ float sum_with_emission(float score, float emission, float away_transition) {
  return __fmaf_rn(__fadd_rd(emission, away_transition), 1.0F - 0x1p-24F, score);
}
constexpr float transition_quantum = 0x1p-23F;  // to which narrow_stay and narrow_step are cut

struct Cell {
  float score;
  bool not_from_above;
  bool not_from_left;
};

// As the method is written.
__device__ __forceinline__ Cell wide_cell(float diagonal_score, float up_score, float left_score, float emission, const ReadTransitions& transition) {
  const double log_likelihood = emission;
  const float diagonal = __double2float_rn(__dadd_rn(__dadd_rn(diagonal_score, transition.step), log_likelihood));
  const float up = __double2float_rn(__dadd_rn(__dadd_rn(up_score, transition.stay), log_likelihood));
  const float left = __double2float_rn(__dadd_rn(left_score, transition.skip));
  const float with_emission = up > diagonal ? up : diagonal;
  const float best = left > with_emission ? left : with_emission;
  return {best, !(with_emission == up), !(best == left)};
}

__device__ __forceinline__ std::uint32_t push_sign(std::uint32_t bits, float value) { return __funnelshift_l(__float_as_uint(value), bits, 1); }
__device__ __forceinline__ std::uint32_t push_bit(std::uint32_t bits, bool bit) { return bits << 1 | (bit ? 1U : 0U); }

// The highest of three scores, all of them below zero (minus infinity included): as integers their order is reversed, and there is an instruction for
// the smallest of three. As text, because the compiler keeps a value in two registers when it is used as a float and as an integer.
__device__ __forceinline__ float highest_of(float a, float b, float c) {
  float highest;
  asm("{\n\t.reg .b32 ba, bb, bc;\n\tmov.b32 ba, %1;\n\tmov.b32 bb, %2;\n\tmov.b32 bc, %3;\n\t"
      "min.u32 ba, ba, bb;\n\tmin.u32 ba, ba, bc;\n\tmov.b32 %0, ba;\n\t}"
      : "=f"(highest)
      : "f"(a), "f"(b), "f"(c));
  return highest;
}

// What a cell is made of. Slots are template parameters throughout, never loop variables: the compiler unrolls such loops too late to keep the lane
// in registers.
template <int slot>
struct Neighbours {
  float diagonal, up, left;
  __device__ __forceinline__ explicit Neighbours(const Lane& lane) : up(lane.score[1][slot]) {
    if constexpr (slot == 0) {
      left = lane.before[1];
      diagonal = lane.before[0];
    } else {
      left = lane.score[1][slot - 1];
      diagonal = lane.score[0][slot - 1];
    }
  }
};

struct FreshCells {
  float first, second, third, fourth;
};

template <int slot>
__device__ __forceinline__ float fill_cell_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  const Neighbours<slot> from(lane);
  const Cell cell = wide_cell(from.diagonal, from.up, from.left, lane.emission[slot], transition);
  trace = push_bit(push_bit(trace, cell.not_from_above), cell.not_from_left);
  return cell.score;
}

__device__ __forceinline__ FreshCells fill_cells_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  FreshCells fresh;
  fresh.fourth = fill_cell_wide<3>(lane, transition, trace);
  fresh.third = fill_cell_wide<2>(lane, transition, trace);
  fresh.second = fill_cell_wide<1>(lane, transition, trace);
  fresh.first = fill_cell_wide<0>(lane, transition, trace);
  return fresh;
}

// A narrow sum is exact when it is at least four times as large as what is added to the score (narrow_arithmetic.hpp, 1.), or does not matter when
// the way from the left is better by more than it can be wrong. 4 |emission + transition| < 4 |emission| + 8.
constexpr float margin_over_skip = 36.0F;  // 12.0 and more over a skip of -23.03

// `doubtful` becomes true when the cell may be rounded wrongly. Above the band, where the margin is minus infinity, nothing matters.
template <int slot>
__device__ __forceinline__ float fill_cell_checked(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& doubtful) {
  const Neighbours<slot> from(lane);
  const float emission = lane.emission[slot];
  const float diagonal = sum_with_emission(from.diagonal, emission, transition.away_step);
  const float up = sum_with_emission(from.up, emission, transition.away_stay);
  const float left = __fadd_rn(from.left, lane.skip[slot]);
  const float with_emission = fmaxf(diagonal, up);
  const float advantage_of_left = __fsub_rn(left, with_emission);
  trace = push_sign(trace, __fsub_rn(up, diagonal));
  trace = push_sign(trace, advantage_of_left);
  // NaN where there is no score: not in doubt.
  const float margin = fmaxf(__fmaf_rn(4.0F, emission, -with_emission), advantage_of_left);
  doubtful = doubtful || margin < __fadd_rn(lane.skip[slot], margin_over_skip);
  return fmaxf(with_emission, left);
}

__device__ __forceinline__ FreshCells fill_cells_checked(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& doubtful) {
  FreshCells fresh;
  fresh.fourth = fill_cell_checked<3>(lane, transition, trace, doubtful);
  fresh.third = fill_cell_checked<2>(lane, transition, trace, doubtful);
  fresh.second = fill_cell_checked<1>(lane, transition, trace, doubtful);
  fresh.first = fill_cell_checked<0>(lane, transition, trace, doubtful);
  return fresh;
}

// Which way bands move where the scores do not decide it (abea.hpp): in words of half the size, which the device reads faster.
struct Guide {
  const std::uint32_t* __restrict__ words;
  __device__ __forceinline__ bool moves_right(std::int32_t band) const { return (__ldg(words + (band >> 5)) >> (band & 31) & 1U) != 0; }
};

// Where the band lies. Shuffles take lane numbers modulo 32, so that blocks of four k-mers serve as lane numbers.
struct BandPlace {
  std::int32_t first_kmer;
  std::int32_t first_block;   // first k-mer / 4
  std::int32_t last_block;    // last k-mer / 4
  std::int32_t offset;        // from the k-mer of this lane's slot 0 to the first one: above -128
  std::uint32_t odd, high;    // bits of the slot that this lane shows to the others, as masks
  std::int32_t lane_before;   // the lane with the slots before this one's
  const float* staged_event;  // the event of slot 0 in the band after the next one
};

// The lane of the band's first cell shows that one, the lane of its last cell that one; they are never the same. phase: first k-mer modulo 4, and the
// offset too.
__device__ __forceinline__ void show_ends(BandPlace& place, std::int32_t phase) {
  const std::uint32_t after_first = static_cast<std::uint32_t>(place.offset >> 31);
  const auto slot = static_cast<std::uint32_t>(phase) - (after_first & 1U);
  place.odd = 0U - (slot & 1U);
  place.high = 0U - (slot >> 1 & 1U);
}

// As text, because the compiler keeps conditions that live long in registers, not in predicates.
__device__ __forceinline__ float selected(float clear, float set, std::uint32_t mask) {
  float result;
  asm("{\n\t.reg .b32 bc, bs, br;\n\tmov.b32 bc, %1;\n\tmov.b32 bs, %2;\n\t"
      "lop3.b32 br, bs, bc, %3, 0xE4;\n\tmov.b32 %0, br;\n\t}"
      : "=f"(result)
      : "f"(clear), "f"(set), "r"(mask));
  return result;
}

__device__ __forceinline__ float shown(const FreshCells& fresh, const BandPlace& place) {
  return selected(selected(fresh.first, fresh.second, place.odd), selected(fresh.third, fresh.fourth, place.odd), place.high);
}

__device__ __forceinline__ void load_levels(Lane& lane, const Level* own) {
  lane.level[0] = own[0];
  lane.level[1] = own[1];
  lane.level[2] = own[2];
  lane.level[3] = own[3];
}

__device__ __forceinline__ void find_emissions(Lane& lane) {
  lane.emission[0] = emission_of_level(lane.event[3], lane.level[0]);
  lane.emission[1] = emission_of_level(lane.event[2], lane.level[1]);
  lane.emission[2] = emission_of_level(lane.event[1], lane.level[2]);
  lane.emission[3] = emission_of_level(lane.event[0], lane.level[3]);
}

// From the scores of the last band but one, for the band of which the emissions are known.
__device__ __forceinline__ void find_diagonals(Lane& lane, float before, const float* score, const ReadTransitions& transition) {
  lane.diagonal[0] = sum_with_emission(before, lane.emission[0], transition.away_step);
  lane.diagonal[1] = sum_with_emission(score[0], lane.emission[1], transition.away_step);
  lane.diagonal[2] = sum_with_emission(score[1], lane.emission[2], transition.away_step);
  lane.diagonal[3] = sum_with_emission(score[2], lane.emission[3], transition.away_step);
}

// From this phase on: the slot with the band's first cell leaves it below, the one above it enters.
template <std::int32_t width, int phase>
__device__ __forceinline__ void move_slots(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels) {
  if (place.offset == phase) lane.level[phase].peak = lane.emission[phase] = lane.diagonal[phase] = -infinity;
  if (place.offset == phase - width) {
    lane.skip[phase] = transition.narrow_skip;
    lane.score[1][phase] = -infinity;
  }
  if constexpr (phase == 0) {
    // The four slots before the first block's, all below the band for two bands, become the highest ones, 24 k-mers above a band of 100.
    if (place.offset == slots_per_lane) {
      place.offset -= slots;
      place.staged_event -= slots;
      load_levels(lane, levels + (place.first_kmer - place.offset));
      lane.skip[0] = lane.skip[1] = lane.skip[2] = lane.skip[3] = -infinity;
    }
    ++place.last_block;
  }
  if constexpr (phase == slots_per_lane - 1) ++place.first_block;
  ++place.first_kmer;
  ++place.offset;
  show_ends(place, (phase + 1) % slots_per_lane);
}

template <std::int32_t width>
__device__ __forceinline__ void move_right(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels) {
  switch (place.first_kmer & (slots_per_lane - 1)) {
    case 0:
      move_slots<width, 0>(lane, place, transition, levels);
      return;
    case 1:
      move_slots<width, 1>(lane, place, transition, levels);
      return;
    case 2:
      move_slots<width, 2>(lane, place, transition, levels);
      return;
    default:
      move_slots<width, 3>(lane, place, transition, levels);
  }
}

// The next event of each lane and the emissions of the band after this one, which do not depend on where that lies: they hide the latency of the
// shuffles.
__device__ __forceinline__ void meet_next_events(Lane& lane, const BandPlace& place, int step) {
  lane.event[0] = lane.event[1];
  lane.event[1] = lane.event[2];
  lane.event[2] = lane.event[3];
  lane.event[3] = place.staged_event[step];
  find_emissions(lane);
}

template <int slot>
__device__ __forceinline__ float fill_cell_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  const float up = sum_with_emission(lane.score[1][slot], lane.emission[slot], transition.away_stay);
  const float left = __fadd_rn(slot == 0 ? lane.before[1] : lane.score[1][(slot + 3) & 3], lane.skip[slot]);
  const float best = highest_of(lane.diagonal[slot], up, left);
  // The sign of a difference is exact. Two instructions per bit on two different pipes; comparing and selecting would use the busier one twice.
  trace = push_sign(trace, __fsub_rn(up, lane.diagonal[slot]));
  trace = push_sign(trace, __fsub_rn(left, best));
  return best;
}

__device__ __forceinline__ FreshCells fill_cells_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  FreshCells fresh;
  fresh.fourth = fill_cell_narrow<3>(lane, transition, trace);
  fresh.third = fill_cell_narrow<2>(lane, transition, trace);
  fresh.second = fill_cell_narrow<1>(lane, transition, trace);
  fresh.first = fill_cell_narrow<0>(lane, transition, trace);
  return fresh;
}

// Fills a band; true when its successor lies to the right (the Suzuki-Kasahara rule; a guided band asks its guide instead). The diagonals of the next
// band are found here, while the scores that they start from are still known: each slot then holds one score, which the next band overwrites. Narrow
// scores all lie below narrow_skip.
template <bool guided>
__device__ __forceinline__ bool fill_narrow_band(Lane& lane, const BandPlace& place, const ReadTransitions& transition, int step) {
  const FreshCells fresh = fill_cells_narrow(lane, transition, lane.trace);
  float lower_left = 0.0F, upper_right = 0.0F;
  if constexpr (!guided) {
    const float own_end = shown(fresh, place);
    lower_left = __shfl_sync(whole_warp, own_end, place.first_block);
    upper_right = __shfl_sync(whole_warp, own_end, place.last_block);
  }
  const float before = __shfl_sync(whole_warp, fminf(fresh.fourth, lane.skip[3]), place.lane_before);
  meet_next_events(lane, place, step);
  find_diagonals(lane, lane.before[1], lane.score[1], transition);
  lane.score[1][0] = fresh.first;
  lane.score[1][1] = fresh.second;
  lane.score[1][2] = fresh.third;
  lane.score[1][3] = fresh.fourth;
  lane.before[1] = before;
  return lower_left < upper_right;
}

// The last band of a narrow stretch: both of the last two bands' scores are kept, and what follows is not looked at.
__device__ __forceinline__ void fill_last_narrow_band(Lane& lane, const BandPlace& place, const ReadTransitions& transition) {
  const FreshCells fresh = fill_cells_narrow(lane, transition, lane.trace);
  lane.score[0][0] = fminf(lane.score[1][0], lane.skip[0]);
  lane.score[0][1] = fminf(lane.score[1][1], lane.skip[1]);
  lane.score[0][2] = fminf(lane.score[1][2], lane.skip[2]);
  lane.score[0][3] = fminf(lane.score[1][3], lane.skip[3]);
  lane.before[0] = lane.before[1];
  lane.score[1][0] = fminf(fresh.first, lane.skip[0]);
  lane.score[1][1] = fminf(fresh.second, lane.skip[1]);
  lane.score[1][2] = fminf(fresh.third, lane.skip[2]);
  lane.score[1][3] = fminf(fresh.fourth, lane.skip[3]);
  lane.before[1] = __shfl_sync(whole_warp, lane.score[1][3], place.lane_before);
}

// A stretch of inner bands that fills whole trace rows, for which lane and place are prepared. trace_row: this lane's in the first row.
template <bool guided>
__device__ __forceinline__ void fill_narrow_bands(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                  std::uint32_t* trace_row, std::int32_t band_count, Guide guide, std::int32_t next_band) {
  constexpr std::int32_t width = guided ? guided_band_width : band_width;
  find_diagonals(lane, lane.before[0], lane.score[0], transition);
  for (std::int32_t rounds = band_count / 2;;) {
    bool right = fill_narrow_band<guided>(lane, place, transition, 0);
    if constexpr (guided) right = guide.moves_right(next_band++);
    if (right) move_right<width>(lane, place, transition, levels);
    if (--rounds == 0) break;
    right = fill_narrow_band<guided>(lane, place, transition, 1);
    if constexpr (guided) right = guide.moves_right(next_band++);
    place.staged_event += 2;
    if (rounds % 2 == 0) {
      *trace_row = lane.trace;
      trace_row += row_lanes;
    }
    if (right) move_right<width>(lane, place, transition, levels);
  }
  fill_last_narrow_band(lane, place, transition);
  *trace_row = lane.trace;
}

// The same for bands with a check of each cell, and those with a cell in doubt, or all of them (Arithmetic::wide), in double precision.
template <FillForm form, bool guided>
__device__ __forceinline__ void fill_careful_bands(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                   std::uint32_t* trace_row, std::int32_t band_count, Arithmetic arithmetic, std::int32_t& repeated,
                                                   Guide guide, std::int32_t next_band) {
#pragma unroll 1
  for (std::int32_t band = 0; band < band_count; ++band) {
    std::uint32_t trace = lane.trace;
    FreshCells fresh;
    bool in_double = true;
    if constexpr (form != FillForm::wide) {
      if (arithmetic == Arithmetic::checked) {
        bool doubtful = false;
        fresh = fill_cells_checked(lane, transition, trace, doubtful);
        in_double = __any_sync(whole_warp, doubtful);
        if (in_double) ++repeated;
      }
    }
    if (in_double) {
      trace = lane.trace;
      fresh = fill_cells_wide(lane, transition, trace);
    }
    lane.trace = trace;
    const float own_end = shown(fresh, place);
    const float lower_left = __shfl_sync(whole_warp, own_end, place.first_block);
    const float upper_right = __shfl_sync(whole_warp, own_end, place.last_block);
    const float last = lane.skip[3] == -infinity ? -infinity : fresh.fourth;
    lane.score[0][0] = lane.score[1][0];
    lane.score[0][1] = lane.score[1][1];
    lane.score[0][2] = lane.score[1][2];
    lane.score[0][3] = lane.score[1][3];
    lane.before[0] = lane.before[1];
    lane.score[1][0] = fresh.first;
    lane.score[1][1] = fresh.second;
    lane.score[1][2] = fresh.third;
    lane.score[1][3] = fresh.fourth;
    lane.before[1] = __shfl_sync(whole_warp, last, place.lane_before);
    meet_next_events(lane, place, 0);
    ++place.staged_event;
    if (band % bands_per_row == bands_per_row - 1) {
      *trace_row = lane.trace;
      trace_row += row_lanes;
      if (band == band_count - 1) break;
    }
    const bool successor_is_odd = band % 2 == 0;
    bool right = lower_left < upper_right || (lower_left == -infinity && upper_right == -infinity && successor_is_odd);
    if constexpr (guided) right = guide.moves_right(next_band + band);
    if (right) move_right<guided ? guided_band_width : band_width>(lane, place, transition, levels);
  }
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) {
    const bool above = lane.skip[slot] == -infinity;
    lane.score[0][slot] = above ? -infinity : lane.score[0][slot];
    lane.score[1][slot] = above ? -infinity : lane.score[1][slot];
  }
}

}  // namespace sluice::abea::cuda
