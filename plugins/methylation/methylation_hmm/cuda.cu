// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The Forward recurrence on a CUDA device. Compile with -fmad=false: every operation stands for one of score_groups_reference.cpp.
//
// A hypothesis of a problem takes a group of 1, 2, 4, ... 32 adjacent lanes; each lane holds a few adjacent k-mers in registers, all groups of a warp
// alike. Lane q works on row s - q in step s, so that the row to its left is ready: three shuffles a step. Scores never leave the registers. The
// k-mers of a group are padded at the front, where -inf stays -inf, so that the last one is always the last register of the last lane.
//
// Problems are sorted by shape (lanes, k-mers a lane) and rows, longest first, by counting; warps take work from a queue. The log-sum table lies in
// shared memory, once per block.

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "methylation_hmm/cuda.hpp"
#include "methylation_hmm/profile_hmm.hpp"

namespace sluice::methylation_hmm::cuda {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
constexpr int kTableEntries = kLogSumLast + 1;
constexpr int kTableWords = (kTableEntries + 3) / 4 * 4;  // whole float4
constexpr std::size_t kAlignment = 256;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// ---- Shapes ------------------------------------------------------------------------------------------------------------

// Measured on an H200, ecoli-like reads: 8 columns and 640 threads 2.97 Gbases/s (512: 2.95, 768: 2.89); 4 columns 2.10; 16 columns 2.74.
constexpr int kColumns = 8;  // k-mers a lane at most
constexpr int kScoreThreads = 640;
constexpr int kLongColumns = 32;  // k-mers a lane for problems of more than 32 * kColumns k-mers: state in local memory, hostile input only
constexpr int kLaneSizes = 6;     // 1, 2, 4, 8, 16, 32 lanes
constexpr int kShapes = kLaneSizes * kColumns;
constexpr int kLongShape = kShapes;
constexpr int kRowBuckets = 64;
constexpr int kBins = (kShapes + 1) * kRowBuckets;

// lanes * columns >= k-mers, with the fewest lanes.
__device__ int shape_of(int kmers) {
  int lane_size = 0;
  while ((kColumns << lane_size) < kmers) {
    if (++lane_size == kLaneSizes) return kLongShape;
  }
  const int columns = (kmers + (1 << lane_size) - 1) >> lane_size;
  return lane_size * kColumns + columns - 1;
}
__host__ __device__ constexpr int lanes_of(int shape) { return shape == kLongShape ? kWarp : 1 << (shape / kColumns); }
__host__ __device__ constexpr int columns_of(int shape) { return shape == kLongShape ? kLongColumns : shape % kColumns + 1; }
// A warp holds both hypotheses of this many problems; with 32 lanes a hypothesis, one problem after another hypothesis.
__host__ __device__ constexpr int problems_a_warp(int shape) { return lanes_of(shape) == kWarp ? 1 : kWarp / (2 * lanes_of(shape)); }

// Bins in the order of work: most work first within a shape, shapes with more lanes (longer problems) first.
__device__ int bin_of(int shape, std::int64_t rows) {
  const int width = 31 - __clz(static_cast<int>(rows < 0x7FFFFFFF ? rows : 0x7FFFFFFF) | 1);
  // Up to 64 rows four rows a bucket, above that four buckets an octave.
  int bucket = rows < 64 ? static_cast<int>(rows / 4) : 16 + (width - 6) * 4 + static_cast<int>((rows >> (width - 2)) & 3);
  if (bucket >= kRowBuckets) bucket = kRowBuckets - 1;
  return (kShapes - shape) * kRowBuckets + (kRowBuckets - 1 - bucket);
}

// ---- Workspace ---------------------------------------------------------------------------------------------------------

struct Queue {
  std::uint32_t bin_count[kBins];
  std::uint32_t bin_begin[kBins];          // in `order`; while the problems are put in order, the next free place
  std::uint32_t shape_begin[kShapes + 2];  // first entry of `order` of the shape_of_bin order
  std::uint32_t shape_work[kShapes + 2];   // first warp-sized piece of work
  std::uint32_t next_work;
  std::uint32_t next_long;
};

struct Workspace {
  Queue* queue;
  float2* transitions;   // by read: match_stay, match_next; NaN where there are none
  std::uint32_t* bin;    // by problem, kBins for none
  std::uint32_t* order;  // problems in order of work
};

constexpr std::uint32_t kNoBin = kBins;

Workspace divide(void* memory, std::uint32_t reads, std::uint32_t problems) {
  auto* at = static_cast<std::byte*>(memory);
  const auto take = [&at](std::size_t bytes) {
    std::byte* const part = at;
    at += aligned(bytes);
    return part;
  };
  Workspace workspace;
  workspace.queue = reinterpret_cast<Queue*>(take(sizeof(Queue)));
  workspace.transitions = reinterpret_cast<float2*>(take(sizeof(float2) * reads));
  workspace.bin = reinterpret_cast<std::uint32_t*>(take(sizeof(std::uint32_t) * problems));
  workspace.order = reinterpret_cast<std::uint32_t*>(take(sizeof(std::uint32_t) * problems));
  return workspace;
}

// ---- Preparation -------------------------------------------------------------------------------------------------------

__global__ void compute_transitions(Reads reads, EventsPerBase floor, float2* transitions) {
  const std::uint32_t read = blockIdx.x * blockDim.x + threadIdx.x;
  if (read >= reads.count) return;
  float stay = 0.0F;
  float next = 0.0F;
  const bool ok = make_read_transitions(reads.events_per_base[read], floor, stay, next);
  const float none = std::numeric_limits<float>::quiet_NaN();
  transitions[read] = ok ? make_float2(stay, next) : make_float2(none, none);
}

__device__ std::int64_t rows_of(const Problems& problems, std::uint32_t problem) {
  const std::int64_t distance = static_cast<std::int64_t>(problems.last_event[problem]) - problems.first_event[problem];
  return (distance < 0 ? -distance : distance) + 1;
}

// check_problem, but for the event means, which the scoring kernel sees anyway.
__device__ ScoreStatus check(const Reads& reads, const Problems& problems, const Tables& tables, const float2* transitions, std::uint32_t problem) {
  const std::uint32_t read = problems.read[problem];
  if (read >= reads.count) return ScoreStatus::no_such_read;
  const std::int64_t begin = reads.event_offsets[read];
  const std::int64_t events = reads.event_offsets[read + 1] - begin;
  const std::int64_t first = problems.first_event[problem];
  const std::int64_t last = problems.last_event[problem];
  const std::int64_t lowest = first < last ? first : last;
  const std::int64_t highest = first < last ? last : first;
  if (lowest < 0 || highest >= 0x7FFFFFFF || highest >= events || highest - lowest + 1 > tables.clipping_count) return ScoreStatus::no_such_event;
  const std::int32_t length = problems.sequence_length[problem];
  if (length < 0 || static_cast<std::uint32_t>(length) < tables.k) return ScoreStatus::sequence_too_short;
  if (length > static_cast<std::int32_t>(kMaximumSequenceLength)) return ScoreStatus::sequence_too_long;
  if (!isnan(transitions[read].x)) return ScoreStatus::ok;
  for (std::int64_t i = lowest; i <= highest; ++i) {
    if (!is_usable(reads.event_mean[begin + i])) return ScoreStatus::not_finite;
  }
  return ScoreStatus::bad_events_per_base;
}

constexpr int kSortThreads = 512;

__global__ void count_bins(Reads reads, Problems problems, Tables tables, Scores scores, Workspace workspace) {
  __shared__ std::uint32_t counts[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) counts[bin] = 0;
  __syncthreads();
  const std::uint32_t count = problems.count;
  for (std::uint32_t problem = blockIdx.x * blockDim.x + threadIdx.x; problem < count; problem += gridDim.x * blockDim.x) {
    const ScoreStatus status = check(reads, problems, tables, workspace.transitions, problem);
    scores.status[problem] = status;
    std::uint32_t bin = kNoBin;
    if (status == ScoreStatus::ok) {
      const int kmers = problems.sequence_length[problem] - static_cast<int>(tables.k) + 1;
      bin = static_cast<std::uint32_t>(bin_of(shape_of(kmers), rows_of(problems, problem)));
      atomicAdd(&counts[bin], 1U);
    } else {
      scores.log_lik_methylated[problem] = std::numeric_limits<float>::quiet_NaN();
      scores.log_lik_unmethylated[problem] = std::numeric_limits<float>::quiet_NaN();
    }
    workspace.bin[problem] = bin;
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    if (counts[bin] != 0) atomicAdd(&workspace.queue->bin_count[bin], counts[bin]);
  }
}

// One thread a shape, then one thread for the few sums over shapes.
__global__ void make_queue(Queue* queue) {
  __shared__ std::uint32_t totals[kShapes + 1];
  const int place = threadIdx.x;  // shapes in order of work: place 0 is kLongShape
  if (place <= kShapes) {
    std::uint32_t sum = 0;
    for (int i = 0; i < kRowBuckets; ++i) sum += queue->bin_count[place * kRowBuckets + i];
    totals[place] = sum;
  }
  __syncthreads();
  if (place == 0) {
    std::uint32_t begin = 0;
    std::uint32_t work = 0;
    for (int i = 0; i <= kShapes; ++i) {
      queue->shape_begin[i] = begin;
      queue->shape_work[i] = work;
      begin += totals[i];
      const auto at_once = static_cast<std::uint32_t>(problems_a_warp(kShapes - i));
      if (i > 0) work += (totals[i] + at_once - 1) / at_once;  // the long ones have a kernel of their own
    }
    queue->shape_begin[kShapes + 1] = begin;
    queue->shape_work[kShapes + 1] = work;
    queue->next_work = 0;
    queue->next_long = 0;
  }
  __syncthreads();
  if (place <= kShapes) {
    std::uint32_t begin = queue->shape_begin[place];
    for (int i = 0; i < kRowBuckets; ++i) {
      queue->bin_begin[place * kRowBuckets + i] = begin;
      begin += queue->bin_count[place * kRowBuckets + i];
    }
  }
}

__global__ void put_in_order(Problems problems, Workspace workspace) {
  __shared__ std::uint32_t counts[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) counts[bin] = 0;
  __syncthreads();
  const std::uint32_t count = problems.count;
  // A block takes consecutive problems, so that what it counts and what it places are the same.
  const std::uint32_t share = (count + gridDim.x - 1) / gridDim.x;
  const std::uint64_t begin = static_cast<std::uint64_t>(share) * blockIdx.x;
  const std::uint64_t end = min(begin + share, static_cast<std::uint64_t>(count));
  for (std::uint64_t problem = begin + threadIdx.x; problem < end; problem += blockDim.x) {
    const std::uint32_t bin = workspace.bin[problem];
    if (bin != kNoBin) atomicAdd(&counts[bin], 1U);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    if (counts[bin] != 0) counts[bin] = atomicAdd(&workspace.queue->bin_begin[bin], counts[bin]);
  }
  __syncthreads();
  for (std::uint64_t problem = begin + threadIdx.x; problem < end; problem += blockDim.x) {
    const std::uint32_t bin = workspace.bin[problem];
    if (bin != kNoBin) workspace.order[atomicAdd(&counts[bin], 1U)] = static_cast<std::uint32_t>(problem);
  }
}

// ---- Scoring -----------------------------------------------------------------------------------------------------------

// Adding 2^23, rounded towards zero, leaves int(x) in the low bits of a float for 0 <= x < 2^23: a conversion at the full rate of additions.
constexpr float kTruncate = 0x1p23F;
constexpr auto kTruncateBits = std::bit_cast<std::uint32_t>(kTruncate);

struct LogSums {
  std::uint32_t address;  // of entry 0 in shared memory, less 4 times the bits of kTruncate

