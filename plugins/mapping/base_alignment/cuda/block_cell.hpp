// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One cell of the matrix as kernel/plain.cpp defines it: 8 bits, which wrap.

#include <cstdint>
#include <sluice/minimizer_index.hpp>  // SLUICE_HOST_DEVICE

#include "base_alignment/kernel/progress.hpp"

namespace sluice::base_alignment::cuda {

// Of a cell: what its right neighbour needs, and what the cell below it needs.
struct alignas(4) LeftCell {
  std::int8_t x, x2, v;
  std::int8_t u;  // for who follows the corner's score
};
struct alignas(4) UpperCell {
  std::int8_t y, y2, u, substitution;
};

SLUICE_HOST_DEVICE constexpr std::int8_t byte(std::int32_t value) { return static_cast<std::int8_t>(static_cast<std::uint8_t>(value)); }

template <bool two_pieces, TieOrder ties>
struct BlockCell {
  // Replaces the neighbours of a cell by the cell itself, and gives its step.
  SLUICE_HOST_DEVICE static std::uint8_t fill(const Scores& scores, LeftCell& left, UpperCell& upper) {
    const std::int8_t deletion = byte(left.x + left.v), insertion = byte(upper.y + upper.u);
    const std::int8_t long_deletion = byte(left.x2 + left.v), long_insertion = byte(upper.y2 + upper.u);
    std::int8_t score = upper.substitution;
    std::uint8_t step = step_match;
    take(deletion, step_deletion, score, step);
    take(insertion, step_insertion, score, step);
    if constexpr (two_pieces) {
      take(long_deletion, step_long_deletion, score, step);
      take(long_insertion, step_long_insertion, score, step);
    }
    if (score > byte(scores.match)) score = byte(scores.match);
    const std::int8_t left_v = left.v, upper_u = upper.u;
    upper.u = byte(score - left_v);
    left.v = byte(score - upper_u);
    left.u = upper.u;
    left.x = behind(deletion, score, scores.gap_open, scores.gap_extend, step_deletion, step);
    upper.y = behind(insertion, score, scores.gap_open, scores.gap_extend, step_insertion, step);
    if constexpr (two_pieces) {
      left.x2 = behind(long_deletion, score, scores.gap_open_long, scores.gap_extend_long, step_long_deletion, step);
      upper.y2 = behind(long_insertion, score, scores.gap_open_long, scores.gap_extend_long, step_long_insertion, step);
    }
    return step;
  }

 private:
  SLUICE_HOST_DEVICE static void take(std::int8_t candidate, std::uint8_t candidate_step, std::int8_t& score, std::uint8_t& step) {
    if (candidate < score || (candidate == score && ties == TieOrder::gap_right)) return;
    score = candidate;
    step = candidate_step;
  }
  // The gap behind a cell: its score against that of the cell, and whether it goes on.
  SLUICE_HOST_DEVICE static std::int8_t behind(std::int8_t gap, std::int8_t cell, std::int32_t open, std::int32_t extend, std::uint8_t gap_step,
                                               std::uint8_t& step) {
    const std::int8_t over = byte(gap - cell + open);
    if (over > (ties == TieOrder::gap_left ? -1 : 0)) step = static_cast<std::uint8_t>(step | goes_on(gap_step));
    return byte((over > 0 ? over : 0) - (open + extend));
  }
};

}  // namespace sluice::base_alignment::cuda
