// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a job needs, found out by the host.

#include <algorithm>

#include "base_alignment/cuda/block_rows.hpp"
#include "base_alignment/kernel/path_score.hpp"

namespace sluice::base_alignment::cuda {

// Rows up to here may hold cells on the borders of a narrow band.
SLUICE_HOST_DEVICE constexpr std::int32_t bordered_rows(std::int32_t rows, Diagonals band) {
  const std::int32_t reach = (-band.lowest > band.highest ? -band.lowest : band.highest) + 3;
  return reach < rows ? reach : rows;
}

inline Job job_of(const Problem& problem) {
  Job job;
  job.query_length = problem.query_length;
  job.target_length = problem.target_length;
  job.band = std::min(band_of(problem), std::max(problem.query_length, problem.target_length));  // a wider one is the same
  job.z_drop = problem.z_drop;
  job.end_bonus = problem.end_bonus;
  job.goal = problem.goal;
  job.ties = problem.ties;
  return job;
}

// Memory of a matrix in blocks.
inline void plan_blocks(const Problem& problem, Job& job) {
  const std::int32_t in_band = static_cast<std::int32_t>(
      std::min({std::int64_t{problem.query_length}, std::int64_t{problem.target_length}, std::int64_t{band_of(problem)} + 1}));
  const std::int32_t width = (problem.target_length + block_cells - 1) / block_cells * block_cells;
  job.step_stride = std::min(width, ((in_band + block_cells - 2) / block_cells + 1) * block_cells);
  job.ring = RowRing::size_for(job.step_stride);
}
inline std::int64_t step_bytes(const Job& job) { return std::int64_t{job.step_stride} * (std::int64_t{job.query_length} + job.target_length - 1); }

}  // namespace sluice::base_alignment::cuda