  __device__ explicit LogSums(const float* table) : address(static_cast<std::uint32_t>(__cvta_generic_to_shared(table)) - 4U * kTruncateBits) {}

  // Where both terms are -inf the product is NaN and the minimum yields the limit.
  __device__ __forceinline__ float operator()(float a, float b) const {
    const float clamped = fminf(fabsf((a - b) * kLogSumScale), static_cast<float>(kLogSumLast));
    const std::uint32_t bits = __float_as_uint(__fadd_rz(clamped, kTruncate));
    float tail;
    asm("ld.shared.f32 %0, [%1];" : "=f"(tail) : "r"(address + 4U * bits));
    return fmaxf(a, b) + tail;
  }
};

__device__ void load_table(const float* __restrict__ from, float* to) {
  const auto* from4 = reinterpret_cast<const float4*>(from);
  auto* to4 = reinterpret_cast<float4*>(to);
  for (int i = threadIdx.x; i < kTableWords / 4; i += blockDim.x) to4[i] = from4[i];
  __syncthreads();
}

// One k-mer of one hypothesis.
struct Level {
  float mean;
  float stdv;
  float reciprocal;  // of stdv, correctly rounded
  float constant;
};

// scale_level and is_usable of profile_hmm.hpp.
__device__ __forceinline__ bool make_level(const float4& model, float scale, float shift, float var, float log_var, Level& level) {
  const ScaledLevel scaled{scale * model.x + shift, model.y * var, -0.918938F - (model.z + log_var)};
  level = {scaled.mean, scaled.stdv, __frcp_rn(scaled.stdv), scaled.constant};
  if (is_usable(scaled)) return true;
  level = {0.0F, 1.0F, 1.0F, 0.0F};
  return false;
}

// The quotient is the correctly rounded one: after one correction of RN(d r) it is off by less than one unit of the last place, and the second
// correction, whose remainder is exact, rounds it (Markstein). Where |d| < 2^-100 the remainder is not exact; then a^2 < 2^-100 and changes neither a
// constant (0 or at least 2^-25) nor, where that is 0, the sum it is added to and all that follows: transitions are at least 2^-9 in size.
__device__ __forceinline__ float emission(float event, const Level& level) {
  const float d = event - level.mean;
  float a = d * level.reciprocal;
  a = __fmaf_rn(__fmaf_rn(-a, level.stdv, d), level.reciprocal, a);
  a = __fmaf_rn(__fmaf_rn(-a, level.stdv, d), level.reciprocal, a);
  return level.constant + (-0.5F * a) * a;
}

// Codes of A, C, G, T in the methylation alphabet; any other letter counts as A.
__device__ __forceinline__ std::uint32_t code_of(char letter) { return letter == 'C' ? 1U : letter == 'G' ? 2U : letter == 'T' ? 4U : 0U; }
__device__ __forceinline__ std::uint32_t complement_code_of(char letter) {
  return letter == 'C' ? 2U : letter == 'G' ? 1U : letter == 'T' ? 0U : letter == 'A' ? 4U : 0U;
}

// The bases of a problem as one hypothesis reads them.
struct HypothesisBases {
  const char* sequence;
  int length;
  bool reverse;
  const MotifSites* sites;  // whose modified base is M; null: none is

