// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the walks over chunks leave their results on the device.

#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {

constexpr int list_grid = 4096;  // blocks take their work from a list: enough for every device

struct DeviceSink {
  const Frame& frame;

  __device__ static SampleGroup load(const std::int16_t* samples) { return load_group(samples); }
  __device__ void guessed(std::int64_t slot, const PickerState& state) const { frame.starts[slot] = state; }
  __device__ void ended(std::int64_t slot, const PickerState& state) const { frame.ends[slot] = state; }
  __device__ void store(std::int64_t word, std::uint32_t marks) const { frame.marks[word] = marks; }
  __device__ void add(std::int64_t word, std::uint32_t marks) const { atomicOr(frame.marks + word, marks); }
  __device__ void remove(std::int64_t word, std::uint32_t marks) const { atomicAnd(frame.marks + word, ~marks); }
  __device__ bool append(const Stretch& stretch) const { return append_to(frame.account, frame.stretches, frame.stretch_capacity, stretch); }
  // A call, as it is rare and would be inlined many times.
  __device__ static __noinline__ bool append_to(Account* account, Stretch* stretches, std::int64_t capacity, const Stretch& stretch) {
    const std::uint32_t index = atomicAdd(&account->long_stretches, 1U);
    if (index >= capacity) return false;
    stretches[index] = stretch;
    return true;
  }
  __device__ void lose(std::int64_t row) const { frame.records[row].path_lost = 1; }
  __device__ void defer(std::int64_t row, std::int64_t slot) const {
    frame.records[row].irregular = 1;
    frame.chunk_states[slot].odd = true;
  }
  __device__ void find(std::int64_t row) const { frame.records[row].has_boundary = 1; }
  __device__ void extend(std::int64_t row, float smallest, float largest, double square_bound, bool found) const {
    ReadRecord& read = frame.records[row];
    atomicMin(reinterpret_cast<int*>(&read.smallest), __float_as_int(smallest));
    atomicMax(reinterpret_cast<int*>(&read.largest), __float_as_int(largest));
    atomicAdd(&read.square_bound, square_bound);
    if (found) read.has_boundary = 1;
  }
};

}  // namespace sluice::event_detection::cuda
