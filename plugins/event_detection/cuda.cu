// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compile with -fmad=false, as cuda_statistic.hpp asks.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "event_detection/cuda.hpp"
#include "event_detection/cuda_statistic.hpp"

namespace sluice::event_detection::cuda {
namespace {

// ---- What is known of a batch, in the workspace
// -------------------------------------------------------------------------------------------------------

struct ReadRecord : Read {
  std::uint32_t path_lost;      // not 0: some chunk could not do the read
  std::uint32_t has_boundary;   // found by chunks
  std::uint32_t slow_boundary;  // found by the slow walk
  std::uint32_t out_of_range;
  float smallest, largest;  // pA, both positive unless path_lost; as bits they are in the same order
  double square_bound;      // no less than the sum of all squares, but for rounding
};

// The state of the peak picker between two positions.
struct PickerState {
  float value;         // lowest or highest statistic of the present descent or peak
  std::int32_t peak;   // position of the peak's maximum, negative in a descent
  std::int32_t first;  // first position that the long detector sees, INT_MAX while a high peak suppresses it
  std::int32_t fell;
};

// Positions [first, stop) that only the long detector decides.
struct Stretch {
  std::int64_t row;
  std::int32_t first, stop;
};

// Samples per tile, the unit of counting and emission: a word of marks per lane of a warp.
constexpr int tile_samples = 1024;
constexpr int tiles_per_sum = 1024;

// Samples are loaded in aligned groups of 8. If the batch does not begin at one, its samples are counted from the group's begin.
constexpr int most_shift = 7;

struct Layout {
  std::int64_t rows, samples, tiles, chunks, sums, stretch_capacity;
  std::size_t records, marks, early_marks, starts, ends, slow_rows, stretches, tile_rank, tile_row, sum_rank, bytes;

  Layout(std::int64_t row_count, std::int64_t sample_count, const Division& division)
      : rows(std::max<std::int64_t>(row_count, 0)), samples(std::max<std::int64_t>(sample_count, 0) + most_shift) {
    tiles = (samples + tile_samples - 1) / tile_samples;
    chunks = (samples + division.chunk_samples - 1) / division.chunk_samples;
    sums = (tiles + tiles_per_sum - 1) / tiles_per_sum;
    stretch_capacity = samples / 64 + 1024;
    std::size_t next = 256;  // the Account
    const auto take = [&next](std::int64_t count, std::size_t size) {
      const std::size_t begin = next;
      next += (static_cast<std::size_t>(count) * size + 255) / 256 * 256;
      return begin;
    };
    records = take(rows, sizeof(ReadRecord));
    // Whole chunks and whole tiles are written.
    marks = take((tiles + 1) * (tile_samples / 32) + division.chunk_samples / 32, sizeof(std::uint32_t));
    early_marks = take(chunks, sizeof(std::uint32_t));
    starts = take(chunks, sizeof(PickerState));
    ends = take(chunks, sizeof(PickerState));
    slow_rows = take(rows, sizeof(std::int64_t));
    stretches = take(stretch_capacity, sizeof(Stretch));
    tile_rank = take(tiles + 1, sizeof(std::uint32_t));
    tile_row = take(tiles + 1, sizeof(std::int64_t));
    sum_rank = take(sums + 1, sizeof(std::int64_t));
    bytes = next;
  }
};

// Everything the kernels need.
struct Frame {
  Signals signals;
  DetectorParams params;
  Division division;
  std::int64_t shift;  // of the batch's first sample from signals.samples
  std::int64_t tiles, chunks, sums, stretch_capacity;
  Account* account;
  ReadRecord* records;
  std::uint32_t* marks;        // one bit per sample: an event starts there
  std::uint32_t* early_marks;  // per chunk: the 32 samples before it
  PickerState* starts;         // per chunk: the guess at its first sample
  PickerState* ends;           // per chunk: after its last sample
  std::int64_t* slow_rows;
  Stretch* stretches;
  std::uint32_t* tile_rank;  // marks before a tile, within its group of tiles_per_sum
  std::int64_t* tile_row;    // the read of a tile's first sample, or the next one
  std::int64_t* sum_rank;    // marks before a group of tiles
  // Above this t-statistic of the short window the long one may exceed its threshold: see statistic_bound.
  float long_possible_above;

  Frame(const Signals& s, const DetectorParams& p, void* workspace, const Division& d) : signals(s), params(p), division(d) {
    const Layout layout(s.rows, s.sample_count, d);
    char* const base = static_cast<char*>(workspace);
    shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(s.samples) % 16 / sizeof(std::int16_t));
    signals.samples -= shift;
    signals.sample_count += shift;
    tiles = layout.tiles;
    chunks = layout.chunks;
    sums = layout.sums;
    stretch_capacity = layout.stretch_capacity;
    account = reinterpret_cast<Account*>(base);
    records = reinterpret_cast<ReadRecord*>(base + layout.records);
    marks = reinterpret_cast<std::uint32_t*>(base + layout.marks);
    early_marks = reinterpret_cast<std::uint32_t*>(base + layout.early_marks);
    starts = reinterpret_cast<PickerState*>(base + layout.starts);
    ends = reinterpret_cast<PickerState*>(base + layout.ends);
    slow_rows = reinterpret_cast<std::int64_t*>(base + layout.slow_rows);
    stretches = reinterpret_cast<Stretch*>(base + layout.stretches);
    tile_rank = reinterpret_cast<std::uint32_t*>(base + layout.tile_rank);
    tile_row = reinterpret_cast<std::int64_t*>(base + layout.tile_row);
    sum_rank = reinterpret_cast<std::int64_t*>(base + layout.sum_rank);
    long_possible_above = 0.0F;
  }
};

// ---- The walk over a chunk
// ----------------------------------------------------------------------------------------------------------------------------

// Both detectors over one chunk of the batch, which may hold parts of several reads. A read that began before the chunk is guessed: its walk begins
// warm_up_samples earlier with a fresh detector. Any two walks agree from the first boundary on that both report at the same position, which takes a
// few boundaries. compare_guesses checks every guess.
template <int W, class Sink>
class ChunkWalk {
 public:
  __host__ __device__ ChunkWalk(const Frame& frame, Sink& sink, std::int64_t chunk)
      : frame_(frame),
        sink_(sink),
        chunk_(chunk),
        chunk_begin_(chunk * frame.division.chunk_samples),
        height_(frame.params.peak_height),
        threshold_(frame.params.threshold_short),
        settling_(static_cast<std::int32_t>(frame.params.window_long / 2 + 3)) {}