  __device__ std::uint32_t code(int i) const {
    const char letter = sequence[i];
    if (sites != nullptr && (motif_bit(letter) & sites->bases[sites->modified]) != 0) {
      const int begin = i - sites->modified;
      if (begin >= 0 && begin + sites->length <= length && is_motif_site(sequence + begin, *sites)) return 3U;
    }
    return reverse ? complement_code_of(letter) : code_of(letter);
  }
};

// What a group of lanes scores: one hypothesis of one problem. rows is 0 where there is none.
struct Unit {
  const float* first_event;  // pointer to the event of row 0
  int step;                  // 1 or -1
  int rows;
  int pad;  // columns before the first k-mer
  float match_stay;
  float match_next;
  float scale, shift, var, log_var;
  HypothesisBases bases;
};

__device__ Unit make_unit(const Reads& reads, const Problems& problems, const Tables& tables, const float2* transitions, std::uint32_t problem,
                          bool methylated, int stored_columns) {
  const std::uint32_t read = problems.read[problem];
  const std::int32_t first = problems.first_event[problem];
  Unit unit;
  unit.first_event = reads.event_mean + reads.event_offsets[read] + first;
  unit.step = first <= problems.last_event[problem] ? 1 : -1;
  unit.rows = static_cast<int>(rows_of(problems, problem));
  const bool reverse = reads.is_reverse[read] != 0;
  unit.bases = {problems.bases + problems.sequence_begin[problem], problems.sequence_length[problem], reverse,
                methylated ? tables.sites + (reverse ? 1 : 0) : nullptr};
  unit.pad = stored_columns - (unit.bases.length - static_cast<int>(tables.k) + 1);
  const float2 of_read = transitions[read];
  unit.match_stay = of_read.x;
  unit.match_next = of_read.y;
  unit.scale = reads.scale[read];
  unit.shift = reads.shift[read];
  unit.var = reads.var[read];
  unit.log_var = reads.log_var[read];
  return unit;
}

__device__ Unit no_unit() {
  Unit unit{};
  unit.rows = 0;
  unit.step = 1;
  unit.pad = 0;
  return unit;
}

// Fills the levels of the lane's columns; false if one of them is not usable.
template <int columns, class Levels>
__device__ __forceinline__ bool fill_levels(const Unit& unit, const Tables& tables, int lane, Levels& levels) {
  const int k = static_cast<int>(tables.k);
  std::uint32_t top = 1;
  for (int i = 1; i < k; ++i) top *= 5U;
  bool usable = true;
  std::uint32_t rank = 0;
  bool begun = false;
#pragma unroll
  for (int j = 0; j < columns; ++j) {
    const int kmer = lane * columns + j - unit.pad;
    levels[j] = {0.0F, 1.0F, 1.0F, 0.0F};
    if (unit.rows == 0 || kmer < 0) continue;
    // On the reverse strand the base that enters on the right of the forward strand is the first of the reverse complement.
    for (int i = begun ? kmer + k - 1 : kmer; i < kmer + k; ++i) {
      const std::uint32_t code = unit.bases.code(i);
      if (unit.bases.reverse) {
        rank = rank / 5U + code * top;
      } else {
        rank = rank % top * 5U + code;
      }
    }
    begun = true;
    usable = make_level(tables.levels[rank], unit.scale, unit.shift, unit.var, unit.log_var, levels[j]) && usable;
  }
  return usable;
}

// One warp: every group of `lanes` lanes its unit. Returns the log-likelihood in the last lane of each group; `usable` is cleared in lanes that saw a
// value that is not usable.
template <int columns>
__device__ __forceinline__ float forward(const Unit& unit, const Tables& tables, const LogSums& log_sum, int lanes, bool& usable) {
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const bool is_first = lane == 0;
  const bool is_last = lane == lanes - 1;
  Level level[columns];
  usable = fill_levels<columns>(unit, tables, lane, level);
  const int entry = unit.pad / columns == lane ? unit.pad % columns : -1;  // the column of the first k-mer

  float match[columns];
  float bad[columns];
  float skip[columns];
#pragma unroll
  for (int j = 0; j < columns; ++j) match[j] = bad[j] = skip[j] = kMinusInfinity;
  float old_left_match = kMinusInfinity;
  float old_left_bad = kMinusInfinity;
  float old_left_skip = kMinusInfinity;
  float end = kMinusInfinity;
  const int steps = __reduce_max_sync(kAllLanes, static_cast<unsigned>(unit.rows)) + lanes - 1;

  const auto is_row = [&](int row) { return row >= 0 && row < unit.rows; };
  const auto event_of = [&](int row) { return is_row(row) ? __ldg(unit.first_event + static_cast<std::int64_t>(row) * unit.step) : 0.0F; };
  const auto before_of = [&](int row) { return is_row(row) ? __ldg(tables.clipping + row) : kMinusInfinity; };
  const auto after_of = [&](int row) { return is_row(row) ? __ldg(tables.clipping + (unit.rows - 1 - row)) : kMinusInfinity; };
  float next_event = event_of(-lane);
  float next_before = before_of(-lane);
  float next_after = after_of(-lane);
  for (int step = 0; step < steps; ++step) {
    const float event = next_event;
    const float before = next_before;
    const float after = next_after;
    next_event = event_of(step + 1 - lane);
    next_before = before_of(step + 1 - lane);
    next_after = after_of(step + 1 - lane);
    usable = usable && is_usable(event);

    float left_match = __shfl_up_sync(kAllLanes, match[columns - 1], 1, lanes);
    float left_bad = __shfl_up_sync(kAllLanes, bad[columns - 1], 1, lanes);
    float left_skip = __shfl_up_sync(kAllLanes, skip[columns - 1], 1, lanes);
    if (is_first) left_match = left_bad = left_skip = kMinusInfinity;
    // "old": the row before, "left": the column before.
    float old_match = old_left_match;
    float old_bad = old_left_bad;
    float old_skip = old_left_skip;
    old_left_match = left_match;
    old_left_bad = left_bad;
    old_left_skip = left_skip;
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      const float own_match = match[j];
      const float own_bad = bad[j];
      const float own_skip = skip[j];
      float sum = log_sum(own_match + unit.match_stay, old_match + unit.match_next);
      sum = log_sum(sum, own_bad + kLogBadOut);
      sum = log_sum(sum, old_bad + kLogBadOut);
      // The first k-mer has nothing to its left but the way in, and the others have no way in.
      sum = log_sum(sum, j == entry ? before : old_skip + kLogSkipOut);
      const float new_match = sum + emission(event, level[j]);
      const float new_bad = log_sum(own_match + kLogBad, own_bad + kLogBad);
      float new_skip = log_sum(left_match + kLogSkip, left_bad + kLogBadOut);
      new_skip = log_sum(new_skip, left_skip + kLogSkipSelf);
      old_match = own_match;
      old_bad = own_bad;
      old_skip = own_skip;
      match[j] = left_match = new_match;
      bad[j] = left_bad = new_bad;
      skip[j] = left_skip = new_skip;
    }
    if (is_last) {
      end = log_sum(end, match[columns - 1] + after);
      end = log_sum(end, bad[columns - 1] + after);
      end = log_sum(end, skip[columns - 1] + after);
    }
  }
  return end;
}

