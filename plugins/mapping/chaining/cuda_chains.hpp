// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Chains of all rows of a batch on a CUDA device, from the scores of cuda.hpp: those of chains_from_scores. Plain functions over device pointers and
// a stream. Nothing here allocates, waits or keeps state; what a function returns are the errors of its own launches.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "chaining/cuda.hpp"
#include "chaining/device_row.hpp"

namespace sluice::chaining::cuda {

RowRules row_rules(const ChainingParameters& parameters);

// A row with more anchors keeps its block for so long that the host had better do it: joins of many anchors do.
inline std::uint32_t most_row_anchors(const RowRules& rules) { return std::uint32_t{1} << (may_join(rules.parameters) ? 16 : 20); }
// Rows with up to so many anchors, the longest first, get blocks of different sizes.
inline constexpr std::uint32_t row_classes = 3;
inline constexpr std::uint32_t most_class_anchors[row_classes] = {UINT32_MAX, std::uint32_t{1} << 15, 4096};

// Rows to chain: listed rows with at most most_row_anchors, the longest first.
struct RowList {
  const std::uint32_t* rows = nullptr;  // on the device
  std::uint32_t of_class[row_classes];
};
// `anchors`: of each row in the list.
inline RowList list_rows(const std::uint32_t* rows, std::span<const std::uint32_t> anchors) {
  RowList list{rows, {}};
  for (const std::uint32_t count : anchors) {
    std::uint32_t of = row_classes - 1;
    while (count > most_class_anchors[of]) --of;
    ++list.of_class[of];
  }
  return list;
}

struct ScoredAnchors {
  DeviceAnchors anchors;
  DeviceScores scores;
  std::uint32_t* run = nullptr;               // Runs::ordinal; overwritten
  const std::int32_t* read_length = nullptr;  // per row
};

// Chains of each row from the place of its first anchor on, in arrays of as many elements as there are anchors.
struct BatchChains {
  RowChains columns;
  ChainTotals* totals = nullptr;      // per row
  std::uint8_t* undecided = nullptr;  // per row, 1: left to the host, and has no chains
};

// Of all rows, and of the row that took longest for a phase.
struct PhaseCycles {
  unsigned long long sum[phases], highest[phases];
};

// Parts of a workspace of chain_workspace_bytes, 256-byte aligned.
struct ChainWorkspace {
  BatchChains chains;
  RowRoom room;
  PhaseCycles* cycles = nullptr;  // added to, for measurements
};
std::size_t chain_workspace_bytes(const DeviceAnchors& anchors);
ChainWorkspace chain_workspace_in(void* workspace, const DeviceAnchors& anchors);

// Rows that are not listed have no chains. The longest rows are done on a stream of their own; the caller orders it before and behind the other.
cudaError_t clear_chains(const DeviceAnchors& anchors, const BatchChains& chains, cudaStream_t stream);
cudaError_t chain_rows(const ScoredAnchors& batch, const RowRules& rules, const RowList& list, const ChainWorkspace& workspace, cudaStream_t stream,
                       cudaStream_t long_stream);

// Where a batch's columns begin, for each row.
struct ChainColumns {
  const std::int64_t* chain_offsets = nullptr;
  const std::int64_t* anchor_offsets = nullptr;
  RowChains columns;
};
cudaError_t copy_chains(const DeviceAnchors& anchors, const BatchChains& chains, const ChainColumns& to, cudaStream_t stream);

// Rows with a fault (check_rows): scores 0 and no predecessors.
cudaError_t clear_excluded(const DeviceAnchors& anchors, const std::uint8_t* fault, const DeviceScores& scores, cudaStream_t stream);

}  // namespace sluice::chaining::cuda
