// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compile with -fmad=false, as cuda_statistic.hpp asks.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <sluice/cuda/warp.cuh>

#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {
namespace {

// Sum over the threads below, of a block of tiles_per_sum threads; `total` gets the sum over all.
template <class T>
__device__ T exclusive_sum(T value, T& total) {
  __shared__ T warps[tiles_per_sum / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const T scan = sluice::cuda::inclusive_sum_over_warp(value, lane);
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
    for (std::int64_t word = tile * (tile_samples / 32); word < min((tile + 1) * (tile_samples / 32), words); ++word)
      count += __popc(frame.marks[word]);
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

__global__ void write_offsets(Frame frame, std::int64_t* event_offsets) {
  const std::int64_t row = thread_index();
  if (row < frame.signals.rows) event_offsets[row] = rank_of(frame, frame.records[row].begin);
  if (row == frame.signals.rows) event_offsets[row] = rank_of(frame, frame.signals.sample_count);
}

constexpr int emission_warps = 4;
constexpr int emission_blocks = 5;  // per multiprocessor: as many as its shared memory holds, and so many registers are free
// Events start at least two samples apart: a boundary lies at least one window from the start of its read, and more from the one before.
constexpr int most_marks = tile_samples / 2 + 1;
constexpr int words_per_tile = tile_samples / 32;

struct EmissionTile {
  Sums before[most_marks];     // from the first sample of the mark's word to the mark
  Sums words[words_per_tile];  // of all samples before a word
  std::uint16_t marks[most_marks + 1];
};

// emit() for samples in [least_picoamps, most_picoamps], with half its instructions.
__device__ __forceinline__ void emit_regular(const EventColumns& events, int index, std::int32_t start, std::int32_t length, const Sums& sums) {
  constexpr std::int32_t longest = 0xFFFF;
  if (length > longest) {
    emit(events, index, start, length, sums);
    return;
  }
  const auto n = static_cast<float>(length);
  const float reciprocal = approximate_reciprocal(n);
  const float mean = divide_by_integer(static_cast<float>(sums.sum), n, reciprocal);
  const float variance = divide_by_integer(static_cast<float>(sums.square_sum), n, reciprocal) - mean * mean;
  if (events.mean != nullptr) events.mean[index] = mean;
  if (events.start_sample != nullptr) events.start_sample[index] = start;
  if (events.length_samples != nullptr) events.length_samples[index] = length;
  if (events.stdv != nullptr) {
    const float y = approximate_inverse_root(variance);
    const float g = variance * y;
    const float root = fmaf(fmaf(-g, g, variance), 0.5F * y, g);
    events.stdv[index] = variance > 0.0F ? root : 0.0F;
  }
}

// What is left of irregular samples: their events are written again later, but the sums of a tile must stay exact for the others.
__device__ __forceinline__ float clamped(float x) { return fminf(fmaxf(x, least_picoamps), most_picoamps); }

enum class Samples : std::uint8_t { regular, irregular };

// 32 samples of one lane: the sums before each mark, and of all.
template <Samples samples>
__device__ __forceinline__ Sums sum_word(const SampleGroup (&groups)[4], const Read& read, std::uint32_t marks, EmissionTile& shared, int rank,
                                         int first) {
  Sums sums{0.0, 0.0};
  Sums* before = shared.before + rank;
  std::uint16_t* position = shared.marks + rank;
#pragma unroll
  for (int n = 0; n < 32; ++n) {
    if ((marks >> n & 1U) != 0) {
      *before++ = sums;
      *position++ = static_cast<std::uint16_t>(first + n);
    }
    float x = picoamps_of(raw_sample(groups[n / 8], n % 8), read);
    if constexpr (samples == Samples::irregular) x = clamped(x);
    sums.sum += widen_positive(x);
    sums.square_sum += widen_positive(x * x);
  }
  return sums;
}

// The same where a tile belongs to several reads, or to a read that is not chunked.
__device__ Sums sum_mixed_word(const Frame& frame, std::int64_t row, std::int64_t begin, std::uint32_t marks, EmissionTile& shared, int rank,
                               int first) {
  Sums sums{0.0, 0.0};
  for (int n = 0; n < 32; ++n) {
    if ((marks >> n & 1U) != 0) {
      shared.before[rank] = sums;
      shared.marks[rank] = static_cast<std::uint16_t>(first + n);
      ++rank;
    }
    const std::int64_t sample = begin + n;
    if (sample >= frame.signals.sample_count) continue;
    while (row + 1 < frame.signals.rows && frame.records[row + 1].begin <= sample) ++row;
    const ReadRecord& read = frame.records[row];
    if (read.path != ReadPath::chunked || !holds(read, sample)) continue;
    const float x = clamped(picoamps_of(static_cast<float>(frame.signals.samples[sample]), read));
    sums = sums + Sums{x, x * x};
  }
  return sums;
}

// The end of the last event of a tile, and its sums beyond the tile, in every lane.
__device__ Sums sum_tail(const Frame& frame, const Read& read, std::int64_t tile_end, std::int64_t& last_end) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t read_end = read.begin + read.length;
  Sums tail{0.0, 0.0};
  bool open = true;
  for (std::int64_t begin = tile_end; open; begin += 32) {
    // tile_end is a multiple of 32 here, as it is not the end of all samples.
    const std::uint32_t next_marks = frame.marks[begin / 32];
    const float x = begin + lane < read_end ? clamped(picoamps_of(static_cast<float>(frame.signals.samples[begin + lane]), read)) : 0.0F;
    last_end = next_marks != 0 ? begin + __ffs(static_cast<int>(next_marks)) - 1 : begin + 32;
    open = next_marks == 0 && last_end < read_end;
    last_end = min(last_end, read_end);
    if (begin + lane < last_end) tail = tail + Sums{x, x * x};
  }
  for (int step = 16; step > 0; step /= 2) {
    tail = tail + Sums{__shfl_xor_sync(0xFFFFFFFFU, tail.sum, step), __shfl_xor_sync(0xFFFFFFFFU, tail.square_sum, step)};
  }
  return tail;
}

__device__ EventColumns from(const EventColumns& events, std::int64_t index) {
  const auto moved = [index](auto* column) { return column == nullptr ? nullptr : column + index; };
  return {moved(events.mean), moved(events.start_sample), moved(events.length_samples), moved(events.stdv)};
}

// One warp per tile: every event that starts in it. The sums of a chunked read are exact in any order, and so are those over several chunked reads of
// a tile: all samples are within [least_picoamps, most_picoamps], multiples of 2^-25 (their squares of 2^-27) and few. Only the tail of the tile's
// last event can be long; there the proof for the read holds. Samples of other reads count as 0.
__global__ void __launch_bounds__(32 * emission_warps, emission_blocks)
    emit_tile(const __grid_constant__ Frame frame, const EventColumns all_events) {
  extern __shared__ double2 shared_memory[];
  EmissionTile& shared = reinterpret_cast<EmissionTile*>(shared_memory)[threadIdx.x / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * emission_warps + threadIdx.x / 32;
  if (tile >= frame.tiles) return;
  const std::int64_t samples_end = frame.signals.sample_count;
  const std::int64_t tile_begin = tile * tile_samples;
  const std::int64_t tile_end = min(tile_begin + tile_samples, samples_end);
  const std::int64_t word_begin = tile_begin + lane * 32;
  const std::uint32_t marks = word_begin < samples_end ? frame.marks[tile * words_per_tile + lane] : 0;
  const std::int64_t first_row = frame.tile_row[tile];
  const std::int64_t first_index = frame.sum_rank[tile / tiles_per_sum] + frame.tile_rank[tile];
  const ReadRecord& first_record = frame.records[first_row];
  const Read first_read = first_record;
  SampleGroup groups[4]{};  // asked for at once, long before they are used
  if (word_begin + 32 <= samples_end) {
#pragma unroll
    for (int group = 0; group < 4; ++group) groups[group] = load_group(frame.signals.samples + word_begin + 8 * group);
  }
  int rank = sluice::cuda::inclusive_sum_over_warp(__popc(marks), lane);
  const int mark_count = __shfl_sync(0xFFFFFFFFU, rank, 31);
  if (mark_count == 0) return;
  rank -= __popc(marks);

  const bool one_read = first_read.begin <= tile_begin && first_read.begin + first_read.length >= tile_begin + tile_samples;
  Sums sums;
  if (!one_read || first_read.path != ReadPath::chunked) {
    sums = sum_mixed_word(frame, first_row, word_begin, marks, shared, rank, lane * 32);
  } else if (first_record.irregular != 0) {
    sums = sum_word<Samples::irregular>(groups, first_read, marks, shared, rank, lane * 32);
  } else {
    sums = sum_word<Samples::regular>(groups, first_read, marks, shared, rank, lane * 32);
  }
  Sums scan = sums;
  for (int step = 1; step < 32; step *= 2) {
    const Sums below{__shfl_up_sync(0xFFFFFFFFU, scan.sum, step), __shfl_up_sync(0xFFFFFFFFU, scan.square_sum, step)};
    if (lane >= step) scan = scan + below;
  }
  shared.words[lane] = scan - sums;
  const Sums all{__shfl_sync(0xFFFFFFFFU, scan.sum, 31), __shfl_sync(0xFFFFFFFFU, scan.square_sum, 31)};
  __syncwarp();

  std::int64_t row = first_row;
  const std::int64_t last_start = tile_begin + shared.marks[mark_count - 1];
  while (!one_read && row + 1 < frame.signals.rows && frame.records[row + 1].begin <= last_start) ++row;
  const Read last_read = one_read ? first_read : static_cast<Read>(frame.records[row]);
  std::int64_t last_end = min(last_read.begin + last_read.length, tile_end);
  Sums total = all;
  if (last_read.begin + last_read.length > tile_end && last_read.path == ReadPath::chunked) {
    total = total + sum_tail(frame, last_read, tile_end, last_end);
  }

  const EventColumns events = from(all_events, first_index);
  const auto sums_before = [&](int event, int place) { return shared.words[place / 32] + shared.before[event]; };
  if (one_read) {
    if (first_read.path != ReadPath::chunked) return;
    // Positions are counted from the tile's first sample.
    const auto tile_start = static_cast<std::int32_t>(tile_begin - first_read.begin);
    const auto last_stop = static_cast<std::int32_t>(last_end - tile_begin);
    for (int event = lane; event < mark_count; event += 32) {
      const bool last = event + 1 == mark_count;
      const int start = shared.marks[event];
      const int stop = last ? last_stop : shared.marks[event + 1];
      const Sums after = last ? total : sums_before(event + 1, stop);
      emit_regular(events, event, tile_start + start, stop - start, after - sums_before(event, start));
    }
    return;
  }
  row = first_row;
  for (int event = lane; event < mark_count; event += 32) {
    const std::int64_t start = tile_begin + shared.marks[event];
    while (row + 1 < frame.signals.rows && frame.records[row + 1].begin <= start) ++row;
    const Read read = frame.records[row];
    if (read.path != ReadPath::chunked) continue;
    const bool last = event + 1 == mark_count;
    const std::int64_t end = last ? last_end : min(tile_begin + shared.marks[event + 1], read.begin + read.length);
    const Sums after = last ? total : sums_before(event + 1, shared.marks[event + 1]);
    emit_regular(events, event, static_cast<std::int32_t>(start - read.begin), static_cast<std::int32_t>(end - start),
                 after - sums_before(event, shared.marks[event]));
  }
}

}  // namespace

cudaError_t count_events(const Frame& frame, std::int64_t* event_offsets, cudaStream_t stream) {
  if (frame.sums > 0) count_marks<<<static_cast<unsigned>(frame.sums), tiles_per_sum, 0, stream>>>(frame);
  rank_sums<<<1, tiles_per_sum, 0, stream>>>(frame);
  write_offsets<<<blocks_for(frame.signals.rows + 1, 256), 256, 0, stream>>>(frame, event_offsets);
  return cudaGetLastError();
}

cudaError_t emit_tiles(const Frame& frame, const EventColumns& events, cudaStream_t stream) {
  constexpr int shared_bytes = emission_warps * static_cast<int>(sizeof(EmissionTile));
  emit_tile<<<blocks_for(frame.tiles, emission_warps), 32 * emission_warps, shared_bytes, stream>>>(frame, events);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
