// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// One warp aligns one read. As on the CPU (band_fill.hpp), a cell belongs to its k-mer, whichever way the band moved: k-mer k lives in slot k modulo
// 128, four neighbouring slots to a lane. A cell's neighbours are then the slot itself and the slot before it, one shuffle per band serves all of
// them, and the events of a lane slide by one per band. Everything that a cell needs stays in registers.
//
// Of 128 slots 100 belong to the band; the others hold minus infinity: below the band because no emission is finite there, above it because no skip
// is, and the slot just above it is cut down after each band.
//
// Which of a lane's four slots is the first of the band (the phase: first k-mer modulo 4) is known at compile time: there is one copy of the loop per
// phase, and moving right jumps to the next copy.
//
// When the bands of a read are filled, the same warp walks back along its path, while other warps fill theirs.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "abea/cuda.hpp"
#include "abea/narrow_arithmetic.hpp"
#include "abea/transitions.hpp"

namespace sluice::abea::cuda {
namespace {

constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;
constexpr int warp_lanes = 32;
constexpr int warps_per_block = 4;
constexpr std::int32_t slots = 128;
constexpr std::int32_t slots_per_lane = 4;
constexpr std::int32_t band_blocks = band_width / slots_per_lane;  // lanes from the first cell of a band to the slot above it
static_assert(band_width % slots_per_lane == 0);

// The arithmetic is chosen anew after this many bands. Choosing costs about as much as one band.
constexpr std::int32_t stretch_bands = 128;
// Events that the slots meet in a stretch, those outside the band included: 128 slots and a slot more for each band. Lanes hold three from before,
// read two ahead, and begin up to four k-mers below the band.
constexpr std::int32_t spare_events = 16;
constexpr std::int32_t staged_events = stretch_bands + slots + spare_events;

// A trace row holds two bands: 16 bits per lane, the even band in the high byte, in each byte from the high bit down "not from above" and "not from
// the left" of slots 3, 2, 1, 0.
constexpr std::int32_t bands_per_row = 2;
constexpr std::int64_t row_lanes = 32;
constexpr std::int64_t row_bytes = row_lanes * static_cast<std::int64_t>(sizeof(std::uint16_t));

// Levels behind the last k-mer that lanes read but never use.
constexpr std::int64_t spare_levels = 64;

constexpr std::int64_t largest_band_count = std::int64_t{std::numeric_limits<std::int32_t>::max()} - 1024;

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

struct Workspace {
  unsigned long long* next_read;  // the queue of align_reads
  ReadFacts* facts;
  Level* levels;
  std::uint16_t* traces;
};

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Levels lie before traces: the traces have the size that is left.
struct WorkspaceLayout {
  std::size_t facts, levels;
  explicit constexpr WorkspaceLayout(std::size_t read_count) : facts(256), levels(facts + aligned(read_count * sizeof(ReadFacts))) {}
};

// Traces are addressed from the end of the levels, which trace_begin already counts.
Workspace workspace_of(const DeviceWork& work) {
  auto* const base = static_cast<std::byte*>(work.workspace);
  const WorkspaceLayout layout(static_cast<std::size_t>(work.read_count));
  return {reinterpret_cast<unsigned long long*>(base), reinterpret_cast<ReadFacts*>(base + layout.facts),
          reinterpret_cast<Level*>(base + layout.levels), reinterpret_cast<std::uint16_t*>(base + layout.levels)};
}

// Constants of every read.
struct CommonTransitions {
  double skip, trim;
  float narrow_skip;
};

CommonTransitions common_transitions() {
  const Transitions any = transitions(2, 1);
  return {any.skip, any.trim, round_to_odd(any.skip)};
}

// ----------------------------------------------------------------------------------------------------------------------------------------------
// levels

constexpr float infinity = std::numeric_limits<float>::infinity();

// Unsigned order of floats, for atomics: NaN has no place in it and is counted apart.
__device__ std::uint32_t order_of(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ float value_of_order(std::uint32_t order) { return __uint_as_float((order & 0x80000000U) != 0 ? order & 0x7FFFFFFFU : ~order); }

struct Extremes {
  std::uint32_t lowest, highest;
};

__device__ void widen(Extremes& shared, float lowest, float highest) {
  const std::uint32_t low = __reduce_min_sync(whole_warp, order_of(lowest));
  const std::uint32_t high = __reduce_max_sync(whole_warp, order_of(highest));
  if (threadIdx.x % warp_lanes == 0) {
    atomicMin(&shared.lowest, low);
    atomicMax(&shared.highest, high);
  }
}

constexpr int prepare_threads = 128;

__global__ void __launch_bounds__(prepare_threads)
    prepare_kernel(const ReadPlan* reads, Workspace workspace, DeviceBatch batch, DeviceModel model, DeviceAlignments alignments) {
  __shared__ Extremes means, stdvs, peaks;
  __shared__ int faults[3];  // a rank beyond the model, a level that is NaN, an event that is not moderate
  const std::int64_t index = blockIdx.x;
  const ReadPlan read = reads[index];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread == 0) {
    means = stdvs = peaks = {order_of(infinity), order_of(-infinity)};
    faults[0] = faults[1] = faults[2] = 0;
  }
  __syncthreads();
  AlignmentStatus status = read.status;
  if (status == AlignmentStatus::ok) {
    const float scale = batch.scale[read.row];
    const float shift = batch.shift[read.row];
    float lowest_mean = infinity, highest_mean = -infinity, lowest_stdv = infinity, highest_stdv = -infinity, lowest_peak = infinity,
          highest_peak = -infinity;
    bool beyond = false;
    bool unordered = false;
    Level* const levels = workspace.levels + read.level_begin;
    for (std::int32_t kmer = thread; kmer < read.kmer_count; kmer += prepare_threads) {
      const std::uint32_t rank = batch.kmer_ranks[read.kmer_begin + kmer];
      Level level = no_level;
      if (rank < model.row_count) {
        level.mean = __fadd_rn(__fmul_rn(scale, model.level_mean[rank]), shift);
        level.stdv = model.level_stdv[rank];
        level.inverse_stdv = __fdiv_rn(1.0F, level.stdv);
        level.peak = __fsub_rn(log_normal_constant, model.log_level_stdv[rank]);
      } else {
        beyond = true;
      }
      levels[kmer] = level;
      unordered |= !(level.mean == level.mean && level.stdv == level.stdv && level.peak == level.peak);
      lowest_mean = fminf(lowest_mean, level.mean);
      highest_mean = fmaxf(highest_mean, level.mean);
      lowest_stdv = fminf(lowest_stdv, level.stdv);
      highest_stdv = fmaxf(highest_stdv, level.stdv);
      lowest_peak = fminf(lowest_peak, level.peak);
      highest_peak = fmaxf(highest_peak, level.peak);
    }
    if (thread < spare_levels) levels[read.kmer_count + thread] = no_level;
    bool immoderate = false;
    for (std::int32_t event = thread; event < read.event_count; event += prepare_threads) {
      const float mean = batch.event_means[read.event_begin + event];
      immoderate |= !(mean > -0x1p20F && mean < 0x1p20F);
    }
    widen(means, lowest_mean, highest_mean);
    widen(stdvs, lowest_stdv, highest_stdv);
    widen(peaks, lowest_peak, highest_peak);
    if (beyond) faults[0] = 1;
    if (unordered) faults[1] = 1;
    if (immoderate) faults[2] = 1;
    __syncthreads();
    if (faults[0] != 0) status = AlignmentStatus::kmer_outside_model;
  }
  if (status != AlignmentStatus::ok) {
    for (std::int32_t kmer = thread; kmer < read.kmer_count; kmer += prepare_threads) {
      alignments.first_event[read.kmer_begin + kmer] = -1;
      alignments.last_event[read.kmer_begin + kmer] = -1;
    }
  }
  if (thread != 0) return;
  ReadFacts facts{};
  facts.ranges = {value_of_order(means.lowest),  value_of_order(means.highest), value_of_order(stdvs.lowest),
                  value_of_order(stdvs.highest), value_of_order(peaks.lowest),  value_of_order(peaks.highest)};
  facts.levels_are_moderate = faults[1] == 0 && faults[2] == 0 && levels_fit(facts.ranges);
  workspace.facts[index] = facts;
  alignments.status[read.row] = status;
  alignments.events_per_base[read.row] = 0.0;
  alignments.reports[read.row] = AlignmentReport{0.0, 0, -1, 0, 0, 0, 0, 0};
}

// -----------------------------------------------------------------------------------------------------------------------------------------------
// bands

struct ReadTransitions {
  double stay, step, skip;
  float away_stay, away_step, narrow_skip;  // see sum_with_emission
};

// The four slots of a lane. `turn` below is the band modulo 2; scores of a band overwrite those of two bands ago.
struct Lane {
  Level level[slots_per_lane];     // peak is minus infinity below the band: no score can come out of such a slot
  float skip[slots_per_lane];      // narrow_skip, minus infinity above the band: nor can one get into such a slot
  float emission[slots_per_lane];  // of the next band
  float score[2][slots_per_lane];  // [turn]
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

// Correctly rounded (narrow_arithmetic.hpp, 4.), for levels that fit.
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

// What a cell is made of. Slots are template parameters throughout, never loop variables: the compiler unrolls such loops too late to keep the lane
// in registers.
template <int turn, int slot>
struct Neighbours {
  float diagonal, up, left;
  __device__ __forceinline__ explicit Neighbours(const Lane& lane) : up(lane.score[1 - turn][slot]) {
    if constexpr (slot == 0) {
      left = lane.before[1 - turn];
      diagonal = lane.before[turn];
    } else {
      left = lane.score[1 - turn][slot - 1];
      diagonal = lane.score[turn][slot - 1];
    }
  }
};

template <int turn, int slot>
__device__ __forceinline__ float fill_cell_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  const Neighbours<turn, slot> from(lane);
  const Cell cell = wide_cell(from.diagonal, from.up, from.left, lane.emission[slot], transition);
  trace = push_bit(push_bit(trace, cell.not_from_above), cell.not_from_left);
  return cell.score;
}

// With `checked`, `exact` becomes false when the cell may be rounded wrongly (band_fill.cpp).
template <Arithmetic arithmetic, int turn, int slot>
__device__ __forceinline__ float fill_cell_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& exact) {
  const Neighbours<turn, slot> from(lane);
  const float emission = lane.emission[slot];
  const float diagonal = sum_with_emission(from.diagonal, emission, transition.away_step);
  const float up = sum_with_emission(from.up, emission, transition.away_stay);
  const float left = __fadd_rn(from.left, lane.skip[slot]);
  const float with_emission = fmaxf(diagonal, up);
  // The sign of a difference is exact. Two instructions per bit on two different pipes; comparing and selecting would use the busier one twice.
  trace = push_sign(trace, __fsub_rn(up, diagonal));
  trace = push_sign(trace, __fsub_rn(left, with_emission));
  if constexpr (arithmetic == Arithmetic::checked) {
    const float bound = fmaxf(__fmaf_rn(4.0F, emission, -12.0F), __fadd_rn(from.left, transition.narrow_skip - 4.0F));
    exact = exact && with_emission <= bound;
  }
  return fmaxf(with_emission, left);
}

struct FreshCells {
  float first, second, third, fourth;
};

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

template <int phase, int turn>
__device__ __forceinline__ FreshCells fill_cells_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  FreshCells fresh;
  fresh.fourth = fill_cell_wide<turn, 3>(lane, transition, trace);
  fresh.third = fill_cell_wide<turn, 2>(lane, transition, trace);
  fresh.second = fill_cell_wide<turn, 1>(lane, transition, trace);
  fresh.first = fill_cell_wide<turn, 0>(lane, transition, trace);
  cut_above<Arithmetic::wide, phase>(fresh, lane);
  return fresh;
}

