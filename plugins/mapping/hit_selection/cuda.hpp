// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The anchors of chains, gone through on a CUDA device: what hits need of them (MeasuredChain), so that hits cross the bus, and not anchors. Which
// hits there are, and how sure, is found on the host: that takes some microseconds a read, and needs libm.
//
//   prepare_rows      checks the lists of every read, and makes ready what its chains are looked up by
//   measure_chains    a warp a chain
//
// Plain functions over device pointers and a stream. Nothing here allocates, waits or keeps state.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "hit_selection/hits.hpp"

namespace sluice::hit_selection::cuda {

template <class T>
struct Lists {
  const std::int64_t* offsets = nullptr;  // rows + 1
  const T* values = nullptr;
  std::int64_t count = 0;  // of values
};

// A batch's columns.
struct DeviceReads {
  std::int64_t rows = 0;
  const std::uint16_t* row_status = nullptr;  // null: all fine
  const std::int32_t* length = nullptr;
  Lists<std::uint64_t> seed_position;
  Lists<std::int32_t> chain_score, chain_anchor_count;
  Lists<std::uint64_t> anchor_x, anchor_y;
};

struct Targets {
  const std::int32_t* length = nullptr;
  std::uint32_t count = 0;
};

// 32 bases of a read.
struct SeedWord {
  std::uint32_t ends;    // bit: a seed's last base is there
  std::uint32_t before;  // seeds that end before these bases
};
constexpr std::int64_t seed_words(std::int32_t length) { return (std::int64_t{length} + 31) / 32; }

struct MeasuredRow {
  std::uint64_t spans;    // of its seeds, altogether
  std::uint32_t by_host;  // its lists are not as they should be, or its seeds not in order: the host goes through them
  std::uint32_t unused;
};

struct Workspace {
  const std::int64_t* first_word = nullptr;  // per row, and one more
  SeedWord* words = nullptr;                 // zeroes
  std::int64_t* first_anchor = nullptr;      // per chain, among the values of anchor_x
  std::uint32_t* row = nullptr;              // per chain
};
inline constexpr std::uint32_t no_row = UINT32_MAX;

// Every row has an element of `rows`, every chain one of `chains` (values of chain_anchor_count); those of rows for the host, and of rows that have
// failed, mean nothing.
cudaError_t prepare_rows(const DeviceReads& reads, const Workspace& workspace, MeasuredRow* rows, cudaStream_t stream);
cudaError_t measure_chains(const DeviceReads& reads, const Targets& targets, const Workspace& workspace, MeasuredRow* rows, MeasuredChain* chains,
                           cudaStream_t stream);

}  // namespace sluice::hit_selection::cuda