  __host__ __device__ void run(std::int64_t first_row) {
    const std::int64_t chunk_end = min(chunk_begin_ + frame_.division.chunk_samples, frame_.signals.sample_count);
    for (std::int64_t row = first_row; row < frame_.signals.rows; ++row) {
      const Read read = frame_.records[row];
      if (read.begin >= chunk_end) break;
      if (read.path == ReadPath::chunked && read.begin + read.length > chunk_begin_) walk(row, read, chunk_end);
    }
    move_to_word(frame_.division.chunk_samples / 32 + 1);
  }

 private:
  __host__ __device__ void walk(std::int64_t row, const Read& read, std::int64_t chunk_end) {
    row_ = row;
    origin_ = static_cast<std::int32_t>(read.begin - chunk_begin_);
    own_ = -origin_;  // of the read's positions, the first of the chunk; not positive where the read begins in it
    const std::int32_t end = static_cast<std::int32_t>(min(static_cast<std::int64_t>(read.length), chunk_end - read.begin));
    std::int32_t k = max(0, own_ - frame_.division.warm_up_samples);
    // Position 0 is never looked at: both detectors start out masked up to and including it.
    state_ = {FLT_MAX, -1, k == 0 ? 1 : k, 0};
    flagged_ = -1;
    longest_wait_ = 0;
    ShortStatistic<W> statistic;
    const std::int16_t* const samples = frame_.signals.samples + read.begin;
    const auto misalignment = static_cast<std::int32_t>(read.begin & 7);
    RawRange range;
    while (k < end) {
      if (k == own_ && k > 0) {
        sink_.guessed(chunk_, state_);
        low_ = 0;
        high_ = 0;
        longest_wait_ = 0;
      }
      if (k + origin_ >= 32 * (word_ + 1)) move_to_word((k + origin_) / 32);
      if (((k + misalignment) & 7) == 0 && k + 8 <= end && k >= 2 * W - 1) {
        const SampleGroup group = sink_.load(samples + k);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          if (n % 2 == 0) range.extend(group.words[n / 2]);
          advance(statistic.push(picoamps_of(raw_sample(group, n), read)), k + n + 1 - W, read);
        }
        k += 8;
      } else {
        const std::int16_t raw = samples[k];
        range.extend(static_cast<std::uint16_t>(raw) * 0x10001U);
        auto value = statistic.push(picoamps_of(static_cast<float>(raw), read));
        const std::int32_t position = k + 1 - W;
        if (position < W) value = zero();
        if (position >= 1) advance(value, position, read);
        ++k;
      }
    }
    if (end == read.length) {
      // No window fits after these positions.
      for (std::int32_t position = max(1, end + 1 - W); position < end; ++position) advance(zero(), position, read);
      if (end - state_.first >= settling_ && flagged_ > state_.first && !sink_.append({row_, state_.first, end})) longest_wait_ = too_long_a_wait;
    } else {
      sink_.ended(chunk_, state_);
    }
    // Picoamperes ascend or descend with the raw samples.
    const float a = picoamps_of(static_cast<float>(range.least()), read);
    const float b = picoamps_of(static_cast<float>(range.greatest()), read);
    const float smallest = fminf(a, b);
    const float largest = fmaxf(a, b);
    // NaN does not occur: the sum and the unit are finite, and the unit is not 0.
    if (longest_wait_ >= too_long_a_wait || !(smallest >= least_picoamps) || !(largest <= most_picoamps)) {
      sink_.lose(row_);
      return;
    }
    const double samples_here = static_cast<double>(end - max(0, own_));
    sink_.extend(row_, smallest, largest, samples_here * static_cast<double>(largest * largest), longest_wait_ > 0);
  }

  __host__ __device__ static typename ShortStatistic<W>::Value zero() { return {0.0F, true, false}; }

  // One position. Without branches, but for rare cases: the lanes of a warp are in different phases.
  __host__ __device__ __forceinline__ void advance(const typename ShortStatistic<W>::Value& value, std::int32_t position, const Read& read) {
    float t = value.t;
    if (!value.certain) [[unlikely]]
      t = statistic_at(frame_.signals.samples, read, position, W);
    const bool in_peak = state_.peak >= 0;
    const float rise = t - state_.value;
    const bool up = rise > (in_peak ? 0.0F : height_);
    const bool down = !in_peak & (rise < 0.0F);
    state_.value = up | down ? t : state_.value;
    state_.peak = up ? position : state_.peak;
    const bool high = in_peak & (state_.value > threshold_);
    state_.fell = high & (rise < -height_) ? 1 : state_.fell;

    // The short detector suppresses the long one, to which positions [state_.first, position) were left. It needs one of them to start from, one to
    // enter a peak, and window_long / 2 + 1 more. While warming up, nothing is reported.
    if (high & (position - state_.first >= settling_) & (flagged_ > state_.first) & (position > own_ - W)) [[unlikely]] {
      longest_wait_ = max(longest_wait_, sink_.append({row_, state_.first, position}) ? 0 : too_long_a_wait);
    }
    state_.first = high ? INT_MAX : state_.first;
    const bool may_exceed = ((state_.peak < 0) & (t > frame_.long_possible_above)) | value.variance_small;
    flagged_ = may_exceed ? position : flagged_;

    // A report. Marks lie in the present word or the one before it.
    const std::int32_t age = position - state_.peak;
    const bool report = high & (state_.fell != 0) & (age > W / 2);
    const std::int32_t local = state_.peak + origin_;
    const std::uint32_t bit = report ? 1U << (local & 31) : 0U;
    const bool before = local < 32 * word_;
    low_ |= before ? bit : 0U;
    high_ |= before ? 0U : bit;
    longest_wait_ = report ? max(longest_wait_, age) : longest_wait_;
    state_.first = report ? max(state_.peak + W + 1, position) : state_.first;
    state_.value = report ? t : state_.value;
    state_.peak = report ? -1 : state_.peak;
    state_.fell = report ? 0 : state_.fell;
  }

  // Marks of the words before the present one, and it.
  __host__ __device__ void move_to_word(std::int32_t word) {
    while (word_ < word) {
      sink_.store(chunk_, word_ - 1, low_);
      low_ = high_;
      high_ = 0;
      ++word_;
    }
  }

