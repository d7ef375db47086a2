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

__global__ void list_slow_reads(Frame frame) {
  const std::int64_t row = thread_index();
  if (row >= frame.signals.rows) return;
  ReadRecord& read = frame.records[row];
  if (read.path == ReadPath::chunked && read.path_lost != 0) read.path = ReadPath::slow;
  if (read.path == ReadPath::slow) frame.slow_rows[atomicAdd(&frame.account->slow_reads, 1U)] = row;
}

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

__global__ void __launch_bounds__(slow_threads) walk_slow(Frame frame) {
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
// The events of slow reads, from prefix sums in the definition's order.
__global__ void __launch_bounds__(slow_threads) emit_slow(Frame frame, const std::int64_t* event_offsets, EventColumns events) {
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

constexpr int slow_grid = 1024;  // blocks take reads from a list: enough for every device

}  // namespace

cudaError_t walk_slow_reads(const Frame& frame, cudaStream_t stream) {
  list_slow_reads<<<blocks_for(frame.signals.rows, 256), 256, 0, stream>>>(frame);
  walk_slow<<<slow_grid, slow_threads, 0, stream>>>(frame);
  return cudaGetLastError();
}

cudaError_t emit_slow_reads(const Frame& frame, const std::int64_t* event_offsets, const EventColumns& events, cudaStream_t stream) {
  emit_slow<<<slow_grid, slow_threads, 0, stream>>>(frame, event_offsets, events);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
