// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the device's steps of event detection share: what is known of a batch in the workspace, and how the batch is cut into chunks.

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstdint>

#include "event_detection/cuda.hpp"
#include "event_detection/cuda_statistic.hpp"

namespace sluice::event_detection::cuda {

struct ReadRecord : Read {
  std::uint32_t path_lost;      // not 0: some chunk could not do the read
  std::uint32_t irregular;      // not 0: some chunks are walked by the definition, see cuda_irregular.cu
  std::uint32_t has_boundary;   // found by chunks
  std::uint32_t slow_boundary;  // found by the slow walk
  std::uint32_t out_of_range;
  float smallest, largest;  // pA, both positive; as bits they are in the same order
  double square_bound;      // no less than the sum of all squares, but for rounding
};

// The state of the peak picker between two positions.
struct PickerState {
  float value;         // lowest or highest statistic of the present descent or peak, as FastStatistic has it
  std::int32_t peak;   // position of the peak's maximum, negative in a descent
  std::int32_t first;  // first position that the long detector sees, INT_MAX while a high peak suppresses it
  std::int32_t fell;
};

// Who walked a chunk last.
enum class ChunkWalker : std::uint8_t { fast, exact, definition };

struct ChunkState {
  ChunkWalker walker;
  bool odd;       // a sample, or one of its warm-up, is outside [least_picoamps, most_picoamps]
  bool rounding;  // an addition to the read's prefix sums rounds within the chunk
};

// Positions [first, stop) that only the long detector decides.
struct Stretch {
  std::int64_t row;
  std::int64_t slot;
  std::int32_t first, stop;
  ChunkWalker walker;  // void if another one walked the chunk again
};

// Sums of some samples and of their squares.
struct alignas(16) Sums {
  double sum, square_sum;
};

__host__ __device__ inline Sums operator+(const Sums& a, const Sums& b) { return {a.sum + b.sum, a.square_sum + b.square_sum}; }
__host__ __device__ inline Sums operator-(const Sums& a, const Sums& b) { return {a.sum - b.sum, a.square_sum - b.square_sum}; }

// Samples per tile, the unit of counting and emission: a word of marks per lane of a warp.
constexpr int tile_samples = 1024;
constexpr int tiles_per_sum = 1024;

// Samples are loaded in aligned groups of 8. If the batch does not begin at one, its samples are counted from the group's begin.
constexpr int most_shift = 7;

struct Layout {
  std::int64_t rows, samples, tiles, slots, sums, stretch_capacity;
  std::size_t records, marks, chunk_states, cleared_end, starts, ends, exact_slots, special_slots, chunk_sums, irregular_rows, slow_rows, stretches,
      tile_rank, tile_row, sum_rank, bytes;

