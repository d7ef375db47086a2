// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the lanes of a warp do together, and arithmetic on two 16-bit values in a word. A compute capability of 9.0 has one instruction for each of
// the latter.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sluice::poa_consensus::cuda {

constexpr int warp_lanes = 32;
constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;

// Opaque to the compiler: it would otherwise read the special register again in every row.
__device__ __forceinline__ int lane_id() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
// The same pointer, of which the compiler knows nothing.
template <class T>
__device__ __forceinline__ T* opaque(T* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}
__device__ __forceinline__ void synchronize_warp() { __syncwarp(); }

// A place in shared memory in one register; a pointer would take two and be made anew wherever registers are short.
using SharedPlace = std::uint32_t;
__device__ __forceinline__ SharedPlace shared_place(const void* memory) {
  SharedPlace place = static_cast<SharedPlace>(__cvta_generic_to_shared(memory));
  asm volatile("" : "+r"(place));
  return place;
}
__device__ __forceinline__ std::int32_t load_shared_16(SharedPlace from) {
  std::int16_t value;
  asm volatile("ld.shared.s16 %0, [%1];" : "=h"(value) : "r"(from) : "memory");
  return value;
}
__device__ __forceinline__ void load_shared(SharedPlace from, std::uint32_t& value) {
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_shared(SharedPlace from, uint2& value) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_shared(SharedPlace from, uint4& value) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w) : "r"(from) : "memory");
}
__device__ __forceinline__ void store_shared(SharedPlace to, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}
__device__ __forceinline__ void store_shared(SharedPlace to, uint2 value) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(value.x), "r"(value.y) : "memory");
}
__device__ __forceinline__ void store_shared(SharedPlace to, uint4 value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w) : "memory");
}
// 16 bytes from the device's memory, without a register between. They are there after wait_for_copies() and synchronize_warp().
__device__ __forceinline__ void copy_to_shared(SharedPlace to, const uint4* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

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
// max(a + b, c)
__device__ __forceinline__ std::uint32_t add_max_16x2(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return __viaddmax_s16x2(a, b, c); }
__device__ __forceinline__ std::uint32_t max_16x2(std::uint32_t a, std::uint32_t b) { return __vmaxs2(a, b); }
// 1 in each half in which a, which is nowhere less than b, differs from it.
__device__ __forceinline__ std::uint32_t exceeds_16x2(std::uint32_t a, std::uint32_t b) { return __vminu2(__vsub2(a, b), 0x00010001); }
__device__ __forceinline__ std::int32_t add_max(std::int32_t a, std::int32_t b, std::int32_t c) { return __viaddmax_s32(a, b, c); }
// Bytes of b:a by the selector's nibbles; a nibble with its highest bit set takes the byte's sign eight times.
__device__ __forceinline__ std::uint32_t select_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  std::uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

}  // namespace sluice::poa_consensus::cuda
