// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Which rows can be chained: check_anchors for a whole batch, one block a row.

#include "chaining/cuda.hpp"

namespace sluice::chaining::cuda {
namespace {

constexpr int threads = 128;

__device__ std::uint8_t code_of(AnchorFault fault) { return static_cast<std::uint8_t>(fault); }

__global__ void __launch_bounds__(threads) check_rows_kernel(DeviceRows rows, std::uint8_t* fault, std::uint32_t* any) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t begin = rows.anchors.offsets[row], end = rows.anchors.offsets[row + 1], y_begin = rows.y_offsets[row];
  const std::int64_t length = rows.read_length[row];
  std::uint8_t code = code_of(AnchorFault::none);
  if (rows.row_status != nullptr && rows.row_status[row] != 0) {
    code = row_failed_before;
  } else if (end - begin != rows.y_offsets[row + 1] - y_begin) {
    code = code_of(AnchorFault::different_lengths);
  } else if (end - begin > INT32_MAX) {
    code = code_of(AnchorFault::too_many);
  } else if (length < 0 || length > highest_position) {
    if (begin != end) code = code_of(AnchorFault::outside_read);
  } else {
    bool sorted = true, inside = true;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      const std::uint64_t x = rows.anchors.x[i];
      sorted &= i == begin || rows.anchors.x[i - 1] <= x;
      inside &= (x & 0xFFFFFFFFU) <= static_cast<std::uint64_t>(highest_position);
      inside &= (rows.anchors.y[y_begin + (i - begin)] & 0xFFFFFFFFU) < static_cast<std::uint64_t>(length);
    }
    const bool unsorted = __syncthreads_or(sorted ? 0 : 1) != 0;
    const bool outside = __syncthreads_or(inside ? 0 : 1) != 0;
    code = code_of(unsorted ? AnchorFault::unsorted : outside ? AnchorFault::outside_read : AnchorFault::none);
  }
  if (threadIdx.x != 0) return;
  fault[row] = code;
  if (code != 0 && begin != end) *any = 1;
}

__global__ void __launch_bounds__(threads) copy_accepted_kernel(DeviceRows rows, const std::uint8_t* fault, std::uint64_t* x, std::uint64_t* y) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t begin = rows.anchors.offsets[row], end = rows.anchors.offsets[row + 1], y_begin = rows.y_offsets[row];
  const bool accepted = fault[row] == 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
    // Each on a target of its own.
    x[i] = accepted ? rows.anchors.x[i] : static_cast<std::uint64_t>(i - begin) << 32;
    y[i] = accepted ? rows.anchors.y[y_begin + (i - begin)] : 0;
  }
}

}  // namespace

cudaError_t check_rows(const DeviceRows& rows, std::uint8_t* fault, std::uint32_t* any, cudaStream_t stream) {
  if (rows.anchors.rows == 0) return cudaSuccess;
  check_rows_kernel<<<static_cast<unsigned int>(rows.anchors.rows), threads, 0, stream>>>(rows, fault, any);
  return cudaGetLastError();
}

cudaError_t copy_accepted(const DeviceRows& rows, const std::uint8_t* fault, std::uint64_t* x, std::uint64_t* y, cudaStream_t stream) {
  if (rows.anchors.rows == 0) return cudaSuccess;
  copy_accepted_kernel<<<static_cast<unsigned int>(rows.anchors.rows), threads, 0, stream>>>(rows, fault, x, y);
  return cudaGetLastError();
}

}  // namespace sluice::chaining::cuda