__device__ void write_score(const Scores& scores, std::uint32_t problem, bool methylated, float score, bool usable) {
  float* const to = methylated ? scores.log_lik_methylated : scores.log_lik_unmethylated;
  to[problem] = usable ? score : std::numeric_limits<float>::quiet_NaN();
  if (!usable) scores.status[problem] = ScoreStatus::not_finite;
}

template <int columns>
__device__ void score_work(const Reads& reads, const Problems& problems, const Tables& tables, const Workspace& workspace, const LogSums& log_sum,
                           const Scores& scores, int lanes, std::uint32_t first, std::uint32_t end) {
  const int in_warp = static_cast<int>(threadIdx.x) % kWarp;
  const int group = in_warp / lanes;
  if (lanes == kWarp) {
    const std::uint32_t problem = workspace.order[first];
    bool usable[2];
    float score[2];
    for (int hypothesis = 0; hypothesis < 2; ++hypothesis) {
      const Unit unit = make_unit(reads, problems, tables, workspace.transitions, problem, hypothesis == 1, lanes * columns);
      bool lane_usable = true;
      score[hypothesis] = forward<columns>(unit, tables, log_sum, lanes, lane_usable);
      usable[hypothesis] = __all_sync(kAllLanes, lane_usable);
    }
    if (in_warp == kWarp - 1) {
      write_score(scores, problem, false, score[0], usable[0] && usable[1]);
      write_score(scores, problem, true, score[1], usable[0] && usable[1]);
    }
    return;
  }
  const std::uint32_t at = first + static_cast<std::uint32_t>(group / 2);
  const bool methylated = group % 2 == 1;
  const bool exists = at < end;
  const std::uint32_t problem = exists ? workspace.order[at] : 0;
  const Unit unit = exists ? make_unit(reads, problems, tables, workspace.transitions, problem, methylated, lanes * columns) : no_unit();
  bool lane_usable = true;
  const float score = forward<columns>(unit, tables, log_sum, lanes, lane_usable);
  const std::uint32_t unusable = __ballot_sync(kAllLanes, !lane_usable);
  const int width = 2 * lanes;  // both hypotheses of a problem
  const std::uint32_t of_problem = (width == kWarp ? kAllLanes : (1U << width) - 1U) << (in_warp / width * width);
  if (exists && (in_warp & (lanes - 1)) == lanes - 1) write_score(scores, problem, methylated, score, (unusable & of_problem) == 0);
}

