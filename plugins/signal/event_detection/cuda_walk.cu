// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compile with -fmad=false, as cuda_statistic.hpp asks.
#include "event_detection/cuda_definition_walk.hpp"
#include "event_detection/cuda_device_sink.hpp"
#include "event_detection/cuda_exact_walk.hpp"

namespace sluice::event_detection::cuda {
namespace {

// One thread per slot. The chunks at the ends of reads are left to the exact walk at once.
template <int W, int threads, int blocks>
__global__ void __launch_bounds__(threads, blocks) walk_inner_chunks(const __grid_constant__ Frame frame, const FastLimits limits) {
  const std::int64_t slot = thread_index();
  if (slot >= frame.slots) return;
  const Chunk chunk = chunk_at(frame, slot);
  if (chunk.row < 0) return;
  constexpr int primed = (FastStatistic<W>::samples_before_first + 7) / 8 * 8;
  const std::int64_t before = chunk.begin - chunk.read.begin;
  const bool inner = chunk.end - chunk.begin == frame.division.chunk_samples && before >= frame.division.warm_up_samples + primed &&
                     chunk.end < chunk.read.begin + chunk.read.length;
  if (inner && walk_fast<W>(frame, limits, DeviceSink{frame}, slot, chunk)) return;
  frame.chunk_states[slot].walker = ChunkWalker::exact;
  frame.exact_slots[atomicAdd(&frame.account->exact_chunks, 1U)] = slot;
}

constexpr int exact_threads = 64;

template <int W>
__global__ void __launch_bounds__(exact_threads, W == 3 ? 10 : 6) walk_exact_chunks(const __grid_constant__ Frame frame) {
  const std::int64_t count = frame.account->exact_chunks;
  const DeviceSink sink{frame};
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t slot = frame.exact_slots[index];
    const Chunk chunk = chunk_at(frame, slot);
    ChunkWalk<W, DeviceSink>(frame, sink, slot, chunk).run();
  }
}

// By induction along a read, all chunks are right if every guess is what the chunk before ended in.
__global__ void compare_guesses(Frame frame) {
  const std::int64_t slot = thread_index();
  if (slot < 1 || slot >= frame.slots) return;
  const Chunk chunk = chunk_at(frame, slot);
  if (chunk.row < 0 || chunk.begin == chunk.read.begin || frame.records[chunk.row].path_lost != 0) return;
  if (same_state(frame.ends[slot - 1], frame.starts[slot])) return;
  atomicAdd(&frame.account->wrong_guesses, 1U);
  frame.records[chunk.row].path_lost = 1;
}

// The long detector over one stretch; t(position) is its statistic.
template <class Statistic>
__device__ void walk_stretch(const Frame& frame, const Stretch& stretch, const Statistic& t_at) {
  ReadRecord& read = frame.records[stretch.row];
  float value = FLT_MAX;
  std::int32_t peak = -1;
  bool fell = false;
  for (std::int32_t i = stretch.first; i < stretch.stop; ++i) {
    const float t = t_at(i);
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
    if (fell && i - peak > static_cast<std::int32_t>(frame.params.window_long / 2)) {
      mark(frame, read.begin + peak);
      atomicAdd(&frame.account->long_boundaries, 1U);
      read.has_boundary = 1;
      peak = -1;
      value = t;
      fell = false;
    }
  }
}

__global__ void walk_listed_stretches(const __grid_constant__ Frame frame) {
  const std::int64_t count = min(static_cast<std::int64_t>(frame.account->long_stretches), frame.stretch_capacity);
  const std::uint32_t window = frame.params.window_long;
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const Stretch stretch = frame.stretches[index];
    if (frame.chunk_states[stretch.slot].walker != stretch.walker) continue;
    const ReadRecord& read = frame.records[stretch.row];
    if (read.path != ReadPath::chunked) continue;
    if (read.irregular != 0) {
      DefinitionStatistic statistic(frame, stretch.row, read, stretch.first, window);
      walk_stretch(frame, stretch, [&](std::int32_t i) { return statistic.at(i); });
    } else {
      walk_stretch(frame, stretch, [&](std::int32_t i) { return statistic_at(frame.signals.samples, read, i, window); });
    }
  }
}

template <int W>
cudaError_t launch(const Frame& frame, cudaStream_t stream, const StepObserver& observer) {
  const FastLimits limits = FastLimits::of<W>(frame.params, frame.long_possible_above);
  constexpr int threads = 128, blocks = W == 3 ? 8 : 5;  // 64 registers: twelve blocks of 96 threads are 4 % slower
  walk_inner_chunks<W, threads, blocks><<<blocks_for(frame.slots, threads), threads, 0, stream>>>(frame, limits);
  observer("walk", stream);
  walk_exact_chunks<W><<<list_grid, exact_threads, 0, stream>>>(frame);
  observer("exact walk", stream);
  return cudaGetLastError();
}

}  // namespace

cudaError_t walk_chunks(const Frame& frame, cudaStream_t stream, const StepObserver& observer) {
  return frame.params.window_short == 3 ? launch<3>(frame, stream, observer) : launch<7>(frame, stream, observer);
}

cudaError_t compare_chunks(const Frame& frame, cudaStream_t stream) {
  compare_guesses<<<blocks_for(frame.slots, 256), 256, 0, stream>>>(frame);
  return cudaGetLastError();
}

cudaError_t walk_stretches(const Frame& frame, cudaStream_t stream) {
  walk_listed_stretches<<<list_grid, 128, 0, stream>>>(frame);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
