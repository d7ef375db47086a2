// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the plain and the vector form of spliced alignment share: borders, the best cell so far, and the way back.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base_alignment/kernel/progress.hpp"
#include "base_alignment/kernel/spliced.hpp"

namespace sluice::base_alignment {

inline constexpr std::uint8_t step_intron = 3;  // beside step_match, step_deletion and step_insertion

// Score of so many bases of a gap in front of the first base of the other sequence: on either side it costs no more than an intron.
constexpr std::int32_t spliced_border(const Scores& scores, std::int32_t bases) {
  return bases <= 0 ? 0 : -std::min(scores.gap_open + bases * scores.gap_extend, scores.gap_open_long);
}
constexpr std::int32_t spliced_matrix_score(const Scores& scores, std::uint8_t target, std::uint8_t query) {
  if (target > 3 || query > 3) return scores.ambiguous == 0 && !scores.has_transitions() ? -scores.gap_extend : -scores.ambiguous;
  return column_score(scores, target, query);
}

// In front of the first base an intron costs no more than a longer deletion.
constexpr std::int32_t longest_deletion(const Scores& scores) {
  const std::int32_t bases = (scores.gap_open_long - scores.gap_open) / scores.gap_extend - 1;
  return scores.gap_open_long > scores.gap_open + scores.gap_extend + bases * scores.gap_extend ? bases + 1 : bases;
}

// The cells of a row (an anti-diagonal): places on the target.
struct SplicedRow {
  std::int32_t first, last;
};
constexpr SplicedRow spliced_row(const Problem& problem, std::int32_t row) {
  return {std::max(0, row - problem.query_length + 1), std::min(problem.target_length - 1, row)};
}

// False: the score has fallen too far. Unlike in a band, a shift of the diagonal is no excuse.
inline bool take_spliced_peak(const Problem& problem, std::int32_t row, std::int32_t first, std::int32_t score_at_first, BestCell best,
                              Alignment& result) {
  if (row - first == problem.query_length - 1 && score_at_first > result.query_end_score) {
    result.query_end_score = score_at_first;
    result.query_end_target = first;
  }
  const std::int32_t query = row - best.target;
  if (best.score > result.best) {
    result.best = best.score;
    result.best_target = best.target;
    result.best_query = query;
    return true;
  }
  if (problem.z_drop < 0 || best.target < result.best_target || query < result.best_query) return true;
  return std::int64_t{result.best} - best.score <= problem.z_drop;
}

// What is asked for: an alignment, or (result is null) only edges, with something in front of the target (or null).
struct SplicedWanted {
  Alignment* result = nullptr;
  std::span<SplicedEdge> edges;
  const SplicedStart* start = nullptr;
  void empty_edges() const {
    for (SplicedEdge& edge : edges) {
      edge.score.clear();
      edge.intron.clear();
    }
  }
};

// Appends the path when all rows are there or the alignment was given up. score: at the last bases of both.
void finish_spliced(const Scores& scores, const Problem& problem, std::int32_t score, const SplicedRows& rows, Alignment& result);

}  // namespace sluice::base_alignment
