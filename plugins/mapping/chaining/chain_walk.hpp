// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From scores and predecessors to chains.

#include <cstdint>
#include <span>
#include <vector>

#include "chaining/chaining.hpp"
#include "chaining/recurrences.hpp"

namespace sluice::chaining {

struct ChainLimits {
  std::int32_t min_chain_score, min_cnt;
  std::int32_t max_drop;  // a chain ends where its score has fallen by more than this from its peak, walking back
  Ties ties = Ties::minimap2;
};

struct ChainWalkScratch {
  struct ChainStart {
    std::uint64_t first_x;
    std::uint32_t chain;
  };
  std::vector<std::uint64_t> ends;       // score << 32 | anchor
  std::vector<std::uint64_t> ends_left;  // a few of them
  std::vector<std::uint8_t> used;        // per anchor
  std::vector<std::int32_t> members;     // anchors of the chains, each chain from its end to its beginning
  std::vector<std::uint64_t> scores;     // chain score << 32 | anchors
  std::vector<std::size_t> ends_at;      // per chain, past its last member
  std::vector<ChainStart> order;
};

// The best end first; each anchor belongs to one chain at most. The chains come in the order of their first anchor's x (ties: ChainLimits). `room`
// may not overlap `anchors`.
Chains walk_chains(Anchors anchors, PredecessorTable table, ChainLimits limits, ChainWalkScratch& scratch, ChainRoom room);

}  // namespace sluice::chaining
