// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The consensus of a partial order graph as the path along its heaviest edges: Lee 2003, with spoa 4.0.8's rules for ties and for paths that end
// early.

#include <cstdint>
#include <vector>

#include "poa_consensus/graph.hpp"

namespace sluice::poa_consensus {

struct BundleWorkspace {
  std::vector<std::int64_t> score;
  std::vector<std::int32_t> predecessor, rank;
};

// Replaces `path` by the nodes of the consensus of a ranked graph; none for an empty graph, those of sequence 0 if the best path ends where no edge
// weighs anything.
void heaviest_bundle(const PartialOrderGraph& graph, BundleWorkspace& workspace, std::vector<std::int32_t>& path);

// Sequences (of more than one letter) that have a letter where the node is: those through the node and through its aligned nodes.
std::int32_t column_coverage(const PartialOrderGraph& graph, std::int32_t node);

}  // namespace sluice::poa_consensus
