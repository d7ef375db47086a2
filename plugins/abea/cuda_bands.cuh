// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Private to the CUDA implementation: the bands of a stretch, filled in registers.
//
// A cell's neighbours are the slot itself and the slot before it, one shuffle per band serves all of them, and the events of a lane slide by one per
// band. Of 128 slots 100 belong to the band; the others hold minus infinity: below the band because no emission is finite there, above it because no
// skip is, and the slot just above it is cut down after each band.
//
// Which of a lane's four slots is the first of the band (the phase: first k-mer modulo 4) is known at compile time: there is one copy of the loop per
// phase, and moving right jumps to the next copy.

#include "abea/cuda_reads.cuh"

namespace sluice::abea::cuda {

struct ReadTransitions {
  double stay, step, skip;
  float away_stay, away_step, narrow_skip;  // see sum_with_emission
};

// The four slots of a lane.
struct Lane {
  Level level[slots_per_lane];     // peak is minus infinity below the band: no score can come out of such a slot
  float skip[slots_per_lane];      // narrow_skip, minus infinity above the band: nor can one get into such a slot
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
constexpr float exactness_margin = 12.0F;
constexpr float margin_over_skip = 36.0F;  // skip is -23.03, and minus infinity above the band

// `doubtful` becomes true when the cell may be rounded wrongly. In the slot above the band nothing matters.
template <int slot, int phase>
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
  if constexpr (slot == phase) {
    doubtful = doubtful || margin < __fadd_rn(lane.skip[slot], margin_over_skip);
  } else {
    doubtful = doubtful || margin < exactness_margin;
  }
  return fmaxf(with_emission, left);
}

template <int phase>
__device__ __forceinline__ FreshCells fill_cells_checked(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& doubtful) {
  FreshCells fresh;
  fresh.fourth = fill_cell_checked<3, phase>(lane, transition, trace, doubtful);
  fresh.third = fill_cell_checked<2, phase>(lane, transition, trace, doubtful);
  fresh.second = fill_cell_checked<1, phase>(lane, transition, trace, doubtful);
  fresh.first = fill_cell_checked<0, phase>(lane, transition, trace, doubtful);
  return fresh;
}

// The slot above the band may get a score from the band's last cell: its own level is ready for the band. Narrow scores all lie below narrow_skip.
template <Arithmetic arithmetic, int phase>
__device__ __forceinline__ void cut_above(FreshCells& fresh, const Lane& lane) {
  float& score = phase == 0 ? fresh.first : phase == 1 ? fresh.second : phase == 2 ? fresh.third : fresh.fourth;
  if constexpr (arithmetic == Arithmetic::wide) {
    score = lane.skip[phase] == -infinity ? -infinity : score;
  } else {
    score = fminf(score, lane.skip[phase]);
  }
}

// Where the band lies. Shuffles take lane numbers modulo 32, so that blocks of four k-mers serve as lane numbers.
struct BandPlace {
  std::int32_t first_block;   // first k-mer / 4
  std::int32_t last_block;    // last k-mer / 4
  std::int32_t block;         // this lane's slots hold the k-mers from 4 * block on
  std::int32_t lane_before;   // the lane with the slots before this one's
  const float* staged_event;  // the event of slot 0 in the band after the next one
};

__device__ __forceinline__ void load_levels(Lane& lane, const Level* own) {
  lane.level[0] = own[0];
  lane.level[1] = own[1];
  lane.level[2] = own[2];
  lane.level[3] = own[3];
}

// From the event of slot 0 down; the events of a lane are a ring when the loop over bands has four copies.
template <int newest>
__device__ __forceinline__ void find_emissions(Lane& lane) {
  lane.emission[0] = emission_of_level(lane.event[newest], lane.level[0]);
  lane.emission[1] = emission_of_level(lane.event[(newest + 3) % slots_per_lane], lane.level[1]);
  lane.emission[2] = emission_of_level(lane.event[(newest + 2) % slots_per_lane], lane.level[2]);
  lane.emission[3] = emission_of_level(lane.event[(newest + 1) % slots_per_lane], lane.level[3]);
}

// From the scores of the last band but one, for the band of which the emissions are known.
__device__ __forceinline__ void find_diagonals(Lane& lane, float before, const float* score, const ReadTransitions& transition) {
  lane.diagonal[0] = sum_with_emission(before, lane.emission[0], transition.away_step);
  lane.diagonal[1] = sum_with_emission(score[0], lane.emission[1], transition.away_step);
  lane.diagonal[2] = sum_with_emission(score[1], lane.emission[2], transition.away_step);
  lane.diagonal[3] = sum_with_emission(score[2], lane.emission[3], transition.away_step);
}

// From this phase to the next one: a slot leaves the band below, another one enters it above.
template <int phase>
__device__ __forceinline__ void move_right(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels) {
  if (place.block == place.first_block) lane.level[phase].peak = lane.emission[phase] = lane.diagonal[phase] = -infinity;
  if (place.block == place.first_block + band_blocks) lane.skip[phase] = transition.narrow_skip;
  if constexpr (phase == 0) {
    // The four slots before the first block's, all below the band for two bands, become the highest ones, 24 k-mers above the band.
    if (place.block == place.first_block - 1) {
      place.block += warp_lanes;
      place.staged_event -= slots;
      load_levels(lane, levels + std::int64_t{slots_per_lane} * place.block);
      lane.skip[0] = lane.skip[1] = lane.skip[2] = lane.skip[3] = -infinity;
    }
    ++place.last_block;
  }
  if constexpr (phase == 3) ++place.first_block;
}

// The next event of each lane and the emissions of the band after this one. `step`: which copy of the loop's body this is.
template <int step, int steps>
__device__ __forceinline__ void meet_next_events(Lane& lane, BandPlace& place) {
  if constexpr (steps == slots_per_lane) {
    lane.event[step] = place.staged_event[step];
    find_emissions<step>(lane);
  } else {
    lane.event[0] = lane.event[1];
    lane.event[1] = lane.event[2];
    lane.event[2] = lane.event[3];
    lane.event[3] = place.staged_event[step];
    find_emissions<3>(lane);
  }
  if constexpr (step == steps - 1) place.staged_event += steps;
}

// Fills a band and finds its successor's emissions, which do not depend on where that lies: they hide the latency of the shuffles. True when the
// successor lies to the right (the Suzuki-Kasahara rule).
template <Arithmetic arithmetic, int phase, int step, int steps>
__device__ __forceinline__ bool fill_band(Lane& lane, BandPlace& place, const ReadTransitions& transition, std::int32_t& repeated,
                                          bool successor_is_odd) {
  FreshCells fresh;
  if constexpr (arithmetic == Arithmetic::wide) {
    fresh = fill_cells_wide(lane, transition, lane.trace);
    cut_above<Arithmetic::wide, phase>(fresh, lane);
  } else {
    std::uint32_t trace = lane.trace;
    bool doubtful = false;
    fresh = fill_cells_checked<phase>(lane, transition, trace, doubtful);
    if (__any_sync(whole_warp, doubtful)) {
      trace = lane.trace;
      fresh = fill_cells_wide(lane, transition, trace);
      ++repeated;
    }
    cut_above<Arithmetic::checked, phase>(fresh, lane);
    lane.trace = trace;
  }
  lane.score[0][0] = lane.score[1][0];
  lane.score[0][1] = lane.score[1][1];
  lane.score[0][2] = lane.score[1][2];
  lane.score[0][3] = lane.score[1][3];
  lane.before[0] = lane.before[1];
  lane.score[1][0] = fresh.first;
  lane.score[1][1] = fresh.second;
  lane.score[1][2] = fresh.third;
  lane.score[1][3] = fresh.fourth;
  lane.before[1] = __shfl_sync(whole_warp, fresh.fourth, place.lane_before);
  const float lower_left = __shfl_sync(whole_warp, lane.score[1][phase], place.first_block);
  const float upper_right = __shfl_sync(whole_warp, lane.score[1][(phase + 3) & 3], place.last_block);
  meet_next_events<step, steps>(lane, place);
  bool right = lower_left < upper_right;
  if constexpr (arithmetic == Arithmetic::wide) right = right || (lower_left == -infinity && upper_right == -infinity && successor_is_odd);
  return right;
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

// The same for narrow bands. The diagonals of the next band are found here, while the scores that they start from are still known: each slot then
// holds one score, which the next band overwrites, and none is ever moved.
template <int phase, int step, int steps>
__device__ __forceinline__ bool fill_narrow_band(Lane& lane, BandPlace& place, const ReadTransitions& transition) {
  FreshCells fresh = fill_cells_narrow(lane, transition, lane.trace);
  cut_above<Arithmetic::narrow, phase>(fresh, lane);
  const float before = __shfl_sync(whole_warp, fresh.fourth, place.lane_before);
  const float lower_left = __shfl_sync(whole_warp,
                                       phase == 0   ? fresh.first
                                       : phase == 1 ? fresh.second
                                       : phase == 2 ? fresh.third
                                                    : fresh.fourth,
                                       place.first_block);
  const float upper_right = __shfl_sync(whole_warp,
                                        phase == 0   ? fresh.fourth
                                        : phase == 1 ? fresh.first
                                        : phase == 2 ? fresh.second
                                                     : fresh.third,
                                        place.last_block);
  meet_next_events<step, steps>(lane, place);
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
  FreshCells fresh = fill_cells_narrow(lane, transition, lane.trace);
  lane.score[0][0] = lane.score[1][0];
  lane.score[0][1] = lane.score[1][1];
  lane.score[0][2] = lane.score[1][2];
  lane.score[0][3] = lane.score[1][3];
  lane.before[0] = lane.before[1];
  lane.score[1][0] = fminf(fresh.first, lane.skip[0]);
  lane.score[1][1] = fminf(fresh.second, lane.skip[1]);
  lane.score[1][2] = fminf(fresh.third, lane.skip[2]);
  lane.score[1][3] = fminf(fresh.fourth, lane.skip[3]);
  lane.before[1] = __shfl_sync(whole_warp, lane.score[1][3], place.lane_before);
}

// A stretch of inner bands, a multiple of four of them, from an even band on, for which lane and place are prepared. Returns the first k-mer of its
// last band. There is one copy of the loop per phase, and moving right jumps to the next copy.
#define SLUICE_BEGIN_AT_PHASE(first_kmer) \
  switch ((first_kmer)&3) {               \
    case 0:                               \
      goto band_0_0;                      \
    case 1:                               \
      goto band_1_0;                      \
    case 2:                               \
      goto band_2_0;                      \
    default:                              \
      goto band_3_0;                      \
  }

// Every second band completes a trace row.
#define SLUICE_BAND(phase, next_phase, step, next_step, steps)                                           \
  band_##phase##_##step : if constexpr (step == steps - 1) {                                             \
    if (--rounds == 0) return slots_per_lane * place.first_block + phase;                                \
  }                                                                                                      \
  right = fill_narrow_band<phase, step, steps>(lane, place, transition);                                 \
  if constexpr (step % 2 == 1) trace_row[step / 2 * row_lanes] = static_cast<std::uint16_t>(lane.trace); \
  if constexpr (step == steps - 1) trace_row += steps / 2 * row_lanes;                                   \
  if (!right) goto band_##phase##_##next_step;                                                           \
  move_right<phase>(lane, place, transition, levels);                                                    \
  goto band_##next_phase##_##next_step;

#define SLUICE_BANDS(phase, next_phase)   \
  SLUICE_BAND(phase, next_phase, 0, 1, 2) \
  SLUICE_BAND(phase, next_phase, 1, 0, 2)

__device__ __forceinline__ std::int32_t fill_narrow_bands_by_twos(Lane& lane, BandPlace& place, const ReadTransitions& transition,
                                                                  const Level* levels, std::int32_t first_kmer, std::uint16_t* trace_row,
                                                                  std::int32_t band_count) {
  std::int32_t rounds = band_count / 2;
  bool right;
  SLUICE_BEGIN_AT_PHASE(first_kmer)
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS

#define SLUICE_BANDS(phase, next_phase)   \
  SLUICE_BAND(phase, next_phase, 0, 1, 4) \
  SLUICE_BAND(phase, next_phase, 1, 2, 4) \
  SLUICE_BAND(phase, next_phase, 2, 3, 4) \
  SLUICE_BAND(phase, next_phase, 3, 0, 4)

__device__ __forceinline__ std::int32_t fill_narrow_bands_by_fours(Lane& lane, BandPlace& place, const ReadTransitions& transition,
                                                                   const Level* levels, std::int32_t first_kmer, std::uint16_t* trace_row,
                                                                   std::int32_t band_count) {
  std::int32_t rounds = band_count / 4;
  bool right;
  SLUICE_BEGIN_AT_PHASE(first_kmer)
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS
#undef SLUICE_BAND

#define SLUICE_BAND(phase, next_phase, step, next_step)                                                                \
  band_##phase##_##step : right = fill_band<arithmetic, phase, step, 2>(lane, place, transition, repeated, step == 0); \
  if constexpr (step == 1) {                                                                                           \
    *trace_row = static_cast<std::uint16_t>(lane.trace);                                                               \
    trace_row += row_lanes;                                                                                            \
    if (--rounds == 0) return slots_per_lane * place.first_block + phase;                                              \
  }                                                                                                                    \
  if (!right) goto band_##phase##_##next_step;                                                                         \
  move_right<phase>(lane, place, transition, levels);                                                                  \
  goto band_##next_phase##_##next_step;

#define SLUICE_BANDS(phase, next_phase) \
  SLUICE_BAND(phase, next_phase, 0, 1)  \
  SLUICE_BAND(phase, next_phase, 1, 0)

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_bands_by_twos(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                           std::int32_t first_kmer, std::uint16_t* trace_row, std::int32_t band_count,
                                                           std::int32_t& repeated) {
  std::int32_t rounds = band_count / 2;
  bool right;
  SLUICE_BEGIN_AT_PHASE(first_kmer)
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS
#undef SLUICE_BAND

#define SLUICE_BANDS(phase, next_phase)                                                                              \
  band_##phase##_0 : right = fill_band<arithmetic, phase, 0, 1>(lane, place, transition, repeated, (band & 1) == 0); \
  if ((++band & 1) == 0) {                                                                                           \
    *trace_row = static_cast<std::uint16_t>(lane.trace);                                                             \
    trace_row += row_lanes;                                                                                          \
    if (band == band_count) return slots_per_lane * place.first_block + phase;                                       \
  }                                                                                                                  \
  if (!right) goto band_##phase##_0;                                                                                 \
  move_right<phase>(lane, place, transition, levels);                                                                \
  goto band_##next_phase##_0;

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_bands_by_ones(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                           std::int32_t first_kmer, std::uint16_t* trace_row, std::int32_t band_count,
                                                           std::int32_t& repeated) {
  std::int32_t band = 0;
  bool right;
  SLUICE_BEGIN_AT_PHASE(first_kmer)
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS
#undef SLUICE_BEGIN_AT_PHASE

}  // namespace sluice::abea::cuda
