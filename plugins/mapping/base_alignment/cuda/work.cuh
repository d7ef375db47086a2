// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What kernels are given, and the one that all jobs end with.

#include <cuda_runtime.h>

#include "base_alignment/cuda/job.hpp"

namespace sluice::base_alignment::cuda {

constexpr int warp_lanes = 32;
constexpr std::uint32_t whole_warp = 0xFFFFFFFFU;

// On the device; jobs lie one behind the other.
struct Work {
  Scores scores;
  const Job* jobs;
  std::int32_t count;
  const std::uint8_t* codes;
  const std::uint32_t* targets;  // of jobs across introns: see SiteWord
  const std::int32_t* of_cuts;
  std::uint8_t* steps;
  std::uint8_t* rings;
  std::uint32_t* operations;
  Answer* answers;
};

constexpr int threads_of_path = 128;

// Operations without the room between them: those of job i at to[i]. A warp a job.
static __global__ void __launch_bounds__(threads_of_path)
    gather_kernel(const Answer* answers, const std::int64_t* to, std::int32_t count, const std::uint32_t* operations, std::uint32_t* gathered) {
  const auto number = static_cast<std::int32_t>((blockIdx.x * threads_of_path + threadIdx.x) / warp_lanes);
  if (number >= count) return;
  const Answer& answer = answers[number];
  if (to[number] < 0) return;
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x) % warp_lanes; i < answer.operation_count; i += warp_lanes)
    gathered[to[number] + i] = operations[answer.operations + i];
}

}  // namespace sluice::base_alignment::cuda
