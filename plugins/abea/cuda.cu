// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// One warp aligns one read. As on the CPU (band_fill.hpp), a cell belongs to its k-mer, whichever way the band moved: k-mer k lives in slot k modulo 128,
// four neighbouring slots to a lane. A cell's neighbours are then the slot itself and the slot before it, one shuffle per band serves all of them, and the
// events of a lane slide by one per band. Everything that a cell needs stays in registers.
//
// Of 128 slots 100 belong to the band; the others hold minus infinity. Only two of them could get anything else from their neighbours: the slot below
// the band and the slot above it. They are cut down after each band.
//
// Which of a lane's four slots is the first of the band (the phase: first k-mer modulo 4) is known at compile time: there is one copy of the loop per phase, and
// moving right jumps to the next copy. Likewise for the band modulo 4, which decides the registers of events, scores and traces.

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
// Events that the slots meet in a stretch, those outside the band included: 128 slots, a slot more for each band, and the four that a lane holds.
constexpr std::int32_t staged_events = stretch_bands + slots + 8;

// A trace group holds four bands: one word per lane, the band's first four bands from the high byte down, in each byte from the high bit down "not from above"
// and "not from the left" of slots 3, 2, 1, 0.
constexpr std::int64_t bands_per_group = 4;
constexpr std::int64_t group_bytes = 128;
constexpr std::int64_t group_words = 32;

// Levels behind the last k-mer that lanes read but never use.
constexpr std::int64_t spare_levels = 64;

constexpr std::int64_t largest_band_count = std::int64_t{std::numeric_limits<std::int32_t>::max()} - 1024;

// Of one k-mer: scale * level_mean + shift (pA), spread (pA), 1 / spread, log-likelihood of an event at the mean.
struct alignas(16) Level {
  float mean, stdv, inverse_stdv, peak;
};
constexpr Level no_level{0.0F, 1.0F, 1.0F, -1.0F};

// What prepare_levels finds out about a read.
struct ReadFacts {
  LevelRanges ranges;
  bool levels_are_moderate;  // levels_fit, and every event is moderate: the inner loop may run
};

