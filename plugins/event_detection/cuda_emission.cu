// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compile with -fmad=false, as cuda_statistic.hpp asks.
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>

#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {
namespace {

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
__global__ void __launch_bounds__(32 * emission_warps) emit_tile(const __grid_constant__ Frame frame, EventColumns events) {
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
      const SampleGroup group = load_group(frame.signals.samples + word_begin + group_begin);
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
