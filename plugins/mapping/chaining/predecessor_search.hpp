// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The first engine without a limit of skips: the table that scan_predecessors makes, from a small part of its pairs. README.md has the proof.
//
// Two anchors can only be neighbours in a chain when their diagonals (target - query position) differ by at most bw. So anchors are kept by
// diagonal: a lane of anchors holds those of some consecutive diagonals, in blocks of 16 that know the highest score they could pass on.

#include <cstdint>
#include <vector>

#include "chaining/recurrences.hpp"

namespace sluice::chaining {

inline constexpr std::int32_t block_anchors = 16;
// Of a place >= 0; shifts, because a division of signed numbers takes three times as long.
inline std::int32_t block_of(std::int32_t place) { return place >> 4; }
inline std::int32_t place_in_block(std::int32_t place) { return place & 15; }

// Columns of 16 anchors of one lane, in the order of the anchors.
struct alignas(64) AnchorBlock {
  std::int32_t target[block_anchors];
  std::int32_t query[block_anchors];
  std::int32_t span[block_anchors];
  std::int32_t score[block_anchors];  // out_of_reach: not there yet, or no longer within reach
  std::int32_t index[block_anchors];
};

struct DiagonalLane {
  std::int32_t begin;  // the first place that is within reach
  std::int32_t end;    // behind the last place that is filled
};

// A step reaches the two lanes on either side at most. A row has what a step to each of them costs at least, for some neighbouring diagonals of a
// lane: lanes -2, -1, 0, 1, 2 and three that do not count.
inline constexpr std::int32_t lanes_beside = 2;
inline constexpr std::int32_t row_lanes = 8;
struct alignas(32) LeastPenalties {
  std::int32_t of_lane[row_lanes];
};

struct PredecessorSearchScratch {
  std::vector<AnchorBlock> blocks;
  std::vector<std::int32_t> ceilings;  // per block: its highest score plus span; `block_anchors` spare ones in front
  std::vector<DiagonalLane> lanes;
  // Per lane: at least the score plus span of everything within reach; with `row_lanes` lanes of the other end repeated at either end.
  std::vector<std::int32_t> lane_ceilings;
  std::vector<LeastPenalties> penalties;  // for these limits and costs:
  StepLimits penalty_limits{};
  StepCosts penalty_costs{};
  std::uint64_t pairs = 0;  // evaluated, for benchmarks
};

// Requires skips_are_unlimited(parameters, parameters.max_chain_iter) and anchors that pass check_anchors.
void search_predecessors(Anchors anchors, const ChainingParameters& parameters, PredecessorSearchScratch& scratch, PredecessorTable table);

}  // namespace sluice::chaining