  static constexpr std::int32_t too_long_a_wait = 34 - W;  // the mark might lie before the two words that are kept

  const Frame& frame_;
  Sink& sink_;
  const std::int64_t chunk_;
  const std::int64_t chunk_begin_;
  const float height_, threshold_;
  const std::int32_t settling_;

  std::int64_t row_ = 0;
  std::int32_t origin_ = 0, own_ = 0;
  PickerState state_{};
  std::int32_t flagged_ = -1;         // the last position where the long statistic may exceed its threshold, besides those in a low peak
  std::int32_t longest_wait_ = 0;     // positions between a peak's maximum and its report; 0 without a report
  std::uint32_t low_ = 0, high_ = 0;  // marks of word_ - 1 and word_ of the chunk
  std::int32_t word_ = 0;
};

// ---- Kernels of find_boundaries
// -----------------------------------------------------------------------------------------------------------------------

__host__ __device__ std::int64_t thread_index() {
#ifdef __CUDA_ARCH__
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#else
  return 0;
#endif
}

// The last row that begins at or before a sample, 0 if none does.
__host__ __device__ std::int64_t row_at(const ReadRecord* records, std::int64_t rows, std::int64_t sample) {
  std::int64_t low = 0;
  std::int64_t high = rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (records[middle].begin <= sample ? low : high) = middle;
  }
  return low;
}

// The first row of several that begin at one sample is wanted: all but the last are empty, and the last one holds the sample.
__device__ bool holds(const ReadRecord& read, std::int64_t sample) { return read.begin <= sample && sample < read.begin + read.length; }

enum class Parameters : std::uint8_t { bad, chunked, other };

__global__ void prepare_reads(Frame frame, Parameters parameters, DetectionStatus* statuses) {
  const std::int64_t row = thread_index();
  if (row == 0) *frame.account = Account{};
  if (row >= frame.signals.rows) return;
  const Signals& signals = frame.signals;
  const std::int64_t begin = min(max(signals.offsets[row] + frame.shift, frame.shift), signals.sample_count);
  const std::int64_t length = min(max(signals.offsets[row + 1] + frame.shift, begin), signals.sample_count) - begin;
  constexpr std::int64_t longest = INT_MAX - 4096;
  ReadRecord read{};
  read.begin = begin;
  read.length = static_cast<std::int32_t>(min(length, longest));
  read.offset = static_cast<float>(signals.offset[row]);
  read.unit = static_cast<float>(signals.range[row]) / static_cast<float>(signals.digitisation[row]);
  read.smallest = FLT_MAX;
  read.largest = 0.0F;
  DetectionStatus status = DetectionStatus::ok;
  if (signals.row_status == nullptr || signals.row_status[row] == 0) {
    read.path = parameters == Parameters::chunked ? ReadPath::chunked : ReadPath::slow;
    const bool usable = isfinite(read.offset) && isfinite(read.unit) && read.unit != 0.0F;
    if (parameters == Parameters::bad) {
      status = DetectionStatus::bad_parameters;
    } else if (length == 0) {
      status = DetectionStatus::empty_signal;
    } else if (length > longest) {
      status = DetectionStatus::signal_too_long;
    } else if (!usable) {
      status = DetectionStatus::bad_calibration;
    }
    if (status != DetectionStatus::ok) read.path = ReadPath::skipped;
  }
  frame.records[row] = read;
  statuses[row] = status;
}

struct DeviceSink {
  const Frame& frame;

  __device__ static SampleGroup load(const std::int16_t* samples) {
    const int4 words = __ldg(reinterpret_cast<const int4*>(samples));
    return {{static_cast<std::uint32_t>(words.x), static_cast<std::uint32_t>(words.y), static_cast<std::uint32_t>(words.z),
             static_cast<std::uint32_t>(words.w)}};
  }
  __device__ void guessed(std::int64_t chunk, const PickerState& state) const { frame.starts[chunk] = state; }
  __device__ void ended(std::int64_t chunk, const PickerState& state) const { frame.ends[chunk] = state; }
  __device__ void store(std::int64_t chunk, std::int32_t word, std::uint32_t marks) const {
    if (word < 0) {
      frame.early_marks[chunk] = marks;
    } else {
      frame.marks[chunk * (frame.division.chunk_samples / 32) + word] = marks;
    }
  }
  __device__ bool append(Stretch stretch) const { return append_to(frame.account, frame.stretches, frame.stretch_capacity, stretch); }
  // A call, as it is rare and would be inlined many times.
  __device__ static __noinline__ bool append_to(Account* account, Stretch* stretches, std::int64_t capacity, Stretch stretch) {
    const std::uint32_t index = atomicAdd(&account->long_stretches, 1U);
    if (index >= capacity) return false;
    stretches[index] = stretch;
    return true;
  }
  __device__ void lose(std::int64_t row) const { frame.records[row].path_lost = 1; }
  __device__ void extend(std::int64_t row, float smallest, float largest, double square_bound, bool found) const {
    ReadRecord& read = frame.records[row];
    atomicMin(reinterpret_cast<int*>(&read.smallest), __float_as_int(smallest));
    atomicMax(reinterpret_cast<int*>(&read.largest), __float_as_int(largest));
    atomicAdd(&read.square_bound, square_bound);
    if (found) read.has_boundary = 1;
  }
};

template <int W, int threads, int blocks>
__global__ void __launch_bounds__(threads, blocks) walk_chunks(const __grid_constant__ Frame frame) {
  const std::int64_t chunk = thread_index();
  if (chunk >= frame.chunks) return;
  const DeviceSink sink{frame};
  ChunkWalk<W, const DeviceSink> walk(frame, sink, chunk);
  walk.run(row_at(frame.records, frame.signals.rows, chunk * frame.division.chunk_samples));
}

__host__ __device__ bool same_state(const PickerState& a, const PickerState& b) {
  return same_bits<std::uint32_t>(a.value) == same_bits<std::uint32_t>(b.value) && a.peak == b.peak && a.first == b.first && a.fell == b.fell;
}