template <Arithmetic arithmetic, int phase, int turn>
__device__ __forceinline__ FreshCells fill_cells_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& exact) {
  FreshCells fresh;
  fresh.fourth = fill_cell_narrow<arithmetic, turn, 3>(lane, transition, trace, exact);
  fresh.third = fill_cell_narrow<arithmetic, turn, 2>(lane, transition, trace, exact);
  fresh.second = fill_cell_narrow<arithmetic, turn, 1>(lane, transition, trace, exact);
  fresh.first = fill_cell_narrow<arithmetic, turn, 0>(lane, transition, trace, exact);
  cut_above<arithmetic, phase>(fresh, lane);
  return fresh;
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

__device__ __forceinline__ void find_emissions(Lane& lane) {
  lane.emission[0] = emission_of_level(lane.event[3], lane.level[0]);
  lane.emission[1] = emission_of_level(lane.event[2], lane.level[1]);
  lane.emission[2] = emission_of_level(lane.event[1], lane.level[2]);
  lane.emission[3] = emission_of_level(lane.event[0], lane.level[3]);
}

// From this phase to the next one: a slot leaves the band below, another one enters it above.
template <int phase>
__device__ __forceinline__ void move_right(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels) {
  if (place.block == place.first_block) lane.level[phase].peak = lane.emission[phase] = -infinity;
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

struct StretchCounts {
  std::int32_t repeated = 0;
};

// Fills a band and finds its successor's emissions, which do not depend on where that lies: they hide the latency of the shuffles. True when the
// successor lies to the right (the Suzuki-Kasahara rule).
template <Arithmetic arithmetic, int phase, int turn>
__device__ __forceinline__ bool fill_band(Lane& lane, BandPlace& place, const ReadTransitions& transition, StretchCounts& counts,
                                          bool successor_is_odd) {
  FreshCells fresh;
  if constexpr (arithmetic == Arithmetic::wide) {
    fresh = fill_cells_wide<phase, turn>(lane, transition, lane.trace);
  } else {
    std::uint32_t trace = lane.trace;
    bool exact = true;
    fresh = fill_cells_narrow<arithmetic, phase, turn>(lane, transition, trace, exact);
    if constexpr (arithmetic == Arithmetic::checked) {
      if (!__all_sync(whole_warp, exact)) {
        trace = lane.trace;
        fresh = fill_cells_wide<phase, turn>(lane, transition, trace);
        ++counts.repeated;
      }
    }
    lane.trace = trace;
  }
  lane.score[turn][0] = fresh.first;
  lane.score[turn][1] = fresh.second;
  lane.score[turn][2] = fresh.third;
  lane.score[turn][3] = fresh.fourth;
  lane.before[turn] = __shfl_sync(whole_warp, fresh.fourth, place.lane_before);
  const float lower_left = __shfl_sync(whole_warp, lane.score[turn][phase], place.first_block);
  const float upper_right = __shfl_sync(whole_warp, lane.score[turn][(phase + 3) & 3], place.last_block);
  lane.event[0] = lane.event[1];
  lane.event[1] = lane.event[2];
  lane.event[2] = lane.event[3];
  lane.event[3] = *place.staged_event++;
  find_emissions(lane);
  bool right = lower_left < upper_right;
  if constexpr (arithmetic == Arithmetic::wide) right = right || (lower_left == -infinity && upper_right == -infinity && successor_is_odd);
  return __any_sync(whole_warp, right);
}

// A stretch of inner bands, an even number of them, from an even band on, for which lane and place are prepared. Returns the first k-mer of its last
// band. There is one copy of the loop per phase, and moving right jumps to the next copy.
#define SLUICE_BANDS(phase, next_phase)                                                               \
  even_band_##phase : if (fill_band<arithmetic, phase, 0>(lane, place, transition, counts, true)) {   \
    move_right<phase>(lane, place, transition, levels);                                               \
    goto odd_band_##next_phase;                                                                       \
  }                                                                                                   \
  odd_band_##phase : right = fill_band<arithmetic, phase, 1>(lane, place, transition, counts, false); \
  *trace_row = static_cast<std::uint16_t>(lane.trace);                                                \
  trace_row += row_lanes;                                                                             \
  if (--rows == 0) return slots_per_lane * place.first_block + phase;                                 \
  if (!right) goto even_band_##phase;                                                                 \
  move_right<phase>(lane, place, transition, levels);                                                 \
  goto even_band_##next_phase;

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_stretch_by_twos(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                             std::int32_t first_kmer, std::uint16_t* trace_row, std::int32_t band_count,
                                                             StretchCounts& counts) {
  std::int32_t rows = band_count / bands_per_row;
  bool right;
  switch (first_kmer & 3) {
    case 0:
      goto even_band_0;
    case 1:
      goto even_band_1;
    case 2:
      goto even_band_2;
    default:
      goto even_band_3;
  }
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS

template <int slot>
__device__ __forceinline__ void swap_scores(Lane& lane) {
  const float now = lane.score[0][slot];
  lane.score[0][slot] = lane.score[1][slot];
  lane.score[1][slot] = now;
}

// After a band of a loop that is not unrolled: what turn 0 wrote becomes what turn 1 would have written.
__device__ __forceinline__ void turn_registers(Lane& lane) {
  swap_scores<0>(lane);
  swap_scores<1>(lane);
  swap_scores<2>(lane);
  swap_scores<3>(lane);
  const float before = lane.before[0];
  lane.before[0] = lane.before[1];
  lane.before[1] = before;
}

#define SLUICE_BANDS(phase, next_phase)                                                                     \
  band_##phase : right = fill_band<arithmetic, phase, 0>(lane, place, transition, counts, (band & 1) == 0); \
  turn_registers(lane);                                                                                     \
  ++band;                                                                                                   \
  if ((band & 1) == 0) {                                                                                    \
    *trace_row = static_cast<std::uint16_t>(lane.trace);                                                    \
    trace_row += row_lanes;                                                                                 \
    if (band == band_count) return slots_per_lane * place.first_block + phase;                              \
  }                                                                                                         \
  if (!right) goto band_##phase;                                                                            \
  move_right<phase>(lane, place, transition, levels);                                                       \
  goto band_##next_phase;

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_stretch_by_ones(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                             std::int32_t first_kmer, std::uint16_t* trace_row, std::int32_t band_count,
                                                             StretchCounts& counts) {
  std::int32_t band = 0;
  bool right;
  switch (first_kmer & 3) {
    case 0:
      goto band_0;
    case 1:
      goto band_1;
    case 2:
      goto band_2;
    default:
      goto band_3;
  }
  SLUICE_BANDS(0, 1)
  SLUICE_BANDS(1, 2)
  SLUICE_BANDS(2, 3)
  SLUICE_BANDS(3, 0)
}
#undef SLUICE_BANDS

template <Arithmetic arithmetic, FillLoop loop>
__device__ __forceinline__ std::int32_t fill_stretch(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels,
                                                     std::int32_t first_kmer, std::uint16_t* trace_row, std::int32_t band_count,
                                                     StretchCounts& counts) {
  if constexpr (loop == FillLoop::two_bands || (loop == FillLoop::two_narrow_bands && arithmetic == Arithmetic::narrow)) {
    return fill_stretch_by_twos<arithmetic>(lane, place, transition, levels, first_kmer, trace_row, band_count, counts);
  } else {
    return fill_stretch_by_ones<arithmetic>(lane, place, transition, levels, first_kmer, trace_row, band_count, counts);
  }
}

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

// A cell that a walk back begins at: on its way it joins the best path soon, wherever it begins.
struct Waypoint {
  std::int32_t event, kmer;
};

// Short reads have fewer than 31: each costs its walker the bands until it has joined the path.
__device__ __forceinline__ std::int32_t distance_of_waypoints(std::int32_t band_count) { return max(stretch_bands, band_count / warp_lanes + 1); }

// What a warp keeps in shared memory.
struct WarpStage {
  float events[staged_events];
  Waypoint waypoints[warp_lanes];  // [walker]
};

__device__ __forceinline__ std::int32_t band_of(std::int32_t event, std::int32_t kmer) { return event + kmer + 2; }

// Fills the bands of one read, by one warp; report gets the end of the path and the counts of bands. Traces are only read after a __syncwarp.
template <FillForm form, FillLoop loop>
__device__ __forceinline__ void fill_read(const ReadPlan& read, const ReadFacts& facts, const CommonTransitions& common,
                                          const Level* __restrict__ levels, const float* __restrict__ events, std::uint16_t* traces, WarpStage& stage,
                                          AlignmentReport& report) {
  const auto this_lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const std::int32_t event_count = read.event_count;
  const std::int32_t kmer_count = read.kmer_count;
  const std::int32_t band_count = event_count + kmer_count + 2;
  const ReadTransitions transition{
      read.stay, read.step, common.skip, read.narrow_stay - transition_quantum, read.narrow_step - transition_quantum, common.narrow_skip};
  const NarrowTransitions narrow{read.narrow_possible, read.narrow_stay, read.narrow_step, common.narrow_skip, read.lowest_exact_score};
  const std::int32_t waypoint_distance = distance_of_waypoints(band_count);
  std::int32_t waypoint_count = 0;
  stage.waypoints[this_lane] = {-1, -1};
  __syncwarp();

  // Bands 0 and 1: the cell before everything, and the first event trimmed; both in slot 127, that of k-mer -1.
  Lane lane{};
#pragma unroll
  for (int slot = 0; slot < slots_per_lane; ++slot) lane.score[0][slot] = lane.score[1][slot] = -infinity;
  const auto first_trimmed = static_cast<float>(common.trim);
  if (this_lane == warp_lanes - 1) {
    lane.score[0][3] = 0.0F;
    lane.score[1][3] = first_trimmed;
  }
  lane.before[0] = this_lane == 0 ? 0.0F : -infinity;
  lane.before[1] = this_lane == 0 ? first_trimmed : -infinity;
  BandPlace place{};
  place.lane_before = (this_lane + warp_lanes - 1) % warp_lanes;

  std::int32_t first_kmer = -1 - band_width / 2;  // of band 1
  std::int32_t last_event = band_width / 2;
  float best_end_score = -infinity;
  std::int32_t best_end_event = -1;
  std::int32_t narrow_bands = 0, checked_bands = 0, wide_bands = 0;
  StretchCounts counts;

  for (std::int32_t band = 2; band < band_count;) {
    // Inner bands: inside the matrix and before the last k-mer however the band moves, and four k-mers from the first one (move_right<0>).
    std::int32_t inner = 0;
    if (band % bands_per_row == 0 && first_kmer >= slots_per_lane && last_event >= band_width && facts.levels_are_moderate) {
      const std::int32_t room = min(stretch_bands, min(kmer_count - 1 - band_width - first_kmer, event_count - 1 - last_event));
      inner = room < 16 ? 0 : room & -bands_per_row;
    }
    const float lower_left = score_of_slot(lane, first_kmer);
    const float upper_right = score_of_slot(lane, first_kmer + band_width - 1);
    const bool right = lower_left == -infinity && upper_right == -infinity ? band % 2 == 1 : lower_left < upper_right;
    first_kmer += right ? 1 : 0;
    last_event += right ? 0 : 1;
    const std::int32_t lowest_block = (first_kmer - 1) >> 2;
    const std::int32_t block = block_of_lane(lowest_block, this_lane);
    const std::int32_t own_first = slots_per_lane * block;

    if (inner > 0) {
      const std::int32_t lowest_staged = band - 2 - first_kmer - 1 - slots;
      float lowest_event = infinity;
      float highest_event = -infinity;
      for (std::int32_t i = this_lane; i < inner + slots + spare_events; i += warp_lanes) {
        const std::int32_t event = lowest_staged + i;
        const float mean = events[min(max(event, 0), event_count - 1)];
        stage.events[i] = mean;
        const bool met = event > last_event - band_width && event <= last_event + inner;
        lowest_event = met ? fminf(lowest_event, mean) : lowest_event;
        highest_event = met ? fmaxf(highest_event, mean) : highest_event;
      }
      lowest_event = value_of_order(__reduce_min_sync(whole_warp, order_of(lowest_event)));
      highest_event = value_of_order(__reduce_max_sync(whole_warp, order_of(highest_event)));
      float lowest_score = infinity;
      float highest_score = -infinity;
      float highest_of_last_band = -infinity;
      std::int32_t highest_slot = 0;
      std::int32_t cells = 0;
#pragma unroll
      for (int slot = 0; slot < slots_per_lane; ++slot) {
        const float score = lane.score[1][slot];
        cells += score > -infinity ? 1 : 0;
        highest_slot = score > highest_of_last_band ? slot : highest_slot;
        highest_of_last_band = fmaxf(highest_of_last_band, score);
#pragma unroll
        for (int ago = 0; ago < 2; ++ago) {
          highest_score = fmaxf(highest_score, lane.score[ago][slot]);
          lowest_score = lane.score[ago][slot] > -infinity ? fminf(lowest_score, lane.score[ago][slot]) : lowest_score;
        }
      }
      lowest_score = value_of_order(__reduce_min_sync(whole_warp, order_of(lowest_score)));
      highest_score = value_of_order(__reduce_max_sync(whole_warp, order_of(highest_score)));
      const bool every_cell_scored = __reduce_add_sync(whole_warp, cells) == band_width;
      Arithmetic arithmetic = Arithmetic::wide;
      if (form != FillForm::wide && every_cell_scored) {
        arithmetic = admissible_arithmetic(narrow, lowest_score, highest_score, lowest_emission(lowest_event, highest_event, facts.ranges), inner);
        if (form == FillForm::checked && arithmetic == Arithmetic::narrow) arithmetic = Arithmetic::checked;
      }
      // The best cell of the band before is most likely on the path, or next to it.
      if (waypoint_count < warp_lanes - 1 && band >= (waypoint_count + 1) * waypoint_distance) {
        const std::uint32_t highest = __reduce_max_sync(whole_warp, order_of(highest_of_last_band));
        // The slots of the band before are those of this band, but for the lane that the band has just left.
        const std::int32_t kmer = slots_per_lane * block_of_lane((first_kmer - (right ? 1 : 0)) >> 2, this_lane) + highest_slot;
        const std::uint32_t lanes = __ballot_sync(whole_warp, order_of(highest_of_last_band) == highest);
        if (this_lane == __ffs(static_cast<int>(lanes)) - 1) stage.waypoints[waypoint_count] = {band - 1 - 2 - kmer, kmer};
        ++waypoint_count;
      }

      place.first_block = first_kmer >> 2;
      place.last_block = (first_kmer + band_width - 1) >> 2;
      place.block = block;
      load_levels(lane, levels + own_first);
#pragma unroll
      for (int slot = 0; slot < slots_per_lane; ++slot) {
        const std::int32_t offset = own_first + slot - first_kmer;
        lane.level[slot].peak = offset < 0 ? -infinity : lane.level[slot].peak;
        lane.skip[slot] = offset < band_width ? transition.narrow_skip : -infinity;
      }
      // Levels that the band may meet, into the nearest cache: a lane that waits for its levels stops the whole warp.
      const std::int32_t level_ahead = slots_per_lane * (lowest_block + warp_lanes) + levels_per_line * this_lane;
      if (levels_per_line * this_lane < inner && level_ahead < kmer_count) asm volatile("prefetch.global.L1 [%0];" ::"l"(levels + level_ahead));
      __syncwarp();
      place.staged_event = stage.events + (band - 2 - own_first - lowest_staged);
#pragma unroll
      for (int slot = 0; slot < slots_per_lane; ++slot) lane.event[3 - slot] = place.staged_event[-slot];
      ++place.staged_event;
      find_emissions(lane);

      std::uint16_t* const trace_row = traces + std::int64_t{band / bands_per_row} * row_lanes + this_lane;
      if (form == FillForm::mixed && arithmetic == Arithmetic::narrow) {
        first_kmer = fill_stretch<Arithmetic::narrow, loop>(lane, place, transition, levels, first_kmer, trace_row, inner, counts);
        narrow_bands += inner;
      } else if (form != FillForm::wide && arithmetic == Arithmetic::checked) {
        first_kmer = fill_stretch<Arithmetic::checked, loop>(lane, place, transition, levels, first_kmer, trace_row, inner, counts);
        checked_bands += inner;
      } else {
        first_kmer = fill_stretch<Arithmetic::wide, FillLoop::single_band>(lane, place, transition, levels, first_kmer, trace_row, inner, counts);
        wide_bands += inner;
      }
      band += inner;
      last_event = band - 1 - 2 - first_kmer;
      __syncwarp();
      continue;
    }

    // A band that may reach over an edge of the matrix, or with values that need every care.
    std::uint32_t trace = 0;
    float fresh[slots_per_lane];
#pragma unroll
    for (int slot = slots_per_lane - 1; slot >= 0; --slot) {
      // The lane of the band's first cells also holds the slots before it, which end up as k-mers outside the band.
      const std::int32_t kmer = own_first + slot;
      const std::int32_t offset = kmer - first_kmer;
      const std::int32_t event = last_event - offset;
      Cell cell{-infinity, false, false};
      if (offset >= 0 && offset < band_width && event >= 0 && event < event_count) {
        if (kmer >= 0 && kmer < kmer_count) {
          const float left_score = slot == 0 ? lane.before[1] : lane.score[1][slot - 1];
          const float diagonal_score = slot == 0 ? lane.before[0] : lane.score[0][slot - 1];
          cell = wide_cell(diagonal_score, lane.score[1][slot], left_score, emission_of_any_level(events[event], levels[kmer]), transition);
          if (kmer == kmer_count - 1) {
            const auto trimmed = static_cast<float>(__dadd_rn(cell.score, __dmul_rn(static_cast<double>(event_count - event), common.trim)));
            if (trimmed > best_end_score) {
              best_end_score = trimmed;
              best_end_event = event;
            }
          }
        } else if (kmer == -1) {
          cell.score = static_cast<float>(__dmul_rn(common.trim, static_cast<double>(event) + 1.0));
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
    lane.before[1] = __shfl_sync(whole_warp, fresh[3], place.lane_before);
    lane.trace = lane.trace << 8 | trace;
    if (band % 2 == 1 || band == band_count - 1) {
      const std::uint32_t both = band % 2 == 1 ? lane.trace : lane.trace << 8;
      traces[std::int64_t{band / bands_per_row} * row_lanes + this_lane] = static_cast<std::uint16_t>(both);
    }
    ++band;
    ++wide_bands;
  }

  report.end_event = __shfl_sync(whole_warp, best_end_event, ((kmer_count - 1) >> 2) & (warp_lanes - 1));
  report.narrow = narrow_bands;
  report.checked = checked_bands;
  report.repeated = counts.repeated;
  report.wide = wide_bands;
}

// ------------------------------------------------------------------------------------------------------------------------------------------- walking
// back

// The path is a chain of single steps, but paths that begin anywhere in a band soon join: up to 32 walkers, one a lane, each take a part of the read.
// A walker begins at its waypoint and takes over at the first cell behind a boundary some bands on. Where the walker before (from later bands) leaves
// off elsewhere, the guess was wrong: all walk again, and those who guessed wrong begin where they should have. The first walker is always right, so
// that this ends, with the one path there is.
//
// For each k-mer on the path the walk writes 2 * (event of the k-mer's cell that comes first in the read) + (1 when that cell was entered from the
// left): all other cells of the k-mer lie above it, and the highest one follows from the next k-mer's.

// Bands from a waypoint to its boundary.
constexpr std::int32_t joining_bands = 96;

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
    const std::uint32_t row = traces[std::int64_t{band / bands_per_row} * row_lanes + ((kmer >> 2) & (warp_lanes - 1))];
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
__device__ __forceinline__ Waypoint walk_read(const ReadPlan& read, std::int32_t end_event, const std::uint16_t* traces, const WarpStage& stage,
                                              std::uint32_t* codes) {
  const auto walker = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const Waypoint end{end_event, read.kmer_count - 1};
  const Waypoint own = walker == warp_lanes - 1 ? end : stage.waypoints[walker];
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
__device__ __forceinline__ void trace_back(const ReadPlan& read, const AlignmentLimits& limits, const Level* __restrict__ levels,
                                           const float* __restrict__ events, const std::uint16_t* traces, const WarpStage& stage,
                                           const DeviceAlignments& alignments, AlignmentReport& report) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  std::int32_t* const first_event = alignments.first_event + read.kmer_begin;
  std::int32_t* const last_event = alignments.last_event + read.kmer_begin;
  AlignmentStatus status = AlignmentStatus::no_end_cell_in_band;
  double events_per_base = 0.0;
  if (report.end_event >= 0) {
    auto* const codes = reinterpret_cast<std::uint32_t*>(first_event);
    const Waypoint begin = walk_read(read, report.end_event, traces, stage, codes);
    __syncwarp();
    // Chunks of 32 k-mers, from the end. Sums of floats of similar size are exact in double precision, whatever their order.
    double sum = 0.0;
    double magnitude = 0.0;
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
        const float emission = emission_of_any_level(events[event], level);
        sum = __dadd_rn(sum, static_cast<double>(emission));
        magnitude = __dadd_rn(magnitude, static_cast<double>(fabsf(emission)));
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
    magnitude = sum_over_warp(magnitude);
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

template <FillForm form, FillLoop loop, int blocks>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, blocks)
    align_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, AlignmentLimits limits, Workspace workspace, CommonTransitions common,
                 const float* __restrict__ event_means, DeviceAlignments alignments) {
  __shared__ alignas(16) WarpStage stages[warps_per_block];
  WarpStage& stage = stages[threadIdx.x / warp_lanes];
  while (true) {
    unsigned long long next = 0;
    if (threadIdx.x % warp_lanes == 0) next = atomicAdd(workspace.next_read, 1ULL);
    const auto index = static_cast<std::int64_t>(__shfl_sync(whole_warp, next, 0));
    if (index >= read_count) return;
    const ReadPlan& read = reads[index];
    if (alignments.status[read.row] != AlignmentStatus::ok) continue;
    const Level* const levels = workspace.levels + read.level_begin;
    const float* const events = event_means + read.event_begin;
    std::uint16_t* const traces = workspace.traces + read.trace_begin * row_lanes;
    AlignmentReport report{};
    fill_read<form, loop>(read, workspace.facts[index], common, levels, events, traces, stage, report);
    __syncwarp();
    trace_back(read, limits, levels, events, traces, stage, alignments, report);
    __syncwarp();
  }
}

template <FillForm form, FillLoop loop, int blocks>
cudaError_t launch(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  const std::int64_t useful = (work.read_count + warps_per_block - 1) / warps_per_block;
  const auto grid = static_cast<unsigned int>(std::min<std::int64_t>(std::int64_t{multiprocessors} * blocks, useful));
  align_kernel<form, loop, blocks><<<grid, warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.read_count, work.limits, workspace_of(work),
                                                                                      common_transitions(), batch.event_means, alignments);
  return cudaGetLastError();
}

template <FillForm form, FillLoop loop>
cudaError_t launch(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream,
                   int warps_per_multiprocessor) {
  if (warps_per_multiprocessor >= 24) return launch<form, loop, 6>(work, batch, alignments, stream);
  return launch<form, loop, 5>(work, batch, alignments, stream);
}

}  // namespace

BatchPlan plan_batch(std::span<const std::int64_t> event_offsets, std::span<const std::int64_t> kmer_offsets, const KmerModelView& model,
                     const AlignmentLimits& limits, std::span<const std::uint16_t> row_status, std::size_t workspace_limit) {
  BatchPlan plan;
  const std::size_t rows = event_offsets.empty() || event_offsets.size() != kmer_offsets.size() ? 0 : event_offsets.size() - 1;
  const bool model_is_valid =
      model.k > 0 && model.level_stdv.size() == model.level_mean.size() && model.log_level_stdv.size() == model.level_mean.size();
  plan.reads.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    ReadPlan& read = plan.reads[row];
    read = {};
    read.row = static_cast<std::int64_t>(row);
    read.event_begin = event_offsets[row];
    read.kmer_begin = kmer_offsets[row];
    const std::int64_t event_count = std::max<std::int64_t>(0, event_offsets[row + 1] - event_offsets[row]);
    const std::int64_t kmer_count = std::max<std::int64_t>(0, kmer_offsets[row + 1] - kmer_offsets[row]);
    if (row < row_status.size() && row_status[row] != 0) {
      read.status = AlignmentStatus::output_size_mismatch;
    } else if (!model_is_valid) {
      read.status = AlignmentStatus::invalid_model;
    } else if (kmer_count == 0) {
      read.status = AlignmentStatus::too_few_kmers;
    } else if (event_count == 0) {
      read.status = AlignmentStatus::no_events;
    } else if (event_count > largest_band_count || kmer_count > largest_band_count - event_count) {
      read.status = AlignmentStatus::read_too_long;
    } else if (static_cast<float>(event_count) / static_cast<float>(static_cast<std::size_t>(kmer_count) + model.k - 1) >=
               limits.max_events_per_base) {
      read.status = AlignmentStatus::too_many_events_per_base;
    }
    read.kmer_count = static_cast<std::int32_t>(std::min<std::int64_t>(kmer_count, std::numeric_limits<std::int32_t>::max()));
    if (read.status != AlignmentStatus::ok) continue;
    read.event_count = static_cast<std::int32_t>(event_count);
    BandFillInput input{};
    input.ranges = {0.0F, 0.0F, 1.0F, 1.0F, -1.0F, -1.0F};  // those of the levels are checked on the device
    input.events_are_moderate = true;
    input.log_probability = transitions(static_cast<std::size_t>(event_count), static_cast<std::size_t>(kmer_count));
    const NarrowTransitions narrow = narrow_transitions(input);
    read.stay = input.log_probability.stay;
    read.step = input.log_probability.step;
    read.narrow_possible = narrow.possible;
    read.narrow_stay = narrow.stay;
    read.narrow_step = narrow.step;
    read.lowest_exact_score = narrow.lowest_exact_score;
  }
  const auto bands = [](const ReadPlan& read) { return std::int64_t{read.event_count} + read.kmer_count; };
  std::sort(plan.reads.begin(), plan.reads.end(),
            [&](const ReadPlan& a, const ReadPlan& b) { return bands(a) != bands(b) ? bands(a) > bands(b) : a.row < b.row; });

  const auto level_count = [](const ReadPlan& read) {
    return read.status == AlignmentStatus::ok ? (std::int64_t{read.kmer_count} + spare_levels + 7) / 8 * 8 : 0;
  };
  const auto trace_rows = [&](const ReadPlan& read) {
    return read.status == AlignmentStatus::ok ? (bands(read) + 2 + bands_per_row - 1) / bands_per_row : 0;
  };
  const auto level_bytes = static_cast<std::int64_t>(sizeof(Level));
  for (std::size_t first = 0; first < rows;) {
    std::size_t end = first;
    std::size_t bytes = 0;
    std::int64_t levels = 0, traces = 0;
    for (; end < rows; ++end) {
      const std::int64_t more_levels = levels + level_count(plan.reads[end]), more_traces = traces + trace_rows(plan.reads[end]);
      const std::size_t more_bytes =
          WorkspaceLayout(end + 1 - first).levels + static_cast<std::size_t>(more_levels * level_bytes + more_traces * row_bytes);
      if (end > first && more_bytes > workspace_limit) break;
      plan.reads[end].level_begin = levels;
      plan.reads[end].trace_begin = traces;
      levels = more_levels;
      traces = more_traces;
      bytes = more_bytes;
    }
    for (std::size_t i = first; i < end; ++i) plan.reads[i].trace_begin += levels * level_bytes / row_bytes;
    plan.parts.push_back({first, end - first});
    plan.workspace_bytes = std::max(plan.workspace_bytes, bytes);
    first = end;
  }
  return plan;
}

cudaError_t prepare_levels(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                           cudaStream_t stream) {
  if (work.read_count <= 0) return cudaSuccess;
  if (work.read_count > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  prepare_kernel<<<static_cast<unsigned int>(work.read_count), prepare_threads, 0, stream>>>(work.reads, workspace_of(work), batch, model,
                                                                                             alignments);
  return cudaGetLastError();
}

cudaError_t align_reads(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form,
                        FillLoop loop, int warps_per_multiprocessor) {
  if (work.read_count <= 0) return cudaSuccess;
  if (const cudaError_t error = cudaMemsetAsync(work.workspace, 0, sizeof(unsigned long long), stream); error != cudaSuccess) return error;
  switch (form) {
    case FillForm::mixed:
      if (loop == FillLoop::two_bands) return launch<FillForm::mixed, FillLoop::two_bands>(work, batch, alignments, stream, warps_per_multiprocessor);
      if (loop == FillLoop::two_narrow_bands)
        return launch<FillForm::mixed, FillLoop::two_narrow_bands>(work, batch, alignments, stream, warps_per_multiprocessor);
      return launch<FillForm::mixed, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
    case FillForm::checked:
      return launch<FillForm::checked, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
    case FillForm::wide:
      return launch<FillForm::wide, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
  }
  return cudaErrorInvalidValue;
}

cudaError_t align_batch(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments,
                        cudaStream_t stream) {
  if (const cudaError_t error = prepare_levels(work, batch, model, alignments, stream); error != cudaSuccess) return error;
  return align_reads(work, batch, alignments, stream);
}

}  // namespace sluice::abea::cuda
