// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A partial order graph as a device gives it back: the node of every letter, and what each node was aligned with when it was made. The rest (edges
// and their order, weights, columns) follows from merging the sequences along these, which takes no alignment.

#include <cstdint>
#include <span>

namespace sluice::poa_consensus {

struct GraphPaths {
  static constexpr std::uint16_t none = 0xFFFF;
  std::span<const std::uint16_t> node;          // of each letter of the window
  std::span<const std::uint16_t> aligned_from;  // of each node: a node of its column that is older, or none
  std::span<const char> guide;                  // letters of the nodes of the round before's consensus, which are the first ones; none in one round
};

}  // namespace sluice::poa_consensus
