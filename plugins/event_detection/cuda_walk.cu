// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compile with -fmad=false, as cuda_statistic.hpp asks.
#include "event_detection/cuda_exact_walk.hpp"

namespace sluice::event_detection::cuda {
namespace {

struct DeviceSink {
  const Frame& frame;

  __device__ static SampleGroup load(const std::int16_t* samples) { return load_group(samples); }
  __device__ void guessed(std::int64_t slot, const PickerState& state) const { frame.starts[slot] = state; }
  __device__ void ended(std::int64_t slot, const PickerState& state) const { frame.ends[slot] = state; }
  __device__ void store(std::int64_t word, std::uint32_t marks) const { frame.marks[word] = marks; }
  __device__ void add(std::int64_t word, std::uint32_t marks) const { atomicOr(frame.marks + word, marks); }
  __device__ bool append(const Stretch& stretch) const { return append_to(frame.account, frame.stretches, frame.stretch_capacity, stretch); }
  // A call, as it is rare and would be inlined many times.
  __device__ static __noinline__ bool append_to(Account* account, Stretch* stretches, std::int64_t capacity, const Stretch& stretch) {
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
  atomicOr(frame.walked_exactly + slot / 32, 1U << (slot % 32));
  frame.exact_slots[atomicAdd(&frame.account->exact_chunks, 1U)] = slot;
}

constexpr int exact_threads = 64;

template <int W>
__global__ void __launch_bounds__(exact_threads) walk_exact_chunks(const __grid_constant__ Frame frame) {
  const std::int64_t count = frame.account->exact_chunks;
  const DeviceSink sink{frame};
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t slot = frame.exact_slots[index];
    const Chunk chunk = chunk_at(frame, slot);
    ChunkWalk<W, DeviceSink>(frame, sink, slot, chunk).run();
  }
}

__host__ __device__ bool same_state(const PickerState& a, const PickerState& b) {
  return same_bits<std::uint32_t>(a.value) == same_bits<std::uint32_t>(b.value) && a.peak == b.peak && a.first == b.first && a.fell == b.fell;
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

__global__ void walk_listed_stretches(Frame frame) {
  const std::int64_t count = min(static_cast<std::int64_t>(frame.account->long_stretches), frame.stretch_capacity);
  for (std::int64_t index = thread_index(); index < count; index += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const Stretch stretch = frame.stretches[index];
    if (stretch.slot != exact_slot && (frame.walked_exactly[stretch.slot / 32] >> (stretch.slot % 32) & 1U) != 0) continue;
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

constexpr int list_grid = 1024;  // blocks take their work from a list: enough for every device

template <int W>
cudaError_t launch(const Frame& frame, cudaStream_t stream, const StepObserver& observer) {
  const FastLimits limits = FastLimits::of<W>(frame.params, frame.long_possible_above);
  constexpr int blocks = W == 3 ? 8 : 5;  // of 128 threads
  switch (frame.division.threads_per_block) {
    case 64:
      walk_inner_chunks<W, 64, 2 * blocks><<<blocks_for(frame.slots, 64), 64, 0, stream>>>(frame, limits);
      break;
    case 128:
      walk_inner_chunks<W, 128, blocks><<<blocks_for(frame.slots, 128), 128, 0, stream>>>(frame, limits);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  observer("walk", stream);
  walk_exact_chunks<W><<<list_grid, exact_threads, 0, stream>>>(frame);
  observer("exact walk", stream);
  compare_guesses<<<blocks_for(frame.slots, 256), 256, 0, stream>>>(frame);
  observer("compare guesses", stream);
  return cudaGetLastError();
}

}  // namespace

cudaError_t walk_chunks(const Frame& frame, cudaStream_t stream, const StepObserver& observer) {
  return frame.params.window_short == 3 ? launch<3>(frame, stream, observer) : launch<7>(frame, stream, observer);
}

cudaError_t walk_stretches(const Frame& frame, cudaStream_t stream) {
  walk_listed_stretches<<<list_grid, 128, 0, stream>>>(frame);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