  Layout(std::int64_t row_count, std::int64_t sample_count, const Division& division)
      : rows(std::max<std::int64_t>(row_count, 0)), samples(std::max<std::int64_t>(sample_count, 0) + most_shift) {
    tiles = (samples + tile_samples - 1) / tile_samples;
    slots = (samples + division.chunk_samples - 1) / division.chunk_samples + rows;
    sums = (tiles + tiles_per_sum - 1) / tiles_per_sum;
    stretch_capacity = samples / 64 + 1024;
    std::size_t next = 256;  // the Account
    const auto take = [&next](std::int64_t count, std::size_t size) {
      const std::size_t begin = next;
      next += (static_cast<std::size_t>(count) * size + 255) / 256 * 256;
      return begin;
    };
    records = take(rows, sizeof(ReadRecord));
    marks = take((tiles + 1) * (tile_samples / 32), sizeof(std::uint32_t));
    chunk_states = take(slots, sizeof(ChunkState));
    cleared_end = next;
    starts = take(slots, sizeof(PickerState));
    ends = take(slots, sizeof(PickerState));
    exact_slots = take(slots, sizeof(std::int64_t));
    special_slots = take(slots, sizeof(std::int64_t));
    chunk_sums = take(slots, sizeof(Sums));
    irregular_rows = take(rows, sizeof(std::int64_t));
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
  std::int64_t tiles, slots, sums, stretch_capacity;
  Account* account;
  ReadRecord* records;
  std::uint32_t* marks;         // one bit per sample: an event starts there
  ChunkState* chunk_states;     // per slot
  std::size_t cleared_bytes;    // from marks on
  PickerState* starts;          // per slot: the guess at its chunk's first sample
  PickerState* ends;            // per slot: after its chunk's last sample
  std::int64_t* exact_slots;    // chunks that the fast walk left to the exact one; later those that the definition walks
  std::int64_t* special_slots;  // chunks with a state that is odd or rounding
  Sums* chunk_sums;             // per slot of an irregular read: its prefix sums at the chunk's first sample
  std::int64_t* irregular_rows;
  std::int64_t* slow_rows;
  Stretch* stretches;
  std::uint32_t* tile_rank;  // marks before a tile, within its group of tiles_per_sum
  std::int64_t* tile_row;    // the read of a tile's first sample, or the next one
  std::int64_t* sum_rank;    // marks before a group of tiles
  // Above this t-statistic of the short window the long one may exceed its threshold: see statistic_bound.
  float long_possible_above;

  Frame(const Signals& s, const DetectorParams& p, void* workspace, const Division& d)
      : signals(s), params(p), division(d), long_possible_above(statistic_bound(p)) {
    const Layout layout(s.rows, s.sample_count, d);
    char* const base = static_cast<char*>(workspace);
    shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(s.samples) % 16 / sizeof(std::int16_t));
    signals.samples -= shift;
    signals.sample_count += shift;
    tiles = layout.tiles;
    slots = layout.slots;
    sums = layout.sums;
    stretch_capacity = layout.stretch_capacity;
    account = reinterpret_cast<Account*>(base);
    records = reinterpret_cast<ReadRecord*>(base + layout.records);
    marks = reinterpret_cast<std::uint32_t*>(base + layout.marks);
    chunk_states = reinterpret_cast<ChunkState*>(base + layout.chunk_states);
    cleared_bytes = layout.cleared_end - layout.marks;
    starts = reinterpret_cast<PickerState*>(base + layout.starts);
    ends = reinterpret_cast<PickerState*>(base + layout.ends);
    exact_slots = reinterpret_cast<std::int64_t*>(base + layout.exact_slots);
    special_slots = reinterpret_cast<std::int64_t*>(base + layout.special_slots);
    chunk_sums = reinterpret_cast<Sums*>(base + layout.chunk_sums);
    irregular_rows = reinterpret_cast<std::int64_t*>(base + layout.irregular_rows);
    slow_rows = reinterpret_cast<std::int64_t*>(base + layout.slow_rows);
    stretches = reinterpret_cast<Stretch*>(base + layout.stretches);
    tile_rank = reinterpret_cast<std::uint32_t*>(base + layout.tile_rank);
    tile_row = reinterpret_cast<std::int64_t*>(base + layout.tile_row);
    sum_rank = reinterpret_cast<std::int64_t*>(base + layout.sum_rank);
  }

  // Positions that the long detector needs to report anything: one to start from, one to enter a peak, and window_long / 2 + 1 more.
  __host__ __device__ std::int32_t settling() const { return static_cast<std::int32_t>(params.window_long / 2 + 3); }
};

__host__ __device__ inline std::int64_t thread_index() {
#ifdef __CUDA_ARCH__
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#else
  return 0;
#endif
}

inline unsigned blocks_for(std::int64_t threads, int per_block) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, (threads + per_block - 1) / per_block));
}

// The last row that begins at or before a sample, 0 if none does.
__host__ __device__ inline std::int64_t row_at(const ReadRecord* records, std::int64_t rows, std::int64_t sample) {
  std::int64_t low = 0;
  std::int64_t high = rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (records[middle].begin <= sample ? low : high) = middle;
  }
  return low;
}

// The first row of several that begin at one sample is wanted: all but the last are empty, and the last one holds the sample.
__host__ __device__ inline bool holds(const ReadRecord& read, std::int64_t sample) {
  return read.begin <= sample && sample < read.begin + read.length;
}

__device__ __forceinline__ SampleGroup load_group(const std::int16_t* samples) {
  const int4 words = __ldg(reinterpret_cast<const int4*>(samples));
  return {{static_cast<std::uint32_t>(words.x), static_cast<std::uint32_t>(words.y), static_cast<std::uint32_t>(words.z),
           static_cast<std::uint32_t>(words.w)}};
}

