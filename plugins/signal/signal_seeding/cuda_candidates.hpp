// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Candidates of a batch of reads on a CUDA device: those of candidates.hpp. A warp a read.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "signal_seeding/candidates.hpp"

namespace sluice::signal_seeding::cuda {

// A list column on the device.
template <class T>
struct DeviceList {
  const std::int64_t* offsets = nullptr;  // rows + 1
  const T* values = nullptr;
};
struct DeviceChains {
  std::int64_t rows = 0;
  const std::int32_t* read_length = nullptr;
  DeviceList<std::int32_t> score, anchor_count;
  DeviceList<std::uint64_t> anchor_x, anchor_y;
  const std::uint16_t* row_status = nullptr;  // per row; only rows with 0 are looked at; null: all
  std::int64_t strands = 0;                   // with the end of the last
  const std::int64_t* strand_begin = nullptr;
};

// More chains of a read do not count on a device: most_chains beyond it is for the CPU.
inline constexpr std::int32_t most_device_chains = 32;
inline constexpr std::int32_t bad_chains = -1;

// Device memory throughout. first_anchor: working memory, an entry for each chain of the batch. found: most_chains entries a row, of which count[row]
// are set; bad_chains: they are not valid.
cudaError_t find_candidates(const DeviceChains& chains, const CandidateParameters& parameters, std::int64_t* first_anchor, Candidate* found,
                            std::int32_t* count, cudaStream_t stream);
// The columns. offsets: rows + 1.
cudaError_t write_candidates(std::int64_t rows, std::int32_t most_chains, const Candidate* found, const std::int64_t* offsets, std::int64_t* begin,
                             std::int64_t* end, cudaStream_t stream);

}  // namespace sluice::signal_seeding::cuda
