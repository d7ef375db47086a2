// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is to be aligned, and what comes of it: plain data, so that thousands of problems go to a processor in one call.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice::base_alignment {

// Scores of columns; a gap of n bases costs min(open + n * extend, open_long + n * extend_long). Penalties are positive numbers.
struct Scores {
  std::int32_t match = 2, mismatch = 4;
  std::int32_t ambiguous = 1;  // penalty of a column with an N; 0: extend_long within the matrix, nothing when a finished alignment is counted
  std::int32_t gap_open = 4, gap_extend = 2;
  std::int32_t gap_open_long = 24, gap_extend_long = 1;
  std::int32_t transition = 0;  // penalty of A against G and of C against T; 0: that of any mismatch

  constexpr std::int32_t transition_penalty() const { return transition > 0 ? transition : mismatch; }
  constexpr bool has_transitions() const { return transition_penalty() != mismatch; }
  constexpr std::int32_t worst_column() const { return std::max({mismatch, transition_penalty(), ambiguous}); }
  constexpr bool one_piece() const { return gap_open == gap_open_long && gap_extend == gap_extend_long; }
};

// Of codes from 0 to 3: A and G, and C and T, differ by 2.
constexpr std::int32_t column_score(const Scores& scores, std::uint8_t target, std::uint8_t query) {
  if (target == query) return scores.match;
  return -((target ^ query) == 2 ? scores.transition_penalty() : scores.mismatch);
}

// A column costs at most two gaps of one base: nothing is aligned otherwise.
constexpr std::int32_t highest_penalty(const Scores& scores) { return 2 * (scores.gap_open + scores.gap_extend); }
// With a higher score of equal bases differences of scores leave 8 bits: that of a gap between two gaps of one base, against an equal column.
constexpr std::int32_t highest_match(const Scores& scores) { return 128 - scores.gap_open - 2 * scores.gap_extend; }

enum class Goal : std::uint8_t {
  ends,          // from the first to the last bases of both
  ends_or_drop,  // the same, given up at the best cell once the score falls too far
  extension,     // from the first bases to the best cell, or to the query's end
};

enum class TieOrder : std::uint8_t {
  gap_right,  // of equal paths the one that has its gaps far from the first bases, read from the end
  gap_left,   // the opposite, for reversed sequences; operations come in the order of the sequences that were reversed
};

// Bases are codes: 0 to 3, and 4 for N.
struct Problem {
  const std::uint8_t* query = nullptr;
  const std::uint8_t* target = nullptr;
  std::int32_t query_length = 0, target_length = 0;
  std::int32_t band = -1;       // largest difference of the places on query and target; below 0: none
  std::int32_t z_drop = -1;     // below 0: none
  std::int32_t end_bonus = -1;  // score of reaching the query's end
  Goal goal = Goal::ends;
  TieOrder ties = TieOrder::gap_right;
};

struct Alignment {
  static constexpr std::int32_t unreached = -0x40000000;
  std::int32_t best = 0;  // highest score of a cell, and the last bases of both there
  std::int32_t best_target = -1, best_query = -1;
  std::int32_t query_end_score = unreached, query_end_target = -1;  // the highest score at the query's last base
  std::int32_t score = unreached;                                   // at the last bases of both
  bool dropped = false;                                             // given up, or the band misses the end
  bool reached_end = false;                                         // extension: to the query's last base
  std::vector<std::uint32_t> cigar;                                 // operations in BAM encoding: M, I, D
};

}  // namespace sluice::base_alignment
