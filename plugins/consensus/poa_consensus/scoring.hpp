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

enum class GapCost : std::uint8_t { linear, affine, convex };

// Scores in [-128, 127]; gaps are negative. A gap of n bases scores the better of gap_open + (n - 1) * gap_extend and, if gaps are convex,
// second_gap_open + (n - 1) * second_gap_extend: the second piece is for long gaps.
struct Scoring {
  AlignmentMode mode = AlignmentMode::global;
  std::int32_t match = 5;
  std::int32_t mismatch = -4;
  std::int32_t gap_open = -8;
  std::int32_t gap_extend = -8;
  std::int32_t second_gap_open = 0;
  std::int32_t second_gap_extend = -128;

  // As in spoa: an extension that costs no less than the opening makes the gap linear; a second piece that is never the better one for a long gap, or
  // always the better one, does not count.
  GapCost gap_cost() const {
    if (gap_open >= gap_extend) return GapCost::linear;
    return gap_open <= second_gap_open || gap_extend >= second_gap_extend ? GapCost::affine : GapCost::convex;
  }
  std::int32_t largest_step() const { return std::max({std::abs(match), std::abs(mismatch), std::abs(gap_open), std::abs(gap_extend)}); }
};

// spoa 4.0.8 computes convex gaps along a sequence in vectors of so many columns, and where a gap ends depends on them: an opening is reckoned from a
// gap's end only across vectors. Debian's library has eight columns, and four where its bound of the scores does not fit 16 bits; so have we.
inline std::int32_t columns_of_convex_vector(const Scoring& scoring, std::int64_t length, std::int64_t nodes) {
  const auto gap = [&](std::int64_t bases) {
    return bases == 0
               ? 0
               : std::min(scoring.gap_open + (bases - 1) * scoring.gap_extend, scoring.second_gap_open + (bases - 1) * scoring.second_gap_extend);
  };
  const std::int64_t columns = length + 8;
  const std::int64_t worst = std::min(-(scoring.match * std::min(columns, nodes) + gap(std::abs(columns - nodes))), gap(columns) + gap(nodes));
  return worst < -32768 + 1024 ? 4 : 8;
}

}  // namespace sluice::poa_consensus
