// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the kernels share: the place of a base in its batch, and the bits of an anchor's key.

#include <cstdint>

#include "minimizer_seeding/cuda_steps.hpp"

namespace sluice::minimizer_seeding::cuda {

inline constexpr int block_threads = 256;
inline constexpr int block_warps = block_threads / 32;
inline constexpr unsigned whole_warp = 0xFFFFFFFFU;

inline unsigned blocks_for(std::uint64_t items, std::uint64_t per_block) { return static_cast<unsigned>((items + per_block - 1) / per_block); }

__device__ inline std::uint64_t row_begin(const DeviceReads& reads, std::int64_t row) {
  return static_cast<std::uint64_t>(reads.offsets[row] - reads.first_offset);
}
__device__ inline std::int32_t row_length(const DeviceReads& reads, std::int64_t row) {
  return static_cast<std::int32_t>(reads.offsets[row + 1] - reads.offsets[row]);
}
__device__ inline bool row_is_wanted(const DeviceReads& reads, std::int64_t row) { return reads.row_status == nullptr || reads.row_status[row] == 0; }

// The last row of [low, high) that begins at or before a place of the batch; the first does.
__device__ inline std::int64_t row_of(const DeviceReads& reads, std::uint64_t place, std::int64_t low, std::int64_t high) {
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (row_begin(reads, middle) <= place ? low : high) = middle;
  }
  return low;
}

// A key holds row, strand, contig and place, from high to low bits, so that keys sort as rows, then x.
struct AnchorKeys {
  std::uint32_t contig_bits, place_bits;

  __host__ __device__ explicit AnchorKeys(const DeviceTables& tables) : contig_bits(tables.contig_bits), place_bits(tables.place_bits) {}
  __host__ __device__ std::uint32_t bits_below_row() const { return 1 + contig_bits + place_bits; }
  __device__ std::uint64_t key(std::uint64_t row, std::uint64_t strand, std::uint64_t contig, std::uint64_t place) const {
    return ((row << 1 | strand) << contig_bits | contig) << place_bits | place;
  }
  __device__ std::uint32_t row(std::uint64_t key) const { return static_cast<std::uint32_t>(key >> bits_below_row()); }
  // The anchor's x. Of two keys' differences: the differences of the x.
  __device__ std::uint64_t x(std::uint64_t key) const {
    const std::uint64_t place = key & ((std::uint64_t{1} << place_bits) - 1);
    const std::uint64_t contig = key >> place_bits & ((std::uint64_t{1} << contig_bits) - 1);
    return (key >> (contig_bits + place_bits) & 1) << 63 | contig << 32 | place;
  }
};

}  // namespace sluice::minimizer_seeding::cuda