// score_work<columns>, columns from `lowest` to `highest`.
template <int lowest, int highest, class... Arguments>
__device__ __forceinline__ void dispatch(int columns, const Arguments&... arguments) {
  if constexpr (lowest <= highest) {
    if (columns == lowest) {
      score_work<lowest>(arguments...);
    } else {
      dispatch<lowest + 1, highest>(columns, arguments...);
    }
  }
}

__global__ void __launch_bounds__(kScoreThreads) score_kernel(Reads reads, Problems problems, Tables tables, Workspace workspace, Scores scores) {
  extern __shared__ float4 shared_table[];
  float* const table = reinterpret_cast<float*>(shared_table);
  load_table(tables.log_sums, table);
  const LogSums log_sum(table);
  const Queue& queue = *workspace.queue;
  const std::uint32_t all_work = queue.shape_work[kShapes + 1];
  const bool asks = threadIdx.x % kWarp == 0;
  int place = 1;
  for (;;) {
    std::uint32_t work = asks ? atomicAdd(&workspace.queue->next_work, 1U) : 0U;
    work = __shfl_sync(kAllLanes, work, 0);
    if (work >= all_work) return;
    while (work >= queue.shape_work[place + 1]) ++place;
    const int shape = kShapes - place;
    const auto at_once = static_cast<std::uint32_t>(problems_a_warp(shape));
    const std::uint32_t first = queue.shape_begin[place] + (work - queue.shape_work[place]) * at_once;
    dispatch<1, kColumns>(columns_of(shape), reads, problems, tables, workspace, log_sum, scores, lanes_of(shape), first,
                          queue.shape_begin[place + 1]);
  }
}

