// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Walks back along shortest paths in the trace of a band.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "pair_alignment/band_fill.hpp"

namespace sluice::pair_alignment {

// A base of the query against a gap is always preferred; this says what comes next.
enum class Prefer : std::uint8_t { target_gap, diagonal };

// Walks from (row, column) until one of the two is that of the end, and leaves both where it stopped. Calls on_query(), on_target() and on_diagonal()
// for each step, before it is made, while row and column are those of the cell that it leaves.
template <Prefer prefer, class OnQuery, class OnTarget, class OnDiagonal>
void walk_trace(const BandTrace& trace, std::int64_t& row, std::int64_t& column, std::int64_t end_row, std::int64_t end_column, OnQuery&& on_query,
                OnTarget&& on_target, OnDiagonal&& on_diagonal) {
  const int lanes = trace.lanes;
  const std::int64_t step_words = std::int64_t{2} * lanes;
  const int lane_bits = std::countr_zero(static_cast<unsigned>(lanes));
  while (row > end_row && column > end_column) {
    // One block of 64 rows, down to the row above it.
    const std::int64_t block = (row - 1) >> 6;
    const std::int64_t above = std::max(end_row, block << 6);
    const BandStrip& strip = trace.strips[static_cast<std::size_t>(block >> lane_bits)];
    const std::int64_t lane = block & (lanes - 1);
    const std::uint64_t* words = strip.words + (column - strip.first_column + 2 * lane) * step_words + lane;
    std::uint64_t bit = std::uint64_t{1} << ((row - 1) & 63);
    while (row > above && column > end_column) {
      const bool no_diagonal = (words[0] & bit) != 0, no_target = (words[lanes] & bit) != 0;
      if (prefer == Prefer::diagonal ? !no_diagonal : no_target && !no_diagonal) {
        on_diagonal();
        --row, --column;
        bit >>= 1U;
        words -= step_words;
      } else if (!no_target) {
        on_target();
        --column;
        words -= step_words;
      } else {
        on_query();
        --row;
        bit >>= 1U;
      }
    }
  }
}

}  // namespace sluice::pair_alignment
