// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How many letters of a read are G or C, on the CPU and on a CUDA device.

#include <cstdint>
#include <string_view>

namespace gc_count {

std::int64_t count(std::string_view bases);

}  // namespace gc_count

#ifdef SLUICE_WITH_CUDA
#include <cuda_runtime_api.h>

namespace gc_count::cuda {

// Read i is bases[offsets[i], offsets[i + 1]); its number goes to counts[i]. All pointers are to device memory, row_status (0: a good row) may be
// null: all rows are good then. Failed rows get 0. Does not wait; returns the error of the launch.
cudaError_t count(const char* bases, const std::int64_t* offsets, const std::uint16_t* row_status, std::int64_t rows, std::int64_t* counts,
                  cudaStream_t stream);

}  // namespace gc_count::cuda
#endif
