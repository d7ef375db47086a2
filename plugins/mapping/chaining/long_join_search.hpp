// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The second engine, the table that scan_joins makes, with a tree only where anchors of equal cost would be joined differently. Anchors are kept by
// their position on the read, 512 bases to a lane, in the order in which they come into reach and leave it; each lane knows its lowest cost by a
// queue of the minima to come. README.md has the proof.

#include <cstdint>
#include <vector>

#include "chaining/predecessor_search.hpp"
#include "chaining/reachable_tree.hpp"
#include "chaining/recurrences.hpp"

namespace sluice::chaining {

// An anchor that will have the lowest cost of its lane when those before it have left.
struct LowestCost {
  double cost;
  std::int32_t anchor;
};

struct QueryLane {
  std::int32_t begin, end;          // places of the anchors within reach
  std::int32_t lowest, lowest_end;  // their queue of LowestCost, in order of cost and of anchors
};

struct JoinSearchScratch {
  std::vector<AnchorBlock> blocks;
  std::vector<std::int32_t> ceilings;  // per block: its highest score plus span; `block_anchors` spare ones in front
  std::vector<double> costs;           // per place of the blocks; infinity: not there yet, or no longer within reach
  std::vector<double> block_cost;      // per block: at most the lowest of its costs
  std::vector<LowestCost> queue;       // one place per place of the blocks
  std::vector<QueryLane> lanes;
  std::vector<double> lane_cost;  // per lane: its lowest cost, infinity if it is empty
  std::vector<std::int32_t> tied;
  ReachableTree tree;  // empty until the run's first tie that matters
};

// The anchors first .. last - 1, as for scan_joins. Requires skips_are_unlimited(parameters, parameters.rmq_size_cap).
void search_joins(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits,
                  JoinSearchScratch& scratch, PredecessorTable table);

}  // namespace sluice::chaining