// By induction along a read, all chunks are right if every guess is what the chunk before ended in. Also adds the marks that lie before their chunk.
__global__ void compare_guesses(Frame frame) {
  const std::int64_t chunk = thread_index();
  if (chunk < 1 || chunk >= frame.chunks) return;
  const std::int64_t begin = chunk * frame.division.chunk_samples;
  const std::uint32_t early = frame.early_marks[chunk];
  if (early != 0) frame.marks[begin / 32 - 1] |= early;
  ReadRecord& read = frame.records[row_at(frame.records, frame.signals.rows, begin)];
  if (read.path != ReadPath::chunked || read.begin == begin || !holds(read, begin) || read.path_lost != 0) return;
  if (same_state(frame.ends[chunk - 1], frame.starts[chunk])) return;
  atomicAdd(&frame.account->wrong_guesses, 1U);
  read.path_lost = 1;
}

// Value of the last place of a positive f32.
__device__ double last_place(float x) { return ldexp(1.0, max(static_cast<int>(__float_as_uint(x) >> 23), 1) - 127 - 23); }

// Whether no addition rounds in the prefix sums of a whole read: every one is a multiple of the last place of the smallest term, and less than 2^53
// times it.
__device__ bool sums_are_exact(const ReadRecord& read) {
  constexpr double rounding_of_the_bound = 1.0 + 0x1p-20;
  const double squares = read.square_bound * rounding_of_the_bound;
  const double samples = sqrt(squares * read.length) * rounding_of_the_bound;  // Cauchy-Schwarz
  return squares <= 0x1p53 * last_place(read.smallest * read.smallest) && samples <= 0x1p53 * last_place(read.smallest);
}

__global__ void list_slow_reads(Frame frame) {
  const std::int64_t row = thread_index();
  if (row >= frame.signals.rows) return;
  ReadRecord& read = frame.records[row];
  if (read.path == ReadPath::chunked && (read.path_lost != 0 || !sums_are_exact(read))) read.path = ReadPath::slow;
  if (read.path == ReadPath::slow) frame.slow_rows[atomicAdd(&frame.account->slow_reads, 1U)] = row;
}

__device__ void mark(const Frame& frame, std::int64_t sample) { atomicOr(frame.marks + sample / 32, 1U << (sample % 32)); }

__global__ void walk_stretches(Frame frame) {
  const std::int64_t count = min(static_cast<std::int64_t>(frame.account->long_stretches), frame.stretch_capacity);
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const Stretch stretch = frame.stretches[index];
    ReadRecord& read = frame.records[stretch.row];
    if (read.path != ReadPath::chunked) continue;
    const std::uint32_t window = frame.params.window_long;
    float value = FLT_MAX;
    std::int32_t peak = -1;
    bool fell = false;
    for (std::int32_t i = stretch.first; i < stretch.stop; ++i) {
      const float t = statistic_at(frame.signals.samples, read, i, window);
      if (peak < 0) {
        if (t < value) {
          value = t;
        } else if (t - value > frame.params.peak_height) {
          value = t;
          peak = i;
        }
        continue;
      }
      if (t > value) {
        value = t;
        peak = i;
      }
      if (value - t > frame.params.peak_height && value > frame.params.threshold_long) fell = true;
      if (fell && i - peak > static_cast<std::int32_t>(window / 2)) {
        mark(frame, read.begin + peak);
        atomicAdd(&frame.account->long_boundaries, 1U);
        read.has_boundary = 1;
        peak = -1;
        value = t;
        fell = false;
      }
    }
  }
}

// ---- The slow walk: one block per read
// ------------------------------------------------------------------------------------------------------------------

constexpr int slow_threads = 128;
constexpr int slow_tile = 1024;
constexpr int slow_history = static_cast<int>(max_window);

struct SlowTile {
  // Prefix sums; index slow_history is the tile's first position.
  double sum[slow_history + slow_tile + slow_history + 1];
  double square_sum[slow_history + slow_tile + slow_history + 1];
  float picoamps[slow_tile + slow_history];
  double scan[2][slow_threads / 32];
  float smallest[slow_threads / 32], largest[slow_threads / 32];
  int out_of_range;
};

__device__ double granularity(double sum) {
  if (sum == 0.0) return HUGE_VAL;
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(sum));
  const unsigned long long mantissa = (bits & 0xFFFFFFFFFFFFFULL) | 0x10000000000000ULL;
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  return ldexp(1.0, exponent - 1023 - 52 + __ffsll(static_cast<long long>(mantissa)) - 1);
}

// As in events.cpp.
__device__ bool additions_are_exact(double sum, int count, float largest, float smallest_nonzero) {
  const double bound = (fabs(sum) + static_cast<double>(count) * largest) * (1.0 + 0x1p-50);
  return bound <= 0x1p53 * fmin(granularity(sum), isinf(smallest_nonzero) ? HUGE_VAL : last_place(smallest_nonzero));
}

// Continues the prefix sums from position `known` of the tile at `begin` for `count` samples. All threads of the block; false when a sample is out of
// range.
__device__ bool extend_prefix_sums(SlowTile& tile, const std::int16_t* samples, const Read& read, std::int32_t begin, std::int32_t known, int count) {
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  if (thread == 0) tile.out_of_range = 0;
  __syncthreads();
  float smallest = INFINITY;
  float largest = 0.0F;
  for (int i = thread; i < count; i += slow_threads) {
    const float x = picoamps_of(static_cast<float>(samples[read.begin + known + i]), read);
    tile.picoamps[i] = x;
    const float magnitude = fabsf(x);
    if (!(magnitude <= max_picoamps)) tile.out_of_range = 1;
    largest = fmaxf(largest, magnitude);
    if (magnitude != 0.0F) smallest = fminf(smallest, magnitude);
  }
  for (int step = 16; step > 0; step /= 2) {
    smallest = fminf(smallest, __shfl_xor_sync(0xFFFFFFFFU, smallest, step));
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, step));
  }
  if (lane == 0) {
    tile.smallest[thread / 32] = smallest;
    tile.largest[thread / 32] = largest;
  }
  __syncthreads();
  for (int warp = 0; warp < slow_threads / 32; ++warp) {
    smallest = fminf(smallest, tile.smallest[warp]);
    largest = fmaxf(largest, tile.largest[warp]);
  }
  if (tile.out_of_range != 0) return false;
  double* const sum = tile.sum + slow_history + (known - begin);
  double* const square_sum = tile.square_sum + slow_history + (known - begin);
  const double first_sum = sum[0];
  const double first_square_sum = square_sum[0];
  const bool exact = additions_are_exact(first_sum, count, largest, smallest) &&
                     additions_are_exact(first_square_sum, count, largest * largest, smallest * smallest);
  if (!exact) {
    if (thread == 0) {
      double s = first_sum;
      double q = first_square_sum;
      for (int i = 0; i < count; ++i) {
        const float x = tile.picoamps[i];
        s += x;
        q += x * x;
        sum[i + 1] = s;
        square_sum[i + 1] = q;
      }
    }
    __syncthreads();
    return true;
  }
  // In any order: each thread some samples in a row, then a scan over the threads.
  constexpr int samples_per_thread = (slow_tile + slow_history) / slow_threads;
  double s = 0.0;
  double q = 0.0;
  for (int n = 0; n < samples_per_thread; ++n) {
    const int i = thread * samples_per_thread + n;
    const float x = i < count ? tile.picoamps[i] : 0.0F;
    s += x;
    q += x * x;
  }
  double s_scan = s;
  double q_scan = q;
  for (int step = 1; step < 32; step *= 2) {
    const double s_below = __shfl_up_sync(0xFFFFFFFFU, s_scan, step);
    const double q_below = __shfl_up_sync(0xFFFFFFFFU, q_scan, step);
    if (lane >= step) {
      s_scan += s_below;
      q_scan += q_below;
    }
  }
  if (lane == 31) {
    tile.scan[0][thread / 32] = s_scan;
    tile.scan[1][thread / 32] = q_scan;
  }
  __syncthreads();
  s = first_sum + (s_scan - s);
  q = first_square_sum + (q_scan - q);
  for (int warp = 0; warp < thread / 32; ++warp) {
    s += tile.scan[0][warp];
    q += tile.scan[1][warp];
  }
  for (int n = 0; n < samples_per_thread; ++n) {
    const int i = thread * samples_per_thread + n;
    if (i >= count) break;
    const float x = tile.picoamps[i];
    s += x;
    q += x * x;
    sum[i + 1] = s;
    square_sum[i + 1] = q;
  }
  __syncthreads();
  return true;
}

