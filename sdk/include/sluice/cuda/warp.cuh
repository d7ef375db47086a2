// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sums, maxima and scans over the 32 lanes of a warp, all of which take part. Of blocks and of the device: CUB. Sums of floats depend on the order of
// the additions: here it is always the same, but another one than from the first lane to the last.

#include <cstdint>

namespace sluice::cuda {

inline constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;
inline constexpr int warp_lanes = 32;

// Every lane gets the sum.
template <class T>
__device__ __forceinline__ T sum_over_warp(T value) {
#pragma unroll
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(whole_warp, value, distance);
  return value;
}

// Every lane gets the highest value.
template <class T>
__device__ __forceinline__ T highest_of_warp(T value) {
#pragma unroll
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) value = max(value, __shfl_xor_sync(whole_warp, value, distance));
  return value;
}

// A lane gets what `join` makes of its own value and those of the lanes below: join(own, below).
template <class T, class Join>
__device__ __forceinline__ T scan_over_warp(T value, int lane, Join join) {
#pragma unroll
  for (int distance = 1; distance < warp_lanes; distance *= 2) {
    const T below = __shfl_up_sync(whole_warp, value, distance);
    if (lane >= distance) value = join(value, below);
  }
  return value;
}
// The sum up to and with the lane's own value.
template <class T>
__device__ __forceinline__ T inclusive_sum_over_warp(T value, int lane) {
  return scan_over_warp(value, lane, [](T own, T below) { return own + below; });
}

}  // namespace sluice::cuda