// Problems longer than any shape.
__global__ void __launch_bounds__(64) score_long_kernel(Reads reads, Problems problems, Tables tables, Workspace workspace, Scores scores) {
  Queue& queue = *workspace.queue;
  const std::uint32_t count = queue.shape_begin[1];
  if (count == 0) return;
  extern __shared__ float4 shared_table[];
  float* const table = reinterpret_cast<float*>(shared_table);
  load_table(tables.log_sums, table);
  const LogSums log_sum(table);
  const bool asks = threadIdx.x % kWarp == 0;
  for (;;) {
    std::uint32_t work = asks ? atomicAdd(&queue.next_long, 1U) : 0U;
    work = __shfl_sync(kAllLanes, work, 0);
    if (work >= count) return;
    score_work<kLongColumns>(reads, problems, tables, workspace, log_sum, scores, kWarp, work, count);
  }
}

constexpr std::size_t kTableBytes = sizeof(float) * kTableWords;

template <class Kernel>
cudaError_t launch_scoring(Kernel kernel, int threads, const Reads& reads, const Problems& problems, const Tables& tables, const Workspace& workspace,
                           const Scores& scores, cudaStream_t stream) {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTableBytes); error != cudaSuccess)
    return error;
  if (const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, kTableBytes); error != cudaSuccess)
    return error;
  if (blocks == 0) return cudaErrorInvalidConfiguration;
  kernel<<<multiprocessors * blocks, threads, kTableBytes, stream>>>(reads, problems, tables, workspace, scores);
  return cudaGetLastError();
}

}  // namespace

