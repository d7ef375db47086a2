// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/cuda.hpp"
#include "sdtw/cuda_rows.cuh"

namespace sluice::sdtw::cuda {
namespace {

// A lane may have so many rows less than its kernel's.
constexpr std::int32_t spare_rows(std::int32_t lane_rows) { return lane_rows <= 64 ? 4 : 2; }

using RowsKernel = void (*)(const QueryRows*, std::int64_t, const TargetStretch*, std::int64_t, int, const std::uint32_t*, const std::int16_t*,
                            std::uint64_t*);

template <Rows kind>
RowsKernel kernel_of(std::int32_t lane_rows) {
  switch (lane_rows) {
    case 4:
      return rows_kernel<4, spare_rows(4), kind>;
    case 8:
      return rows_kernel<8, spare_rows(8), kind>;
    case 12:
      return rows_kernel<12, spare_rows(12), kind>;
    case 16:
      return rows_kernel<16, spare_rows(16), kind>;
    case 20:
      return rows_kernel<20, spare_rows(20), kind>;
    case 24:
      return rows_kernel<24, spare_rows(24), kind>;
    case 28:
      return rows_kernel<28, spare_rows(28), kind>;
    case 32:
      return rows_kernel<32, spare_rows(32), kind>;
    case 36:
      return rows_kernel<36, spare_rows(36), kind>;
    case 40:
      return rows_kernel<40, spare_rows(40), kind>;
    case 44:
      return rows_kernel<44, spare_rows(44), kind>;
    case 48:
      return rows_kernel<48, spare_rows(48), kind>;
    case 52:
      return rows_kernel<52, spare_rows(52), kind>;
    case 56:
      return rows_kernel<56, spare_rows(56), kind>;
    case 60:
      return rows_kernel<60, spare_rows(60), kind>;
    case 64:
      return rows_kernel<64, spare_rows(64), kind>;
    case 66:
      return rows_kernel<66, spare_rows(66), kind>;
    case 68:
      return rows_kernel<68, spare_rows(68), kind>;
    case 70:
      return rows_kernel<70, spare_rows(70), kind>;
    default:
      return nullptr;
  }
}

__global__ void copy_paths_kernel(const PathCopy* __restrict__ copies, const std::uint32_t* __restrict__ levels, std::uint32_t* path_levels,
                                  std::int16_t* path_query) {
  const PathCopy copy = copies[blockIdx.x];
  for (std::int64_t j = threadIdx.x; j < copy.columns; j += blockDim.x)
    path_levels[copy.to_words + j] = both_halves(levels[copy.last_word - j] >> 16 * copy.half & 0xFFFF);
  for (std::int64_t i = threadIdx.x; i < copy.levels; i += blockDim.x) path_query[copy.to_query + i] = copy.query[copy.levels - 1 - i];
}

__global__ void spread_stretches_kernel(const OwnStretch* __restrict__ stretches, const std::int16_t* __restrict__ levels, std::uint32_t* words) {
  const OwnStretch stretch = stretches[blockIdx.x];
  for (std::int64_t j = threadIdx.x; j < stretch.words; j += blockDim.x)
    words[stretch.word + j] = j < stretch.columns ? both_halves(static_cast<std::uint32_t>(levels[stretch.first_level + j] + squiggle_limit)) : 0;
}

__global__ void append_levels_kernel(const Append* __restrict__ appends, const std::int16_t* __restrict__ query) {
  const Append append = appends[blockIdx.x];
  for (std::int64_t i = threadIdx.x; i < append.levels; i += blockDim.x) append.to[i] = query[append.query + i];
}

}  // namespace

cudaError_t compute(std::span<const Launch> launches, const QueryRows* queries, const TargetStretch* stretches, const std::uint32_t* levels,
                    const std::int16_t* query, std::uint64_t* results, cudaStream_t stream) {
  for (const Launch& launch : launches) {
    const RowsKernel kernel = launch.rows == Rows::whole      ? kernel_of<Rows::whole>(launch.shape.lane_rows)
                              : launch.rows == Rows::stateful ? kernel_of<Rows::stateful>(launch.shape.lane_rows)
                              : launch.rows == Rows::paired   ? kernel_of<Rows::paired>(launch.shape.lane_rows)
                                                              : kernel_of<Rows::anchored>(launch.shape.lane_rows);
    if (kernel == nullptr || launch.items() <= 0) return cudaErrorInvalidValue;
    const std::int64_t blocks = (launch.items() * launch.shape.group + 31) / 32;
    kernel<<<static_cast<unsigned int>(blocks), 32, 0, stream>>>(queries + launch.first_query, launch.query_count, stretches + launch.first_stretch,
                                                                 launch.items(), launch.shape.group, levels, query, results);
    if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t copy_paths(const PathCopy* copies, std::int64_t count, const std::uint32_t* levels, std::uint32_t* path_levels, std::int16_t* path_query,
                       cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  copy_paths_kernel<<<static_cast<unsigned int>(count), 128, 0, stream>>>(copies, levels, path_levels, path_query);
  return cudaGetLastError();
}

cudaError_t spread_stretches(const OwnStretch* stretches, std::int64_t count, const std::int16_t* levels, std::uint32_t* words, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  spread_stretches_kernel<<<static_cast<unsigned int>(count), 256, 0, stream>>>(stretches, levels, words);
  return cudaGetLastError();
}

cudaError_t append_levels(const Append* appends, std::int64_t count, const std::int16_t* query, cudaStream_t stream) {
  if (count <= 0) return cudaSuccess;
  append_levels_kernel<<<static_cast<unsigned int>(count), 128, 0, stream>>>(appends, query);
  return cudaGetLastError();
}

}  // namespace sluice::sdtw::cuda
