// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns that every best path has, by which a matrix becomes smaller or need not be computed. Of sequences without ambiguous bases that are aligned
// from end to end in the whole matrix, with TieOrder::gap_right.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base_alignment/kernel/path_score.hpp"

namespace sluice::base_alignment {

// Equal bases at the ends of both. The path has a match for each: one whose last column is a gap is no better than the same path with the match at
// its end and the gap, no longer than before, in front of it, and of equal paths the one with the match is taken. At least one base of each is left.
inline std::int32_t equal_end(const Problem& problem) {
  const std::int32_t most = std::min(problem.query_length, problem.target_length) - 1;
  const std::uint8_t *query = problem.query + problem.query_length, *target = problem.target + problem.target_length;
  std::int32_t equal = 0;
  while (equal + 8 <= most) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, query - equal - 8, sizeof a);
    std::memcpy(&b, target - equal - 8, sizeof b);
    if (a != b) break;
    equal += 8;
  }
  while (equal < most && query[-equal - 1] == target[-equal - 1]) ++equal;
  return equal;
}

// From end to end in the whole matrix, gaps as far right as they go.
inline bool is_whole(const Problem& problem) {
  return problem.goal == Goal::ends && problem.ties == TieOrder::gap_right &&
         band_of(problem) >= std::max(problem.query_length, problem.target_length) - 1;
}

// Of sequences of one length, is the path without gaps the only best one? Every other one has a gap on each side, and a column less.
inline bool has_no_gaps(const Scores& scores, const Problem& problem) {
  if (problem.query_length != problem.target_length) return false;
  const std::int64_t loss = scores.match + std::max(scores.mismatch, scores.transition_penalty()), most = scores.match + 2 * gap_cost(scores, 1);
  return unequal_columns(problem.query, problem.target, problem.query_length) * loss < most;
}

// Of sequences of different lengths whose equal ends were taken off: are they equal but for one gap? The columns in front of it, or -1. No path
// scores more than one gap and matches, and none as much that is another: so the best ones differ in the gap's place, and the one behind which most
// bases are equal is taken.
inline std::int32_t columns_before_only_gap(const Problem& problem) {
  const std::int32_t shorter = std::min(problem.query_length, problem.target_length);
  if (problem.query_length == problem.target_length) return -1;
  // The last base was left where all others have gone.
  if (shorter == 1 && problem.query[problem.query_length - 1] == problem.target[problem.target_length - 1]) return 0;
  return equal_columns_before(problem.query, problem.target, shorter) == shorter ? shorter : -1;
}

// Whether align() finds the answer without a matrix, so that it is no work for a device.
inline bool needs_no_matrix(const Scores& scores, Problem problem) {
  if (!is_whole(problem)) return false;
  const Problem whole = problem;
  const std::int32_t equal = equal_end(problem);
  problem.query_length -= equal;
  problem.target_length -= equal;
  return (has_no_gaps(scores, problem) || columns_before_only_gap(problem) >= 0) && !has_ambiguous(whole.query, whole.query_length) &&
         !has_ambiguous(whole.target, whole.target_length);
}

}  // namespace sluice::base_alignment