// Calls visit(begin, end) for every tile of a read, when the prefix sums from slow_history positions before it to `ahead` after it are in `tile`
// (within the read). False when a sample is out of range.
template <class Visit>
__device__ bool for_each_slow_tile(SlowTile& tile, const std::int16_t* samples, const Read& read, int ahead, Visit&& visit) {
  if (threadIdx.x == 0) {
    tile.sum[slow_history] = 0.0;
    tile.square_sum[slow_history] = 0.0;
  }
  __syncthreads();
  std::int32_t known = 0;
  for (std::int32_t begin = 0; begin < read.length; begin += slow_tile) {
    const std::int32_t end = min(begin + slow_tile, read.length);
    const std::int32_t wanted = min(end + ahead, read.length);
    if (wanted > known) {
      if (!extend_prefix_sums(tile, samples, read, begin, known, wanted - known)) return false;
      known = wanted;
    }
    visit(begin, end);
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i <= 2 * slow_history; i += slow_threads) {
      tile.sum[i] = tile.sum[i + slow_tile];
      tile.square_sum[i] = tile.square_sum[i + slow_tile];
    }
    __syncthreads();
  }
  return true;
}

// Removes the marks of a read. All threads of the block.
__device__ void clear_marks(const Frame& frame, const Read& read) {
  const std::int64_t begin = read.begin;
  const std::int64_t end = begin + read.length;
  for (std::int64_t word = begin / 32 + threadIdx.x; word * 32 < end; word += slow_threads) {
    std::uint32_t cleared = 0xFFFFFFFFU;
    if (word * 32 < begin) cleared &= 0xFFFFFFFFU << (begin % 32);
    if (word * 32 + 32 > end) cleared &= 0xFFFFFFFFU >> (word * 32 + 32 - end);
    if (cleared == 0xFFFFFFFFU) {
      frame.marks[word] = 0;
    } else {
      atomicAnd(frame.marks + word, ~cleared);
    }
  }
}

struct SlowDetector {
  std::int32_t masked_to = 0, peak = -1;
  float value = FLT_MAX;
  bool fell = false;
};

__global__ void __launch_bounds__(slow_threads) walk_slow_reads(Frame frame) {
  __shared__ SlowTile tile;
  __shared__ float t[2][slow_tile];
  for (std::uint32_t index = blockIdx.x; index < frame.account->slow_reads; index += gridDim.x) {
    ReadRecord& record = frame.records[frame.slow_rows[index]];
    const Read read = record;
    clear_marks(frame, read);
    __syncthreads();
    SlowDetector detectors[2];
    const std::uint32_t windows[2] = {frame.params.window_short, frame.params.window_long};
    const float thresholds[2] = {frame.params.threshold_short, frame.params.threshold_long};
    bool found = false;
    const int ahead = static_cast<int>(max(windows[0], windows[1]));
    const bool in_range = for_each_slow_tile(tile, frame.signals.samples, read, ahead, [&](std::int32_t begin, std::int32_t end) {
      for (std::int32_t i = begin + static_cast<std::int32_t>(threadIdx.x); i < end; i += slow_threads) {
        for (int k = 0; k < 2; ++k) {
          const auto w = static_cast<std::int32_t>(windows[k]);
          const double* const s = tile.sum + slow_history + (i - begin);
          const double* const q = tile.square_sum + slow_history + (i - begin);
          t[k][i - begin] = i < w || i > read.length - w ? 0.0F : statistic(s[0] - s[-w], q[0] - q[-w], s[w] - s[0], q[w] - q[0], windows[k]);
        }
      }
      __syncthreads();
      if (threadIdx.x != 0) return;
      for (std::int32_t i = begin; i < end; ++i) {
        for (int k = 0; k < 2; ++k) {
          SlowDetector& self = detectors[k];
          if (self.masked_to >= i) continue;
          const float c = t[k][i - begin];
          if (self.peak < 0) {
            if (c < self.value) {
              self.value = c;
            } else if (c - self.value > frame.params.peak_height) {
              self.value = c;
              self.peak = i;
            }
            continue;
          }
          if (c > self.value) {
            self.value = c;
            self.peak = i;
          }
          if (k == 0 && self.value > thresholds[0]) {
            detectors[1] = SlowDetector{};
            detectors[1].masked_to = self.peak + static_cast<std::int32_t>(windows[0]);
          }
          if (self.value - c > frame.params.peak_height && self.value > thresholds[k]) self.fell = true;
          if (self.fell && i - self.peak > static_cast<std::int32_t>(windows[k] / 2)) {
            mark(frame, read.begin + self.peak);
            found = true;
            self.peak = -1;
            self.value = c;
            self.fell = false;
          }
        }
      }
    });
    if (!in_range) clear_marks(frame, read);
    if (threadIdx.x == 0) {
      record.slow_boundary = found && in_range ? 1 : 0;
      record.out_of_range = in_range ? 0 : 1;
    }
    __syncthreads();
  }
}

