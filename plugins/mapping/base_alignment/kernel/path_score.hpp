// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scores of paths from end to end, and of those that leave a band.

#include <algorithm>
#include <cstdint>
#include <span>

#include "base_alignment/kernel/columns.hpp"
#include "base_alignment/kernel/progress.hpp"

namespace sluice::base_alignment {

// The diagonals (place on the target less place on the query) of a band.
struct Diagonals {
  std::int32_t lowest = 0, highest = 0;
};
// So many cells a row, around the diagonals of both ends; the lowest is even.
constexpr Diagonals diagonals_around(std::int32_t query_length, std::int32_t target_length, std::int32_t width) {
  const std::int32_t middle = (target_length - query_length) / 2;
  const std::int32_t lowest = (middle - (width - 1)) & ~1;
  return {lowest, lowest + 2 * (width - 1)};
}
constexpr Diagonals diagonals_around(const Problem& problem, std::int32_t width) {
  return diagonals_around(problem.query_length, problem.target_length, width);
}

constexpr std::int64_t gap_cost(const Scores& scores, std::int64_t bases) { return bases > 0 ? -border_score(scores, bases) : 0; }

// No path that touches a diagonal outside the band scores more: so many bases are in gaps, in one of each kind at best, and all others may be equal.
inline std::int64_t highest_outside(const Scores& scores, const Problem& problem, Diagonals band) {
  const std::int64_t shift = problem.target_length - problem.query_length;
  const auto bound = [&](std::int64_t there, std::int64_t back, std::int64_t bases) {
    return scores.match * std::max<std::int64_t>(bases - there, 0) - gap_cost(scores, there) - gap_cost(scores, back);
  };
  const std::int64_t up = std::int64_t{band.highest} + 1, down = 1 - std::int64_t{band.lowest};
  return std::max(bound(up, up - shift, problem.target_length), bound(down, down + shift, problem.query_length));
}
// Do both ends lie inside?
inline bool holds_ends(const Problem& problem, Diagonals band) {
  const std::int32_t shift = problem.target_length - problem.query_length;
  return band.lowest < std::min(0, shift) && band.highest > std::max(0, shift);
}

// Of a path through the matrix, from end to end.
inline std::int64_t path_score(const Scores& scores, const Problem& problem, std::span<const std::uint32_t> cigar) {
  std::int64_t score = 0;
  const std::uint8_t *query = problem.query, *target = problem.target;
  for (const std::uint32_t operation : cigar) {
    const std::uint32_t bases = operation >> 4, code = operation & 15U;
    if (code == 0) {
      const auto columns = static_cast<std::int32_t>(bases);
      const std::int64_t unequal = unequal_columns(target, query, columns);
      const std::int64_t ambiguous = unequal > 0 ? ambiguous_columns(target, query, columns) : 0;
      const std::int64_t transitions = unequal > 0 && scores.has_transitions() ? transition_columns(target, query, columns) : 0;
      score += (bases - unequal) * scores.match + ambiguous * ambiguous_score(scores) - (unequal - ambiguous - transitions) * scores.mismatch -
               transitions * scores.transition_penalty();
      query += bases;
      target += bases;
    } else {
      score -= gap_cost(scores, bases);
      (code == 1 ? query : target) += bases;
    }
  }
  return score;
}

}  // namespace sluice::base_alignment