struct Workspace {
  unsigned long long* next_read;  // the queue of fill_bands
  ReadFacts* facts;
  Level* levels;
  std::uint32_t* traces;
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
  return {reinterpret_cast<unsigned long long*>(base), reinterpret_cast<ReadFacts*>(base + layout.facts), reinterpret_cast<Level*>(base + layout.levels),
          reinterpret_cast<std::uint32_t*>(base + layout.levels)};
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

// ---------------------------------------------------------------------------------------------------------------------------------------------- levels

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

__global__ void __launch_bounds__(prepare_threads) prepare_kernel(const ReadPlan* reads, Workspace workspace, DeviceBatch batch, DeviceModel model, DeviceAlignments alignments) {
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
  for (std::int32_t kmer = thread; kmer < read.kmer_count; kmer += prepare_threads) {
    alignments.first_event[read.kmer_begin + kmer] = -1;
    alignments.last_event[read.kmer_begin + kmer] = -1;
  }
  AlignmentStatus status = read.status;
  if (status == AlignmentStatus::ok) {
    const float scale = batch.scale[read.row];
    const float shift = batch.shift[read.row];
    float lowest_mean = infinity, highest_mean = -infinity, lowest_stdv = infinity, highest_stdv = -infinity, lowest_peak = infinity, highest_peak = -infinity;
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
    // The bytes of bands that do not exist, in the first and the last group, are read with the others.
    if (thread < group_words) {
      std::uint32_t* const traces = workspace.traces + read.trace_begin * group_words + thread;
      traces[0] = 0;
      traces[(std::int64_t{read.event_count} + read.kmer_count + 1) / bands_per_group * group_words] = 0;
    }
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

// ----------------------------------------------------------------------------------------------------------------------------------------------- bands

struct ReadTransitions {
  double stay, step, skip;
  float narrow_stay, narrow_step, narrow_skip;
};

// The four slots of a lane. `turn` below is the band modulo 4; scores of a band overwrite those of two bands ago.
struct Lane {
  Level level[slots_per_lane];
  float score[2][slots_per_lane];  // [turn % 2]
  float before[2];                 // the score of the slot before the first one, likewise
  float event[slots_per_lane];     // slot s of a band holds event[(turn - s) % 4]
  std::uint32_t trace;
};

__device__ __forceinline__ float cut_to_odd(float emission, float transition) {
  return __uint_as_float(__float_as_uint(__fadd_rz(emission, transition)) | 1U);
}

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

// What a cell is made of. Slots are template parameters throughout, never loop variables: the compiler unrolls such loops too late to keep the lane in registers.
template <int turn, int slot>
struct Neighbours {
  float diagonal, up, left, emission;
  __device__ __forceinline__ explicit Neighbours(const Lane& lane) : up(lane.score[1 - turn % 2][slot]), emission(emission_of_level(lane.event[(turn - slot) & 3], lane.level[slot])) {
    if constexpr (slot == 0) {
      left = lane.before[1 - turn % 2];
      diagonal = lane.before[turn % 2];
    } else {
      left = lane.score[1 - turn % 2][slot - 1];
      diagonal = lane.score[turn % 2][slot - 1];
    }
  }
};

template <int turn, int slot>
__device__ __forceinline__ float fill_cell_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  const Neighbours<turn, slot> from(lane);
  const Cell cell = wide_cell(from.diagonal, from.up, from.left, from.emission, transition);
  trace = push_bit(push_bit(trace, cell.not_from_above), cell.not_from_left);
  return cell.score;
}

// With `checked`, `exact` becomes false when the cell may be rounded wrongly (band_fill.cpp).
template <Arithmetic arithmetic, int turn, int slot>
__device__ __forceinline__ float fill_cell_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& exact) {
  const Neighbours<turn, slot> from(lane);
  const float diagonal = __fadd_rn(from.diagonal, cut_to_odd(from.emission, transition.narrow_step));
  const float up = __fadd_rn(from.up, cut_to_odd(from.emission, transition.narrow_stay));
  const float left = __fadd_rn(from.left, transition.narrow_skip);
  const float with_emission = fmaxf(diagonal, up);
  // The sign of a difference is exact. Two instructions per bit on two different pipes; comparing and selecting would use the busier one twice.
  trace = push_sign(trace, __fsub_rn(up, diagonal));
  trace = push_sign(trace, __fsub_rn(left, with_emission));
  if constexpr (arithmetic == Arithmetic::checked) {
    const float bound = fmaxf(__fmaf_rn(4.0F, from.emission, -12.0F), __fadd_rn(from.left, transition.narrow_skip - 4.0F));
    exact = exact && with_emission <= bound;
  }
  return fmaxf(with_emission, left);
}

struct FreshCells {
  float first, second, third, fourth;
};

template <int turn>
__device__ __forceinline__ FreshCells fill_cells_wide(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace) {
  FreshCells fresh;
  fresh.fourth = fill_cell_wide<turn, 3>(lane, transition, trace);
  fresh.third = fill_cell_wide<turn, 2>(lane, transition, trace);
  fresh.second = fill_cell_wide<turn, 1>(lane, transition, trace);
  fresh.first = fill_cell_wide<turn, 0>(lane, transition, trace);
  return fresh;
}

template <Arithmetic arithmetic, int turn>
__device__ __forceinline__ FreshCells fill_cells_narrow(const Lane& lane, const ReadTransitions& transition, std::uint32_t& trace, bool& exact) {
  FreshCells fresh;
  fresh.fourth = fill_cell_narrow<arithmetic, turn, 3>(lane, transition, trace, exact);
  fresh.third = fill_cell_narrow<arithmetic, turn, 2>(lane, transition, trace, exact);
  fresh.second = fill_cell_narrow<arithmetic, turn, 1>(lane, transition, trace, exact);
  fresh.first = fill_cell_narrow<arithmetic, turn, 0>(lane, transition, trace, exact);
  return fresh;
}

// Where the band lies, the same in every lane but for what is named after a lane.
struct BandPlace {
  std::int32_t first_block;    // first k-mer / 4
  std::int32_t lane;           // this lane
  std::int32_t lane_before;    // the lane with the slots before this one's
  std::int32_t first_lane;     // holds the first cell
  std::int32_t above_lane;     // holds the slot above the band
  float below_ceiling;         // minus infinity in the lane that holds the slot below the band
  float above_ceiling;         // minus infinity in the lane that holds the slot above the band
  std::int32_t block;          // this lane's slots hold the k-mers from 4 * block on
  const float* staged_event;   // this lane's next event
};

template <int phase>
__device__ __forceinline__ void place_ceilings(BandPlace& place) {
  const std::int32_t below_lane = phase == 0 ? (place.first_lane + warp_lanes - 1) % warp_lanes : place.first_lane;
  place.below_ceiling = place.lane == below_lane ? -infinity : infinity;
  place.above_ceiling = place.lane == place.above_lane ? -infinity : infinity;
}

// The Suzuki-Kasahara rule, from the scores of the band before `turn`.
template <Arithmetic arithmetic, int phase, int turn>
__device__ __forceinline__ bool moves_right(const Lane& lane, const BandPlace& place, std::int32_t band_parity) {
  constexpr int ago = 1 - turn % 2;
  const float lower_left = __shfl_sync(whole_warp, lane.score[ago][phase], place.first_lane);
  const float upper_right = __shfl_sync(whole_warp, lane.score[ago][(phase + 3) & 3], phase == 0 ? place.above_lane + warp_lanes - 1 : place.above_lane);
  if constexpr (arithmetic == Arithmetic::wide) {
    if (lower_left == -infinity && upper_right == -infinity) return ((band_parity + turn) & 1) != 0;
  }
  return lower_left < upper_right;
}

__device__ __forceinline__ void load_levels(Lane& lane, const Level* own) {
  lane.level[0] = own[0];
  lane.level[1] = own[1];
  lane.level[2] = own[2];
  lane.level[3] = own[3];
}

// From this phase to the next one.
template <int phase>
__device__ __forceinline__ void move_right(Lane& lane, BandPlace& place, const Level* levels) {
  if constexpr (phase == 3) {
    if (place.lane == place.first_lane) {
      place.block += warp_lanes;
      place.staged_event -= slots;
      const Level* const own = levels + std::int64_t{slots_per_lane} * place.block;
      load_levels(lane, own);
    }
    ++place.first_block;
    place.first_lane = (place.first_lane + 1) % warp_lanes;
    place.above_lane = (place.above_lane + 1) % warp_lanes;
  }
  place_ceilings<(phase + 1) & 3>(place);
}

struct StretchCounts {
  std::int32_t repeated = 0;
};

template <Arithmetic arithmetic, int phase, int turn>
__device__ __forceinline__ void fill_band(Lane& lane, BandPlace& place, const ReadTransitions& transition, StretchCounts& counts) {
  constexpr int now = turn % 2;
  lane.event[turn & 3] = *place.staged_event++;
  FreshCells fresh;
  if constexpr (arithmetic == Arithmetic::wide) {
    fresh = fill_cells_wide<turn>(lane, transition, lane.trace);
  } else {
    std::uint32_t trace = lane.trace;
    bool exact = true;
    fresh = fill_cells_narrow<arithmetic, turn>(lane, transition, trace, exact);
    if constexpr (arithmetic == Arithmetic::checked) {
      if (!__all_sync(whole_warp, exact)) {
        trace = lane.trace;
        fresh = fill_cells_wide<turn>(lane, transition, trace);
        ++counts.repeated;
      }
    }
    lane.trace = trace;
  }
  lane.score[now][0] = fresh.first;
  lane.score[now][1] = fresh.second;
  lane.score[now][2] = fresh.third;
  lane.score[now][3] = fresh.fourth;
  lane.score[now][(phase + 3) & 3] = fminf(lane.score[now][(phase + 3) & 3], place.below_ceiling);
  lane.score[now][phase] = fminf(lane.score[now][phase], place.above_ceiling);
  lane.before[now] = __shfl_sync(whole_warp, lane.score[now][3], place.lane_before);
}

// A stretch of inner bands, a multiple of four, from a band that is one. Returns the first k-mer of its last band.
#define SLUICE_BAND(phase, next_phase, turn, next_turn)                                                      \
  band_##phase##_##turn : fill_band<arithmetic, phase, turn>(lane, place, transition, counts);               \
  if constexpr (turn == 3) {                                                                                 \
    *trace_word = lane.trace;                                                                                \
    trace_word += group_words;                                                                               \
    if (trace_word == trace_end) return slots_per_lane * place.first_block + phase;                          \
  }                                                                                                          \
  if (!moves_right<arithmetic, phase, next_turn>(lane, place, 0)) goto band_##phase##_##next_turn;           \
  move_right<phase>(lane, place, levels);                                                                    \
  goto band_##next_phase##_##next_turn;

#define SLUICE_ENTER(phase, next_phase)                                                          \
  place_ceilings<phase>(place);                                                                  \
  if (!moves_right<arithmetic, phase, 0>(lane, place, 0)) goto band_##phase##_0;                 \
  move_right<phase>(lane, place, levels);                                                        \
  goto band_##next_phase##_0;

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_stretch_by_fours(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels, std::int32_t first_kmer,
                                                              std::uint32_t* trace_word, std::int32_t band_count, StretchCounts& counts) {
  const std::uint32_t* const trace_end = trace_word + group_words * (band_count / bands_per_group);
  switch (first_kmer & 3) {
    case 0: SLUICE_ENTER(0, 1)
    case 1: SLUICE_ENTER(1, 2)
    case 2: SLUICE_ENTER(2, 3)
    default: SLUICE_ENTER(3, 0)
  }
  SLUICE_BAND(0, 1, 0, 1)
  SLUICE_BAND(0, 1, 1, 2)
  SLUICE_BAND(0, 1, 2, 3)
  SLUICE_BAND(0, 1, 3, 0)
  SLUICE_BAND(1, 2, 0, 1)
  SLUICE_BAND(1, 2, 1, 2)
  SLUICE_BAND(1, 2, 2, 3)
  SLUICE_BAND(1, 2, 3, 0)
  SLUICE_BAND(2, 3, 0, 1)
  SLUICE_BAND(2, 3, 1, 2)
  SLUICE_BAND(2, 3, 2, 3)
  SLUICE_BAND(2, 3, 3, 0)
  SLUICE_BAND(3, 0, 0, 1)
  SLUICE_BAND(3, 0, 1, 2)
  SLUICE_BAND(3, 0, 2, 3)
  SLUICE_BAND(3, 0, 3, 0)
}
#undef SLUICE_BAND

template <int slot>
__device__ __forceinline__ void swap_scores(Lane& lane) {
  const float now = lane.score[0][slot];
  lane.score[0][slot] = lane.score[1][slot];
  lane.score[1][slot] = now;
}

// After a band of a loop that is not unrolled: what turn 0 wrote becomes what turn 3 would have written.
__device__ __forceinline__ void turn_registers(Lane& lane) {
  swap_scores<0>(lane);
  swap_scores<1>(lane);
  swap_scores<2>(lane);
  swap_scores<3>(lane);
  const float before = lane.before[0];
  lane.before[0] = lane.before[1];
  lane.before[1] = before;
  lane.event[1] = lane.event[2];
  lane.event[2] = lane.event[3];
  lane.event[3] = lane.event[0];
}

#define SLUICE_BAND(phase, next_phase)                                                                              \
  band_##phase##_0 : fill_band<arithmetic, phase, 0>(lane, place, transition, counts);                              \
  turn_registers(lane);                                                                                             \
  ++band;                                                                                                           \
  if (band % bands_per_group == 0) {                                                                                \
    *trace_word = lane.trace;                                                                                       \
    trace_word += group_words;                                                                                      \
    if (band == band_count) return slots_per_lane * place.first_block + phase;                                      \
  }                                                                                                                 \
  if (!moves_right<arithmetic, phase, 0>(lane, place, band)) goto band_##phase##_0;                                 \
  move_right<phase>(lane, place, levels);                                                                           \
  goto band_##next_phase##_0;

template <Arithmetic arithmetic>
__device__ __forceinline__ std::int32_t fill_stretch_by_ones(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels, std::int32_t first_kmer,
                                                             std::uint32_t* trace_word, std::int32_t band_count, StretchCounts& counts) {
  std::int32_t band = 0;
  switch (first_kmer & 3) {
    case 0: SLUICE_ENTER(0, 1)
    case 1: SLUICE_ENTER(1, 2)
    case 2: SLUICE_ENTER(2, 3)
    default: SLUICE_ENTER(3, 0)
  }
  SLUICE_BAND(0, 1)
  SLUICE_BAND(1, 2)
  SLUICE_BAND(2, 3)
  SLUICE_BAND(3, 0)
}
#undef SLUICE_BAND
#undef SLUICE_ENTER

template <Arithmetic arithmetic, FillLoop loop>
__device__ __forceinline__ std::int32_t fill_stretch(Lane& lane, BandPlace& place, const ReadTransitions& transition, const Level* levels, std::int32_t first_kmer, std::uint32_t* trace_word,
                                                     std::int32_t band_count, StretchCounts& counts) {
  if constexpr (loop == FillLoop::four_bands) {
    return fill_stretch_by_fours<arithmetic>(lane, place, transition, levels, first_kmer, trace_word, band_count, counts);
  } else {
    return fill_stretch_by_ones<arithmetic>(lane, place, transition, levels, first_kmer, trace_word, band_count, counts);
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

struct FillStage {
  float events[staged_events];
};

// One read, by one warp.
template <FillForm form, FillLoop loop>
__device__ __forceinline__ void fill_read(const ReadPlan& read, const ReadFacts& facts, const CommonTransitions& common, const Level* __restrict__ levels, const float* __restrict__ events,
                                          std::uint32_t* traces, FillStage& stage, AlignmentReport& report) {
  const auto this_lane = static_cast<std::int32_t>(threadIdx.x % warp_lanes);
  const std::int32_t event_count = read.event_count;
  const std::int32_t kmer_count = read.kmer_count;
  const std::int64_t band_count = std::int64_t{event_count} + kmer_count + 2;
  const ReadTransitions transition{read.stay, read.step, common.skip, read.narrow_stay, read.narrow_step, common.narrow_skip};
  const NarrowTransitions narrow{read.narrow_possible, read.narrow_stay, read.narrow_step, common.narrow_skip, read.lowest_exact_score};

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
  place.lane = this_lane;
  place.lane_before = (this_lane + warp_lanes - 1) % warp_lanes;

  std::int32_t first_kmer = -1 - band_width / 2;  // of band 1
  std::int32_t last_event = band_width / 2;
  float best_end_score = -infinity;
  std::int32_t best_end_event = -1;
  std::int32_t narrow_bands = 0, checked_bands = 0, wide_bands = 0;
  StretchCounts counts;
  auto* const trace_bytes = reinterpret_cast<std::uint8_t*>(traces);

  for (std::int64_t band = 2; band < band_count;) {
    // Inner bands: inside the matrix and before the last k-mer however the band moves.
    std::int32_t inner = 0;
    if (band % bands_per_group == 0 && first_kmer >= 0 && last_event >= band_width && facts.levels_are_moderate) {
      const std::int32_t room = min(stretch_bands, min(kmer_count - 1 - band_width - first_kmer, event_count - 1 - last_event));
      inner = room < 16 ? 0 : room & -static_cast<std::int32_t>(bands_per_group);
    }
    if (inner > 0) {
      const auto band_now = static_cast<std::int32_t>(band);
      const std::int32_t lowest_staged = band_now - 2 - first_kmer - 1 - slots;
      float lowest_event = infinity;
      float highest_event = -infinity;
      const std::int32_t staged_count = inner + slots + 8;
      for (std::int32_t i = this_lane; i < staged_count; i += warp_lanes) {
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
      std::int32_t cells = 0;
#pragma unroll
      for (int slot = 0; slot < slots_per_lane; ++slot) {
        cells += lane.score[1][slot] > -infinity ? 1 : 0;
#pragma unroll
        for (int ago = 0; ago < 2; ++ago) {
          const float score = lane.score[ago][slot];
          highest_score = fmaxf(highest_score, score);
          lowest_score = score > -infinity ? fminf(lowest_score, score) : lowest_score;
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

      place.first_block = first_kmer >> 2;
      place.first_lane = place.first_block & (warp_lanes - 1);
      place.above_lane = (place.first_lane + band_blocks) % warp_lanes;
      place.block = block_of_lane(place.first_block, this_lane);
      const Level* const own = levels + std::int64_t{slots_per_lane} * place.block;
      load_levels(lane, own);
      place.staged_event = stage.events + (band_now - 2 - slots_per_lane * place.block - lowest_staged);
      __syncwarp();
#pragma unroll
      for (int slot = 1; slot < slots_per_lane; ++slot) lane.event[(4 - slot) & 3] = place.staged_event[-slot];

      std::uint32_t* const trace_word = traces + band / bands_per_group * group_words + this_lane;
      if (form == FillForm::mixed && arithmetic == Arithmetic::narrow) {
        first_kmer = fill_stretch<Arithmetic::narrow, loop>(lane, place, transition, levels, first_kmer, trace_word, inner, counts);
        narrow_bands += inner;
      } else if (form != FillForm::wide && arithmetic == Arithmetic::checked) {
        first_kmer = fill_stretch<Arithmetic::checked, loop>(lane, place, transition, levels, first_kmer, trace_word, inner, counts);
        checked_bands += inner;
      } else {
        first_kmer = fill_stretch<Arithmetic::wide, FillLoop::single_band>(lane, place, transition, levels, first_kmer, trace_word, inner, counts);
        wide_bands += inner;
      }
      band += inner;
      last_event = static_cast<std::int32_t>(band - 1 - 2 - first_kmer);
      __syncwarp();
      continue;
    }

    // A band that may reach over an edge of the matrix, or with values that need every care.
    const float lower_left = score_of_slot(lane, first_kmer);
    const float upper_right = score_of_slot(lane, first_kmer + band_width - 1);
    const bool right = lower_left == -infinity && upper_right == -infinity ? band % 2 == 1 : lower_left < upper_right;
    first_kmer += right ? 1 : 0;
    last_event += right ? 0 : 1;
    const std::int32_t own_first = slots_per_lane * block_of_lane(first_kmer >> 2, this_lane);
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
    trace_bytes[band / bands_per_group * group_bytes + 4 * this_lane + (3 - band % bands_per_group)] = static_cast<std::uint8_t>(trace);
    ++band;
    ++wide_bands;
  }

  report.end_event = __shfl_sync(whole_warp, best_end_event, ((kmer_count - 1) >> 2) & (warp_lanes - 1));
  report.narrow = narrow_bands;
  report.checked = checked_bands;
  report.repeated = counts.repeated;
  report.wide = wide_bands;
}

template <FillForm form, FillLoop loop, int blocks>
__global__ void __launch_bounds__(warps_per_block* warp_lanes, blocks)
    fill_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, Workspace workspace, CommonTransitions common, const float* __restrict__ event_means, DeviceAlignments alignments) {
  __shared__ FillStage stages[warps_per_block];
  const unsigned int lane = threadIdx.x % warp_lanes;
  while (true) {
    unsigned long long next = 0;
    if (lane == 0) next = atomicAdd(workspace.next_read, 1ULL);
    const auto index = static_cast<std::int64_t>(__shfl_sync(whole_warp, next, 0));
    if (index >= read_count) return;
    const ReadPlan& read = reads[index];
    if (alignments.status[read.row] != AlignmentStatus::ok) continue;
    AlignmentReport report{};
    fill_read<form, loop>(read, workspace.facts[index], common, workspace.levels + read.level_begin, event_means + read.event_begin,
                          workspace.traces + read.trace_begin * group_words, stages[threadIdx.x / warp_lanes], report);
    if (lane == 0) alignments.reports[read.row] = report;
  }
}

// ----------------------------------------------------------------------------------------------------------------------------------------- tracing back

// Small blocks: a batch has few reads, and each walks alone, from load to load.
constexpr int trace_back_threads = 32;

__global__ void __launch_bounds__(trace_back_threads)
    trace_back_kernel(const ReadPlan* __restrict__ reads, std::int64_t read_count, AlignmentLimits limits, Workspace workspace, const float* __restrict__ event_means, DeviceAlignments alignments) {
  const std::int64_t index = std::int64_t{blockIdx.x} * trace_back_threads + threadIdx.x;
  if (index >= read_count) return;
  const ReadPlan read = reads[index];
  if (alignments.status[read.row] != AlignmentStatus::ok) return;
  AlignmentReport report = alignments.reports[read.row];
  if (report.end_event < 0) {
    alignments.status[read.row] = AlignmentStatus::no_end_cell_in_band;
    return;
  }
  const Level* const levels = workspace.levels + read.level_begin;
  const float* const events = event_means + read.event_begin;
  const std::uint32_t* const traces = workspace.traces + read.trace_begin * group_words;
  std::int32_t* const first_event = alignments.first_event + read.kmer_begin;
  std::int32_t* const last_event = alignments.last_event + read.kmer_begin;

  std::int32_t event = report.end_event;
  std::int32_t kmer = read.kmer_count - 1;
  std::int32_t first_pair_event = event;
  std::int32_t first_pair_kmer = kmer;
  std::int32_t skipped = 0;
  std::int32_t first = -1;
  std::int32_t last = -1;
  double sum = 0.0;
  Level level = levels[kmer];
  std::int64_t loaded = -1;
  std::uint32_t word = 0;
  while (true) {
    first_pair_event = event;
    first_pair_kmer = kmer;
    sum = __dadd_rn(sum, static_cast<double>(emission_of_any_level(events[event], level)));
    ++report.pair_count;
    const std::int64_t band = std::int64_t{event} + kmer + 2;
    const std::int64_t at = band / bands_per_group * group_words + ((kmer >> 2) & (warp_lanes - 1));
    if (at != loaded) {
      word = traces[at];
      loaded = at;
      if (at >= 24 * group_words) asm volatile("prefetch.global.L2 [%0];" ::"l"(traces + at - 24 * group_words));
    }
    const auto place = static_cast<std::uint32_t>(8 * (3 - (band & 3)) + 2 * (kmer & 3));
    const bool left = (word >> place & 1U) == 0;
    const bool up = !left && (word >> place & 2U) == 0;
    if (!left) {
      first = event;
      last = last < 0 ? event : last;
    }
    skipped = left ? skipped + 1 : 0;
    report.longest_skip = max(report.longest_skip, skipped);
    event -= left ? 0 : 1;
    if (!up) {
      first_event[kmer] = first;
      last_event[kmer] = last;
      first = last = -1;
      --kmer;
      if (kmer < 0) break;
      level = levels[kmer];
    }
    if (event < 0) break;
  }
  report.average_emission = sum / static_cast<double>(report.pair_count);
  AlignmentStatus status = AlignmentStatus::ok;
  if (report.average_emission < limits.min_average_emission) {
    status = AlignmentStatus::low_average_emission;
  } else if (first_pair_kmer != 0) {
    status = AlignmentStatus::not_spanning;
  } else if (report.longest_skip > limits.max_skipped_kmers) {
    status = AlignmentStatus::too_many_skipped_kmers;
  }
  alignments.reports[read.row] = report;
  alignments.status[read.row] = status;
  if (status != AlignmentStatus::ok) {
    for (std::int32_t i = 0; i < read.kmer_count; ++i) first_event[i] = last_event[i] = -1;
    return;
  }
  // The first k-mer begins at the first pair, entered from the left or not. When it was not left by a move to the k-mer before, nothing was written yet.
  first_event[0] = first_pair_event;
  last_event[0] = max(kmer < 0 ? last_event[0] : last, first_pair_event);
  alignments.events_per_base[read.row] = static_cast<double>(report.end_event - first_pair_event) / static_cast<double>(read.kmer_count);
}

template <FillForm form, FillLoop loop, int blocks>
cudaError_t launch_fill(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  const std::int64_t useful = (work.read_count + warps_per_block - 1) / warps_per_block;
  const auto grid = static_cast<unsigned int>(std::min<std::int64_t>(std::int64_t{multiprocessors} * blocks, useful));
  fill_kernel<form, loop, blocks><<<grid, warps_per_block * warp_lanes, 0, stream>>>(work.reads, work.read_count, workspace_of(work), common_transitions(), batch.event_means, alignments);
  return cudaGetLastError();
}

template <FillForm form, FillLoop loop>
cudaError_t launch_fill(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream, int warps_per_multiprocessor) {
  if (warps_per_multiprocessor >= 32) return launch_fill<form, loop, 8>(work, batch, alignments, stream);
  if (warps_per_multiprocessor >= 24) return launch_fill<form, loop, 6>(work, batch, alignments, stream);
  return launch_fill<form, loop, 5>(work, batch, alignments, stream);
}

}  // namespace

BatchPlan plan_batch(std::span<const std::int64_t> event_offsets, std::span<const std::int64_t> kmer_offsets, std::uint32_t k, const AlignmentLimits& limits) {
  BatchPlan plan;
  plan.limits = limits;
  const std::size_t rows = event_offsets.empty() || event_offsets.size() != kmer_offsets.size() ? 0 : event_offsets.size() - 1;
  plan.reads.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    ReadPlan& read = plan.reads[row];
    read = {};
    read.row = static_cast<std::int64_t>(row);
    read.event_begin = event_offsets[row];
    read.kmer_begin = kmer_offsets[row];
    const std::int64_t event_count = std::max<std::int64_t>(0, event_offsets[row + 1] - event_offsets[row]);
    const std::int64_t kmer_count = std::max<std::int64_t>(0, kmer_offsets[row + 1] - kmer_offsets[row]);
    if (k == 0) {
      read.status = AlignmentStatus::invalid_model;
    } else if (kmer_count == 0) {
      read.status = AlignmentStatus::too_few_kmers;
    } else if (event_count == 0) {
      read.status = AlignmentStatus::no_events;
    } else if (event_count > largest_band_count || kmer_count > largest_band_count - event_count) {
      read.status = AlignmentStatus::read_too_long;
    } else if (static_cast<float>(event_count) / static_cast<float>(static_cast<std::size_t>(kmer_count) + k - 1) >= limits.max_events_per_base) {
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
  std::sort(plan.reads.begin(), plan.reads.end(), [&](const ReadPlan& a, const ReadPlan& b) { return bands(a) != bands(b) ? bands(a) > bands(b) : a.row < b.row; });

  std::int64_t levels = 0;
  for (ReadPlan& read : plan.reads) {
    if (read.status != AlignmentStatus::ok) continue;
    read.level_begin = levels;
    levels += (std::int64_t{read.kmer_count} + spare_levels + 7) / 8 * 8;
  }
  std::int64_t groups = levels * static_cast<std::int64_t>(sizeof(Level)) / group_bytes;
  for (ReadPlan& read : plan.reads) {
    if (read.status != AlignmentStatus::ok) continue;
    read.trace_begin = groups;
    groups += (bands(read) + 2 + bands_per_group - 1) / bands_per_group;
  }
  plan.workspace_bytes = WorkspaceLayout(rows).levels + static_cast<std::size_t>(groups) * group_bytes;
  return plan;
}

cudaError_t prepare_levels(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments, cudaStream_t stream) {
  if (work.read_count <= 0) return cudaSuccess;
  if (work.read_count > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  prepare_kernel<<<static_cast<unsigned int>(work.read_count), prepare_threads, 0, stream>>>(work.reads, workspace_of(work), batch, model, alignments);
  return cudaGetLastError();
}

cudaError_t fill_bands(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream, FillForm form, FillLoop loop,
                       int warps_per_multiprocessor) {
  if (work.read_count <= 0) return cudaSuccess;
  if (const cudaError_t error = cudaMemsetAsync(work.workspace, 0, sizeof(unsigned long long), stream); error != cudaSuccess) return error;
  switch (form) {
    case FillForm::mixed:
      return loop == FillLoop::four_bands ? launch_fill<FillForm::mixed, FillLoop::four_bands>(work, batch, alignments, stream, warps_per_multiprocessor)
                                          : launch_fill<FillForm::mixed, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
    case FillForm::checked:
      return loop == FillLoop::four_bands ? launch_fill<FillForm::checked, FillLoop::four_bands>(work, batch, alignments, stream, warps_per_multiprocessor)
                                          : launch_fill<FillForm::checked, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
    case FillForm::wide:
      return launch_fill<FillForm::wide, FillLoop::single_band>(work, batch, alignments, stream, warps_per_multiprocessor);
  }
  return cudaErrorInvalidValue;
}

cudaError_t trace_back(const DeviceWork& work, const DeviceBatch& batch, const DeviceAlignments& alignments, cudaStream_t stream) {
  if (work.read_count <= 0) return cudaSuccess;
  const auto grid = static_cast<unsigned int>((work.read_count + trace_back_threads - 1) / trace_back_threads);
  trace_back_kernel<<<grid, trace_back_threads, 0, stream>>>(work.reads, work.read_count, work.limits, workspace_of(work), batch.event_means, alignments);
  return cudaGetLastError();
}

cudaError_t align_batch(const DeviceWork& work, const DeviceBatch& batch, const DeviceModel& model, const DeviceAlignments& alignments, cudaStream_t stream) {
  if (const cudaError_t error = prepare_levels(work, batch, model, alignments, stream); error != cudaSuccess) return error;
  if (const cudaError_t error = fill_bands(work, batch, alignments, stream); error != cudaSuccess) return error;
  return trace_back(work, batch, alignments, stream);
}

}  // namespace sluice::abea::cuda