// ---- Counting
// -------------------------------------------------------------------------------------------------------------------------------------------

// A read's first event starts at its first sample; reads without a boundary fail.
__global__ void finish_reads(Frame frame, DetectionStatus* statuses) {
  const std::int64_t row = thread_index();
  if (row >= frame.signals.rows) return;
  ReadRecord& read = frame.records[row];
  if (read.path == ReadPath::skipped) return;
  if (read.path == ReadPath::slow ? read.slow_boundary != 0 : read.has_boundary != 0) {
    mark(frame, read.begin);
    return;
  }
  statuses[row] = read.out_of_range != 0 ? DetectionStatus::sample_out_of_range : DetectionStatus::no_boundary;
  read.path = ReadPath::skipped;
}

// Sum over the threads below, of a block of tiles_per_sum threads; `total` gets the sum over all.
template <class T>
__device__ T exclusive_sum(T value, T& total) {
  __shared__ T warps[tiles_per_sum / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  T scan = value;
  for (int step = 1; step < 32; step *= 2) {
    const T below = __shfl_up_sync(0xFFFFFFFFU, scan, step);
    if (lane >= step) scan += below;
  }
  __syncthreads();
  if (lane == 31) warps[warp] = scan;
  __syncthreads();
  T before = 0;
  total = 0;
  for (int w = 0; w < tiles_per_sum / 32; ++w) {
    if (w == warp) before = total;
    total += warps[w];
  }
  return before + scan - value;
}

__global__ void __launch_bounds__(tiles_per_sum) count_marks(Frame frame) {
  const std::int64_t tile = thread_index();
  std::uint32_t count = 0;
  if (tile < frame.tiles) {
    const std::int64_t words = (frame.signals.sample_count + 31) / 32;
    for (std::int64_t word = tile * 32; word < min(tile * 32 + 32, words); ++word) count += __popc(frame.marks[word]);
    frame.tile_row[tile] = row_at(frame.records, frame.signals.rows, tile * tile_samples);
  }
  std::uint32_t total = 0;
  const std::uint32_t before = exclusive_sum(count, total);
  if (tile < frame.tiles) frame.tile_rank[tile] = before;
  if (threadIdx.x == 0) frame.sum_rank[blockIdx.x] = total;
}

__global__ void __launch_bounds__(tiles_per_sum) rank_sums(Frame frame) {
  std::int64_t before = 0;
  for (std::int64_t first = 0; first < frame.sums; first += tiles_per_sum) {
    const std::int64_t index = first + threadIdx.x;
    const std::int64_t value = index < frame.sums ? frame.sum_rank[index] : 0;
    std::int64_t total = 0;
    const std::int64_t rank = exclusive_sum(value, total);
    if (index < frame.sums) frame.sum_rank[index] = before + rank;
    before += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) frame.sum_rank[frame.sums] = before;
}

// Marks before a sample.
__device__ std::int64_t rank_of(const Frame& frame, std::int64_t sample) {
  if (sample >= frame.signals.sample_count) return frame.sum_rank[frame.sums];
  const std::int64_t tile = sample / tile_samples;
  std::int64_t rank = frame.sum_rank[tile / tiles_per_sum] + frame.tile_rank[tile];
  for (std::int64_t word = tile * 32; word < sample / 32; ++word) rank += __popc(frame.marks[word]);
  return rank + __popc(frame.marks[sample / 32] & ((1U << (sample % 32)) - 1));
}

__global__ void write_offsets(Frame frame, std::int64_t* event_offsets) {
  const std::int64_t row = thread_index();
  if (row < frame.signals.rows) event_offsets[row] = rank_of(frame, frame.records[row].begin);
  if (row == frame.signals.rows) event_offsets[row] = rank_of(frame, frame.signals.sample_count);
}

// ---- Emission
// -------------------------------------------------------------------------------------------------------------------------------------------

struct Sums {
  double sum, square_sum;
};

__device__ Sums operator+(const Sums& a, const Sums& b) { return {a.sum + b.sum, a.square_sum + b.square_sum}; }
__device__ Sums operator-(const Sums& a, const Sums& b) { return {a.sum - b.sum, a.square_sum - b.square_sum}; }

__device__ void emit(const EventColumns& events, std::int64_t index, std::int32_t start, std::int32_t length, const Sums& sums) {
  const auto samples = static_cast<float>(length);
  const float mean = static_cast<float>(sums.sum) / samples;
  const float variance = static_cast<float>(sums.square_sum) / samples - mean * mean;
  if (events.mean != nullptr) events.mean[index] = mean;
  if (events.start_sample != nullptr) events.start_sample[index] = start;
  if (events.length_samples != nullptr) events.length_samples[index] = length;
  if (events.stdv != nullptr) events.stdv[index] = sqrtf(variance > 0.0F ? variance : 0.0F);
}

constexpr int emission_warps = 4;
// Events start at least two samples apart: a boundary lies at least one window from the start of its read, and more from the one before.
constexpr int most_marks = tile_samples / 2 + 1;

struct EmissionTile {
  Sums before[most_marks];  // from the first sample of the mark's word to the mark
  Sums words[32];           // of all samples before a word
  std::uint16_t marks[most_marks];
};

// One warp per tile: every event that starts in it. The sums of a chunked read are exact in any order, and so are those over several chunked reads of
// a tile: all samples are within [least_picoamps, most_picoamps], multiples of 2^-25 (their squares of 2^-27) and few. Only the tail of the tile's
// last event can be long; there the proof for the read holds. Samples of other reads count as 0.
__global__ void __launch_bounds__(32 * emission_warps) emit_tiles(const __grid_constant__ Frame frame, EventColumns events) {
  extern __shared__ double2 shared_memory[];
  EmissionTile& shared = reinterpret_cast<EmissionTile*>(shared_memory)[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * emission_warps + threadIdx.x / 32;
  if (tile >= frame.tiles) return;
  const std::int64_t samples_end = frame.signals.sample_count;
  const std::int64_t tile_begin = tile * tile_samples;
  const std::int64_t tile_end = min(tile_begin + tile_samples, samples_end);
  const std::int64_t word_begin = tile_begin + lane * 32;
  const std::int64_t word = tile * 32 + lane;
  const std::uint32_t marks = word_begin < samples_end ? frame.marks[word] : 0;
  int rank = __popc(marks);
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(0xFFFFFFFFU, rank, step);
    if (lane >= step) rank += below;
  }
  const int mark_count = __shfl_sync(0xFFFFFFFFU, rank, 31);
  if (mark_count == 0) return;
  rank -= __popc(marks);

  std::int64_t row = frame.tile_row[tile];
  Sums sums{0.0, 0.0};
  const auto put = [&](int n) {
    if ((marks >> n & 1U) != 0) {
      shared.before[rank] = sums;
      shared.marks[rank] = static_cast<std::uint16_t>(lane * 32 + n);
      ++rank;
    }
  };
  const Read first_read = frame.records[row];
  const bool one_read = first_read.begin <= tile_begin && first_read.begin + first_read.length >= tile_begin + tile_samples;
  if (one_read && first_read.path == ReadPath::chunked) {
    for (int group_begin = 0; group_begin < 32; group_begin += 8) {
      const SampleGroup group = DeviceSink::load(frame.signals.samples + word_begin + group_begin);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        put(group_begin + n);
        const float x = picoamps_of(raw_sample(group, n), first_read);
        sums.sum += widen_positive(x);
        sums.square_sum += widen_positive(x * x);
      }
    }
  } else {
    for (int n = 0; n < 32; ++n) {
      put(n);
      const std::int64_t sample = word_begin + n;
      if (sample >= samples_end) continue;
      while (row + 1 < frame.signals.rows && frame.records[row + 1].begin <= sample) ++row;
      const ReadRecord& read = frame.records[row];
      if (read.path != ReadPath::chunked || !holds(read, sample)) continue;
      const float x = picoamps_of(static_cast<float>(frame.signals.samples[sample]), read);
      sums.sum += x;
      sums.square_sum += x * x;
    }
  }
  Sums scan = sums;
  for (int step = 1; step < 32; step *= 2) {
    const Sums below{__shfl_up_sync(0xFFFFFFFFU, scan.sum, step), __shfl_up_sync(0xFFFFFFFFU, scan.square_sum, step)};
    if (lane >= step) scan = scan + below;
  }
  shared.words[lane] = scan - sums;
  const Sums all{__shfl_sync(0xFFFFFFFFU, scan.sum, 31), __shfl_sync(0xFFFFFFFFU, scan.square_sum, 31)};
  __syncwarp();

  // The last event's end, and its sums beyond the tile.
  row = frame.tile_row[tile];
  const std::int64_t last_start = tile_begin + shared.marks[mark_count - 1];
  while (row + 1 < frame.signals.rows && frame.records[row + 1].begin <= last_start) ++row;
  const Read last_read = frame.records[row];
  const std::int64_t read_end = last_read.begin + last_read.length;
  std::int64_t last_end = min(read_end, tile_end);
  Sums tail{0.0, 0.0};
  if (read_end > tile_end && last_read.path == ReadPath::chunked) {
    bool open = true;
    for (std::int64_t begin = tile_end; open; begin += 32) {
      // tile_end is a multiple of 32 here, as it is not the end of all samples.
      const std::uint32_t next_marks = frame.marks[begin / 32];
      last_end = next_marks != 0 ? begin + __ffs(static_cast<int>(next_marks)) - 1 : begin + 32;
      open = next_marks == 0 && last_end < read_end;
      last_end = min(last_end, read_end);
      if (begin + lane < last_end) {
        const float x = picoamps_of(static_cast<float>(frame.signals.samples[begin + lane]), last_read);
        tail = tail + Sums{x, x * x};
      }
    }
    for (int step = 16; step > 0; step /= 2) {
      tail = tail + Sums{__shfl_xor_sync(0xFFFFFFFFU, tail.sum, step), __shfl_xor_sync(0xFFFFFFFFU, tail.square_sum, step)};
    }
  }

  row = frame.tile_row[tile];
  const std::int64_t first_index = frame.sum_rank[tile / tiles_per_sum] + frame.tile_rank[tile];
  const auto sums_before = [&](int event) { return shared.words[shared.marks[event] / 32] + shared.before[event]; };
  Read read = first_read;
  for (int event = lane; event < mark_count; event += 32) {
    const std::int64_t start = tile_begin + shared.marks[event];
    if (!one_read) {
      while (row + 1 < frame.signals.rows && frame.records[row + 1].begin <= start) ++row;
      read = frame.records[row];
    }
    if (read.path != ReadPath::chunked) continue;
    const bool last = event + 1 == mark_count;
    const std::int64_t end = last ? last_end : min(tile_begin + shared.marks[event + 1], read.begin + read.length);
    const Sums event_sums = (last ? all + tail : sums_before(event + 1)) - sums_before(event);
    emit(events, first_index + event, static_cast<std::int32_t>(start - read.begin), static_cast<std::int32_t>(end - start), event_sums);
  }
}