__device__ inline void mark(const Frame& frame, std::int64_t sample) { atomicOr(frame.marks + sample / 32, 1U << (sample % 32)); }

// A chunk: the part of one read within an aligned stretch of division.chunk_samples samples of the batch. A read that begins in stretch c has its
// first chunk in slot c + row, and the others in the slots that follow: one read's last slot lies before the next one's first. Some slots stay empty.
struct Chunk {
  std::int64_t row = -1;  // negative: an empty slot
  Read read{};
  std::int64_t begin = 0, end = 0;  // samples of the batch
};

__host__ __device__ inline Chunk chunk_at(const Frame& frame, std::int64_t slot) {
  const int chunk_samples = frame.division.chunk_samples;
  std::int64_t low = 0;
  std::int64_t high = frame.signals.rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (frame.records[middle].begin / chunk_samples + middle <= slot ? low : high) = middle;
  }
  Chunk chunk;
  chunk.read = frame.records[low];
  const std::int64_t read_end = chunk.read.begin + chunk.read.length;
  const std::int64_t stretch = (slot - low) * chunk_samples;
  chunk.begin = stretch > chunk.read.begin ? stretch : chunk.read.begin;
  chunk.end = stretch + chunk_samples < read_end ? stretch + chunk_samples : read_end;
  if (chunk.read.path == ReadPath::chunked && chunk.begin < chunk.end && slot >= low) chunk.row = low;
  return chunk;
}

__host__ __device__ inline bool same_state(const PickerState& a, const PickerState& b) {
  return same_bits<std::uint32_t>(a.value) == same_bits<std::uint32_t>(b.value) && a.peak == b.peak && a.first == b.first && a.fell == b.fell;
}

// The steps: each launches its kernels.
cudaError_t walk_chunks(const Frame& frame, cudaStream_t stream, const StepObserver& observer);  // marks; irregular or path_lost
cudaError_t walk_irregular_reads(const Frame& frame, cudaStream_t stream);                       // marks, or path_lost
cudaError_t compare_chunks(const Frame& frame, cudaStream_t stream);                             // path_lost
cudaError_t walk_slow_reads(const Frame& frame, cudaStream_t stream);
cudaError_t walk_stretches(const Frame& frame, cudaStream_t stream);
cudaError_t count_events(const Frame& frame, std::int64_t* event_offsets, cudaStream_t stream);
cudaError_t emit_tiles(const Frame& frame, const EventColumns& events, cudaStream_t stream);
cudaError_t emit_irregular_reads(const Frame& frame, const EventColumns& events, cudaStream_t stream);  // after emit_tiles
cudaError_t emit_slow_reads(const Frame& frame, const std::int64_t* event_offsets, const EventColumns& events, cudaStream_t stream);

// Marks before a sample, after count_events: the index of the event that starts there.
__device__ inline std::int64_t rank_of(const Frame& frame, std::int64_t sample) {
  if (sample >= frame.signals.sample_count) return frame.sum_rank[frame.sums];
  const std::int64_t tile = sample / tile_samples;
  std::int64_t rank = frame.sum_rank[tile / tiles_per_sum] + frame.tile_rank[tile];
  for (std::int64_t word = tile * (tile_samples / 32); word < sample / 32; ++word) rank += __popc(frame.marks[word]);
  return rank + __popc(frame.marks[sample / 32] & ((1U << (sample % 32)) - 1));
}

__device__ inline void emit(const EventColumns& events, std::int64_t index, std::int32_t start, std::int32_t length, const Sums& sums) {
  const auto samples = static_cast<float>(length);
  const float mean = static_cast<float>(sums.sum) / samples;
  const float variance = static_cast<float>(sums.square_sum) / samples - mean * mean;
  if (events.mean != nullptr) events.mean[index] = mean;
  if (events.start_sample != nullptr) events.start_sample[index] = start;
  if (events.length_samples != nullptr) events.length_samples[index] = length;
  if (events.stdv != nullptr) events.stdv[index] = sqrtf(variance > 0.0F ? variance : 0.0F);
}

}  // namespace sluice::event_detection::cuda