std::size_t tables_bytes(const KmerModelView& model, std::int64_t longest_read_events) {
  return aligned(sizeof(float4) * model.level_mean.size()) + aligned(kTableBytes) + aligned(2 * sizeof(MotifSites)) +
         aligned(sizeof(float) * static_cast<std::size_t>(longest_read_events));
}

cudaError_t upload_tables(const KmerModelView& model, const Motif& motif, std::int64_t longest_read_events, void* memory, cudaStream_t stream,
                          Tables& tables) {
  if (!is_usable(model) || longest_read_events < 0) return cudaErrorInvalidValue;
  std::vector<float4> levels(model.level_mean.size());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = make_float4(model.level_mean[i], model.level_stdv[i], model.log_level_stdv[i], 0.0F);
  std::vector<float> log_sums(log_sum_table(), log_sum_table() + kTableEntries);
  log_sums.resize(kTableWords);
  const std::vector<MotifSites> sites{motif.forward, motif.reverse};
  std::vector<float> clipping;
  extend_clipping(clipping, static_cast<std::size_t>(longest_read_events));

  auto* at = static_cast<std::byte*>(memory);
  const auto copy = [&](const auto& from) {
    using Value = typename std::remove_cvref_t<decltype(from)>::value_type;
    const std::size_t bytes = from.size() * sizeof(Value);
    auto* const to = reinterpret_cast<Value*>(at);
    const cudaError_t error = cudaMemcpyAsync(to, from.data(), bytes, cudaMemcpyHostToDevice, stream);
    at += aligned(bytes);
    return std::pair(to, error);
  };
  const auto [device_levels, levels_error] = copy(levels);
  const auto [device_sums, sums_error] = copy(log_sums);
  const auto [device_sites, sites_error] = copy(sites);
  const auto [device_clipping, clipping_error] = copy(clipping);
  for (const cudaError_t error : {levels_error, sums_error, sites_error, clipping_error, cudaStreamSynchronize(stream)}) {
    if (error != cudaSuccess) return error;
  }
  tables = {device_levels, device_sums, device_clipping, device_sites, longest_read_events, model.k};
  return cudaSuccess;
}

