// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "gc_count.hpp"

namespace gc_count::cuda {
namespace {

constexpr int warp = 32, reads_per_block = 4;

// One warp a read: its threads look at neighbouring letters, so that memory is read in whole lines.
__global__ void count_kernel(const char* bases, const std::int64_t* offsets, const std::uint16_t* row_status, std::int64_t rows,
                             std::int64_t* counts) {
  const std::int64_t row = std::int64_t{blockIdx.x} * reads_per_block + threadIdx.y;
  if (row >= rows) return;
  std::int64_t found = 0;
  if (row_status == nullptr || row_status[row] == 0)
    for (std::int64_t i = offsets[row] + threadIdx.x; i < offsets[row + 1]; i += warp) found += bases[i] == 'G' || bases[i] == 'C' ? 1 : 0;
  for (int step = warp / 2; step > 0; step /= 2) found += __shfl_down_sync(0xffffffff, found, step);
  if (threadIdx.x == 0) counts[row] = found;
}

}  // namespace

cudaError_t count(const char* bases, const std::int64_t* offsets, const std::uint16_t* row_status, std::int64_t rows, std::int64_t* counts,
                  cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((rows + reads_per_block - 1) / reads_per_block);
  count_kernel<<<blocks, dim3(warp, reads_per_block), 0, stream>>>(bases, offsets, row_status, rows, counts);
  return cudaGetLastError();
}

}  // namespace gc_count::cuda