// The events of slow reads, from prefix sums in the definition's order.
__global__ void __launch_bounds__(slow_threads) emit_slow_reads(Frame frame, const std::int64_t* event_offsets, EventColumns events) {
  constexpr int most = slow_tile / 2 + 1;
  __shared__ SlowTile tile;
  __shared__ std::int32_t positions[most + 1];  // the last mark of the tiles before, then those of this one
  __shared__ Sums prefixes[most + 1];
  __shared__ int warps[slow_threads / 32];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::uint32_t index = blockIdx.x; index < frame.account->slow_reads; index += gridDim.x) {
    const std::int64_t row = frame.slow_rows[index];
    const Read read = frame.records[row];
    if (read.path != ReadPath::slow) continue;
    std::int64_t next_event = event_offsets[row];
    for_each_slow_tile(tile, frame.signals.samples, read, 0, [&](std::int32_t begin, std::int32_t end) {
      // positions[0] is the start of the event that is open; the read's first mark only opens one.
      int count = begin == 0 ? 0 : 1;
      for (std::int32_t first = begin; first < end; first += slow_threads) {
        const std::int32_t i = first + thread;
        const std::int64_t sample = read.begin + i;
        const bool marked = i < end && (frame.marks[sample / 32] >> (sample % 32) & 1U) != 0;
        const std::uint32_t lanes = __ballot_sync(0xFFFFFFFFU, marked);
        if (thread % 32 == 0) warps[thread / 32] = __popc(lanes);
        __syncthreads();
        int slot = count + __popc(lanes & ((1U << (thread % 32)) - 1));
        for (int warp = 0; warp < slow_threads / 32; ++warp) {
          if (warp < thread / 32) slot += warps[warp];
          count += warps[warp];
        }
        if (marked) {
          positions[slot] = i;
          prefixes[slot] = {tile.sum[slow_history + (i - begin)], tile.square_sum[slow_history + (i - begin)]};
        }
        __syncthreads();
      }
      if (thread == 0 && end == read.length) {
        positions[count] = end;
        prefixes[count] = {tile.sum[slow_history + (end - begin)], tile.square_sum[slow_history + (end - begin)]};
      }
      if (end == read.length) ++count;
      __syncthreads();
      for (int event = thread; event + 1 < count; event += slow_threads) {
        emit(events, next_event + event, positions[event], positions[event + 1] - positions[event], prefixes[event + 1] - prefixes[event]);
      }
      next_event += count - 1;
      __syncthreads();
      if (thread == 0) {
        positions[0] = positions[count - 1];
        prefixes[0] = prefixes[count - 1];
      }
      __syncthreads();
    });
  }
}

