// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the lanes of a warp do together, and arithmetic on two 16-bit values in a word. A compute capability of 9.0 has one instruction for each of the latter.

#include <cuda_runtime.h>

#include <cstdint>

namespace sluice::poa_consensus::cuda {

constexpr int warp_lanes = 32;
constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;

__device__ __forceinline__ int lane_id() { return static_cast<int>(threadIdx.x) % warp_lanes; }
__device__ __forceinline__ void synchronize_warp() { __syncwarp(); }

// The value of one lane, for all.
template <class T>
__device__ __forceinline__ T broadcast(T value, int lane) {
  return __shfl_sync(whole_warp, value, lane);
}
// The value of the lane that many places before; the first lanes keep theirs.
template <class T>
__device__ __forceinline__ T from_lane_before(T value, int distance) {
  return __shfl_up_sync(whole_warp, value, distance);
}
__device__ __forceinline__ std::uint32_t lanes_with(bool condition) { return __ballot_sync(whole_warp, condition); }
__device__ __forceinline__ std::int32_t highest_of_warp(std::int32_t value) { return __reduce_max_sync(whole_warp, value); }
__device__ __forceinline__ int count_bits(std::uint32_t bits) { return __popc(bits); }
__device__ __forceinline__ int lowest_bit(std::uint32_t bits) { return __ffs(static_cast<int>(bits)) - 1; }
__device__ __forceinline__ std::uint32_t lanes_before(int lane) { return (1U << lane) - 1; }

__device__ __forceinline__ std::uint32_t take_ticket(std::uint32_t* next) { return atomicAdd(next, 1U); }

__device__ __forceinline__ std::uint32_t add_16x2(std::uint32_t a, std::uint32_t b) { return __vadd2(a, b); }
__device__ __forceinline__ std::uint32_t subtract_16x2(std::uint32_t a, std::uint32_t b) { return __vsub2(a, b); }
// max(a + b, c)
__device__ __forceinline__ std::uint32_t add_max_16x2(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return __viaddmax_s16x2(a, b, c); }
__device__ __forceinline__ std::uint32_t max_16x2(std::uint32_t a, std::uint32_t b) { return __vmaxs2(a, b); }
// Also says for each half whether a is at least b.
__device__ __forceinline__ std::uint32_t max_16x2(std::uint32_t a, std::uint32_t b, bool& a_high, bool& a_low) { return __vibmax_s16x2(a, b, &a_high, &a_low); }
__device__ __forceinline__ std::uint32_t min_unsigned_16x2(std::uint32_t a, std::uint32_t b) { return __vminu2(a, b); }
// Bytes of b:a by the selector's nibbles; a nibble with its highest bit set takes the byte's sign eight times.
__device__ __forceinline__ std::uint32_t select_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

}  // namespace sluice::poa_consensus::cuda
