// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of the recurrence on a CUDA device: Manhattan cost, no reference deletions, the same scores and columns as on the CPU. Private to the plugin.
//
// Cells are 16 bits wide, and what column_tiles.hpp proves of narrow cells holds with the ceiling below: a score that is not less says that the query
// has to be computed again with wide cells, by the CPU.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "sdtw/cuda_schedule.hpp"

namespace sluice::sdtw::cuda {

// Levels that are added to the history of a query.
struct Append {
  std::int64_t query = 0, levels = 0;
  std::int16_t* to = nullptr;
};

// Device memory throughout. Lowers results to the hits.
cudaError_t compute(std::span<const Launch> launches, const QueryRows* queries, const TargetStretch* stretches, const std::uint32_t* levels,
                    const std::int16_t* query, std::uint64_t* results, cudaStream_t stream);
cudaError_t copy_paths(const PathCopy* copies, std::int64_t count, const std::uint32_t* levels, std::uint32_t* path_levels, std::int16_t* path_query,
                       cudaStream_t stream);
cudaError_t spread_stretches(const OwnStretch* stretches, std::int64_t count, const std::int16_t* levels, std::uint32_t* words, cudaStream_t stream);
cudaError_t append_levels(const Append* appends, std::int64_t count, const std::int16_t* query, cudaStream_t stream);

}  // namespace sluice::sdtw::cuda