std::size_t score_workspace_bytes(std::uint32_t reads, std::uint32_t problems) {
  return aligned(sizeof(Queue)) + aligned(sizeof(float2) * reads) + 2 * aligned(sizeof(std::uint32_t) * problems);
}

cudaError_t score_groups(const Reads& reads, const Problems& problems, const Tables& tables, EventsPerBase events_per_base, const Scores& scores,
                         void* memory, cudaStream_t stream) {
  if (problems.count == 0) return cudaSuccess;
  const Workspace workspace = divide(memory, reads.count, problems.count);
  if (const cudaError_t error = cudaMemsetAsync(workspace.queue, 0, sizeof(Queue), stream); error != cudaSuccess) return error;
  if (reads.count > 0) {
    compute_transitions<<<(reads.count + 127) / 128, 128, 0, stream>>>(reads, events_per_base, workspace.transitions);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  const std::uint32_t sort_blocks = std::min<std::uint32_t>(264, (problems.count + kSortThreads - 1) / kSortThreads);
  count_bins<<<sort_blocks, kSortThreads, 0, stream>>>(reads, problems, tables, scores, workspace);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  make_queue<<<1, 128, 0, stream>>>(workspace.queue);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  put_in_order<<<sort_blocks, kSortThreads, 0, stream>>>(problems, workspace);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;

  if (const cudaError_t error = launch_scoring(score_kernel, kScoreThreads, reads, problems, tables, workspace, scores, stream); error != cudaSuccess)
    return error;
  return launch_scoring(score_long_kernel, 64, reads, problems, tables, workspace, scores, stream);
}

}  // namespace sluice::methylation_hmm::cuda
