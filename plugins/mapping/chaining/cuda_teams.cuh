// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Warps and blocks as teams (thread_team.hpp).

#include <cstdint>
#include <sluice/cuda/warp.cuh>

#include "chaining/cuda_chains.hpp"

namespace sluice::chaining::cuda {

class WarpTeam {
 public:
  static constexpr std::uint32_t most_threads = 32;
  __device__ std::uint32_t rank() const { return threadIdx.x % most_threads; }
  __device__ std::uint32_t size() const { return most_threads; }
  __device__ std::uint32_t part() const { return threadIdx.x / most_threads; }
  __device__ std::uint32_t parts() const { return blockDim.x / most_threads; }
  __device__ void sync() { __syncwarp(); }
  __device__ bool any(bool flag) { return __any_sync(sluice::cuda::whole_warp, flag) != 0; }
  __device__ std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    const std::uint32_t sum = sluice::cuda::inclusive_sum_over_warp(value, static_cast<int>(rank()));
    total = from(sum, most_threads - 1);
    return sum - value;
  }
  __device__ std::uint32_t add(std::uint32_t* memory, std::uint32_t value) { return atomicAdd(memory, value); }
  template <class T>
  __device__ T from(T value, std::uint32_t rank) {
    return __shfl_sync(sluice::cuda::whole_warp, value, static_cast<int>(rank));
  }
  __device__ std::uint32_t first(bool flag) {
    const std::uint32_t flags = __ballot_sync(sluice::cuda::whole_warp, flag);
    return flags == 0 ? most_threads : static_cast<std::uint32_t>(__ffs(static_cast<int>(flags)) - 1);
  }
  __device__ double lowest(double value) {
    for (int distance = 16; distance > 0; distance /= 2) value = min(value, __shfl_xor_sync(sluice::cuda::whole_warp, value, distance));
    return value;
  }
  __device__ std::uint32_t lowest(std::uint32_t value) { return __reduce_min_sync(sluice::cuda::whole_warp, value); }
  __device__ std::int32_t highest(std::int32_t value) { return __reduce_max_sync(sluice::cuda::whole_warp, value); }
};

__device__ inline long long cycles_now() { return clock64(); }

template <std::uint32_t threads>
class BlockTeam {
 public:
  using Warp = WarpTeam;
  static constexpr std::uint32_t most_threads = threads, most_parts = threads / Warp::most_threads;
  struct Memory {
    std::uint32_t sums[most_parts];
    unsigned long long bits;
  };
  __device__ BlockTeam(Memory& memory, PhaseCycles* cycles) : memory_(memory), cycles_(cycles), lap_began_(cycles_now()) {}
  __device__ std::uint32_t rank() const { return threadIdx.x; }
  __device__ std::uint32_t size() const { return threads; }
  __device__ Warp warp() const { return {}; }
  __device__ void sync() { __syncthreads(); }
  __device__ void lap(Phase phase) {
    if (cycles_ == nullptr || threadIdx.x != 0) return;
    const long long now = cycles_now();
    const auto cycles = static_cast<unsigned long long>(now - lap_began_);
    lap_began_ = now;
    atomicAdd(&cycles_->sum[static_cast<std::size_t>(phase)], cycles);
    atomicMax(&cycles_->highest[static_cast<std::size_t>(phase)], cycles);
  }
  __device__ bool any(bool flag) { return __syncthreads_or(flag ? 1 : 0) != 0; }
  __device__ std::uint64_t union_of(std::uint64_t bits) {
    if (threadIdx.x == 0) memory_.bits = 0;
    __syncthreads();
    if (bits != 0) atomicOr(&memory_.bits, static_cast<unsigned long long>(bits));
    __syncthreads();
    const std::uint64_t all = memory_.bits;
    __syncthreads();
    return all;
  }
  __device__ std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
    std::uint32_t of_warp = 0;
    std::uint32_t before = warp().sum_before(value, of_warp);
    if (threadIdx.x % Warp::most_threads == 0) memory_.sums[threadIdx.x / Warp::most_threads] = of_warp;
    __syncthreads();
    total = 0;
    for (std::uint32_t other = 0; other < most_parts; ++other) {
      if (other == threadIdx.x / Warp::most_threads) before += total;
      total += memory_.sums[other];
    }
    __syncthreads();
    return before;
  }
  __device__ std::uint32_t add(std::uint32_t* memory, std::uint32_t value) { return atomicAdd(memory, value); }
  __device__ void lower(std::uint32_t* memory, std::uint32_t value) { atomicMin(memory, value); }

 private:
  Memory& memory_;
  PhaseCycles* cycles_;
  long long lap_began_;
};

}  // namespace sluice::chaining::cuda
