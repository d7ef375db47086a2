// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a sequence is scored against a partial order graph.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace sluice::poa_consensus {

enum class AlignmentMode : std::uint8_t {
  global,       // all of the sequence, from a source of the graph to a sink (Needleman-Wunsch)
  local,        // the best part of the sequence against the best part of the graph (Smith-Waterman)
  semi_global,  // the graph's beginning costs nothing; up to the best column of a sink (spoa's overlap mode)
};

enum class GapCost : std::uint8_t { linear, affine };

// Scores in [-128, 127]; gaps are negative. A gap of n bases costs gap_open + (n - 1) * gap_extend.
struct Scoring {
  AlignmentMode mode = AlignmentMode::global;
  std::int32_t match = 5;
  std::int32_t mismatch = -4;
  std::int32_t gap_open = -8;
  std::int32_t gap_extend = -8;

  // As in spoa: an extension that costs no less than the opening makes the gap linear.
  GapCost gap_cost() const { return gap_open >= gap_extend ? GapCost::linear : GapCost::affine; }
  std::int32_t largest_step() const { return std::max({std::abs(match), std::abs(mismatch), std::abs(gap_open), std::abs(gap_extend)}); }
};

}  // namespace sluice::poa_consensus