// ---- Launches
// -------------------------------------------------------------------------------------------------------------------------------------------

unsigned blocks_for(std::int64_t threads, int per_block) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, (threads + per_block - 1) / per_block));
}

Parameters classify(const DetectorParams& p) {
  const auto window_ok = [](std::uint32_t window) { return window >= 2 && window <= max_window; };
  const auto level_ok = [](float level) { return std::isfinite(level) && level >= 0.0F; };
  if (!window_ok(p.window_short) || !window_ok(p.window_long) || !level_ok(p.threshold_short) || !level_ok(p.threshold_long) ||
      !level_ok(p.peak_height)) {
    return Parameters::bad;
  }
  const bool windows = (p.window_short == 3 || p.window_short == 7) && p.window_long == 2 * p.window_short;
  // Within a low peak of the short detector, the bound must hold without a look.
  return windows && statistic_bound(p) >= p.threshold_short ? Parameters::chunked : Parameters::other;
}

bool usable(const Division& d) {
  return d.chunk_samples >= 32 && d.chunk_samples <= 1 << 20 && d.chunk_samples % 32 == 0 && d.warm_up_samples >= 0 && d.warm_up_samples <= 1 << 20 &&
         d.warm_up_samples % 8 == 0;
}

template <int W>
cudaError_t launch_walk(const Frame& frame, cudaStream_t stream) {
  switch (frame.division.threads_per_block) {
    case 64:
      walk_chunks<W, 64, W == 3 ? 12 : 6><<<blocks_for(frame.chunks, 64), 64, 0, stream>>>(frame);
      break;
    case 128:
      walk_chunks<W, 128, W == 3 ? 6 : 3><<<blocks_for(frame.chunks, 128), 128, 0, stream>>>(frame);
      break;
    case 256:
      walk_chunks<W, 256, W == 3 ? 4 : 2><<<blocks_for(frame.chunks, 256), 256, 0, stream>>>(frame);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace

std::size_t workspace_bytes(std::int64_t rows, std::int64_t sample_count, const Division& division) {
  return usable(division) ? Layout(rows, sample_count, division).bytes : 0;
}

cudaError_t find_boundaries(const Signals& signals, const DetectorParams& params, void* workspace, std::int64_t* event_offsets,
                            DetectionStatus* statuses, cudaStream_t stream, const Division& division) {
  if (!usable(division) || signals.rows < 0 || signals.sample_count < 0 || reinterpret_cast<std::uintptr_t>(signals.samples) % 2 != 0)
    return cudaErrorInvalidValue;
  if (signals.rows == 0) return cudaMemsetAsync(event_offsets, 0, sizeof(*event_offsets), stream);
  constexpr int threads = 256;
  constexpr int grid = 1024;  // of the kernels that take their work from a list: enough for every device
  Frame frame(signals, params, workspace, division);
  frame.long_possible_above = statistic_bound(params);
  const Parameters parameters = classify(params);
  prepare_reads<<<blocks_for(signals.rows, threads), threads, 0, stream>>>(frame, parameters, statuses);
  if (parameters == Parameters::chunked && frame.chunks > 0) {
    if (const cudaError_t error = params.window_short == 3 ? launch_walk<3>(frame, stream) : launch_walk<7>(frame, stream); error != cudaSuccess)
      return error;
    compare_guesses<<<blocks_for(frame.chunks, threads), threads, 0, stream>>>(frame);
  } else if (const cudaError_t error = cudaMemsetAsync(frame.marks, 0, static_cast<std::size_t>(frame.tiles) * (tile_samples / 8), stream);
             error != cudaSuccess) {
    return error;
  }
  list_slow_reads<<<blocks_for(signals.rows, threads), threads, 0, stream>>>(frame);
  walk_slow_reads<<<grid, slow_threads, 0, stream>>>(frame);
  walk_stretches<<<grid, threads, 0, stream>>>(frame);
  finish_reads<<<blocks_for(signals.rows, threads), threads, 0, stream>>>(frame, statuses);
  if (frame.sums > 0) count_marks<<<static_cast<unsigned>(frame.sums), tiles_per_sum, 0, stream>>>(frame);
  rank_sums<<<1, tiles_per_sum, 0, stream>>>(frame);
  write_offsets<<<blocks_for(signals.rows + 1, threads), threads, 0, stream>>>(frame, event_offsets);
  return cudaGetLastError();
}

cudaError_t emit_events(const Signals& signals, const DetectorParams& params, void* workspace, const std::int64_t* event_offsets,
                        const EventColumns& events, cudaStream_t stream, const Division& division) {
  if (!usable(division)) return cudaErrorInvalidValue;
  if (signals.rows == 0 || signals.sample_count == 0) return cudaSuccess;
  const Frame frame(signals, params, workspace, division);
  constexpr int shared_bytes = emission_warps * static_cast<int>(sizeof(EmissionTile));
  emit_tiles<<<blocks_for(frame.tiles, emission_warps), 32 * emission_warps, shared_bytes, stream>>>(frame, events);
  emit_slow_reads<<<1024, slow_threads, 0, stream>>>(frame, event_offsets, events);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
