// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// align of kernel/align.hpp on a CUDA device, for thousands of problems at once: the same scores and operations.
//
// Pieces from end to end go through a band of 64 cells a row first, then one of 128, then through the whole matrix in blocks; extensions and what has
// an N through the latter at once. Problems whose matrix has no room are left to the CPU.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base_alignment/cuda/job.hpp"

namespace sluice::base_alignment::cuda {

enum class Phase : std::uint8_t { prepare, upload, fill_band_64, fill_band_128, fill_blocks, fill_spliced, follow, download };
inline constexpr std::size_t phases = 8;

struct Resources {
  cudaStream_t stream = nullptr;
  std::function<void*(std::size_t bytes)> allocate;  // memory of the device until the call has ended
  std::size_t scratch_bytes = 0;                     // for matrices and what is kept of them, at a time
  // For measurements: a phase has been asked for, with so many cells. May be empty.
  std::function<void(Phase phase, double cells)> lap;
};

// Both wait for the device.
void align(const Scores& scores, std::span<const Problem> problems, const Resources& resources, Answers& answers);
// What align_spliced of kernel/spliced.hpp computes.
void align_spliced(const Scores& scores, std::span<const SplicedProblem> problems, const Resources& resources, Answers& answers);

}  // namespace sluice::base_alignment::cuda
