// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A pass of its own over 16 bytes an event, read and written once: emission keeps its one order, in which a warp writes neighbours.
#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {
namespace {

template <class T>
__device__ void swap_values(T* column, std::int64_t a, std::int64_t b) {
  if (column == nullptr) return;
  const T value = column[a];
  column[a] = column[b];
  column[b] = value;
}

__global__ void reverse_rows(std::int64_t rows, const std::int64_t* event_offsets, std::int64_t event_count, EventColumns events) {
  const std::int64_t event = thread_index();
  if (event >= event_count) return;
  // The last row that begins at or before the event: those without events that begin there, too, come before it.
  std::int64_t low = 0;
  std::int64_t high = rows;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (event_offsets[middle] <= event ? low : high) = middle;
  }
  const std::int64_t partner = event_offsets[low] + event_offsets[low + 1] - 1 - event;
  if (event >= partner) return;
  swap_values(events.mean, event, partner);
  swap_values(events.start_sample, event, partner);
  swap_values(events.length_samples, event, partner);
  swap_values(events.stdv, event, partner);
}

}  // namespace

cudaError_t reverse_events(std::int64_t rows, const std::int64_t* event_offsets, std::int64_t event_count, const EventColumns& events,
                           cudaStream_t stream) {
  if (rows == 0 || event_count == 0) return cudaSuccess;
  constexpr int threads = 256;
  reverse_rows<<<blocks_for(event_count, threads), threads, 0, stream>>>(rows, event_offsets, event_count, events);
  return cudaGetLastError();
}

}  // namespace sluice::event_detection::cuda
