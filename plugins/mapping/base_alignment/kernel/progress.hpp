// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the plain and the vector form share: borders of rows, when a row is the last, and where the path begins.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base_alignment/kernel/rows.hpp"

namespace sluice::base_alignment {

constexpr std::int32_t ambiguous_score(const Scores& scores) {
  return scores.ambiguous == 0 && !scores.has_transitions() ? -scores.gap_extend_long : -scores.ambiguous;
}
constexpr std::int32_t matrix_score(const Scores& scores, std::uint8_t target, std::uint8_t query) {
  if (target > 3 || query > 3) return ambiguous_score(scores);
  return column_score(scores, target, query);
}

// Score of a gap that begins at the first base; bases > 0.
constexpr std::int64_t border_score(const Scores& scores, std::int64_t bases) {
  return -std::min(scores.gap_open + bases * scores.gap_extend, scores.gap_open_long + bases * scores.gap_extend_long);
}
// By how much it falls with its last base.
constexpr std::int8_t border_difference(const Scores& scores, std::int64_t bases) {
  return static_cast<std::int8_t>(border_score(scores, bases) - (bases > 1 ? border_score(scores, bases - 1) : 0));
}

// What stands to the left of a row's first cell.
struct RowBorder {
  std::int8_t x, x2, v;
};
inline RowBorder border_left_of(std::int32_t row, const RowCells& cells, const RowCells& before, const Scores& scores, const MatrixRows& rows) {
  const auto closed = static_cast<std::int8_t>(-(scores.gap_open + scores.gap_extend));
  const auto closed_long = static_cast<std::int8_t>(-(scores.gap_open_long + scores.gap_extend_long));
  RowBorder border{closed, closed_long, closed};
  if (cells.begin == 0)
    border.v = border_difference(scores, row + 1);
  else if (row > 0 && cells.begin - 1 >= before.begin && cells.begin - 1 <= before.last)
    border = {rows.x[cells.begin - 1], rows.x2[cells.begin - 1], rows.v[cells.begin - 1]};
  return border;
}

// Columns get their scores in groups of 16 from the band's first cell on; the other cells of the blocks keep what they had.
constexpr std::int32_t substitution_end(const RowCells& cells, std::int32_t target_length) {
  const std::int32_t groups = (cells.band_last - cells.band_begin + block_cells) / block_cells;
  const std::int32_t width = (target_length + block_cells - 1) / block_cells * block_cells;
  return std::min(cells.band_begin + groups * block_cells, width);
}

// With a score of their own for transitions minimap2 gives columns their scores one by one, those of the band's cells alone.
constexpr std::int32_t substitution_end(const RowCells& cells, std::int32_t target_length, const Scores& scores) {
  return scores.has_transitions() ? cells.band_last + 1 : substitution_end(cells, target_length);
}

struct BestCell {
  std::int32_t score, target;
};

// Of a row's cells, by their scores. minimap2 looks at four cells at a time: of equal ones it is the last of the row, else the first of the first of
// the four columns that has one.
inline BestCell best_of_row(const std::int32_t* score, std::int32_t first, std::int32_t last) {
  BestCell best{score[last], last};
  const std::int32_t grouped = (last - first) / 4 * 4;
  BestCell columns[4] = {best, best, best, best};
  for (std::int32_t i = 0; i < grouped; ++i)
    if (score[first + i] > columns[i % 4].score) columns[i % 4] = {score[first + i], first + i};
  for (const BestCell& column : columns)
    if (column.score > best.score) best = column;
  for (std::int32_t t = first + grouped; t < last; ++t)
    if (score[t] > best.score) best = {score[t], t};
  return best;
}

// Follows the score from cell to cell inside the band, for goals that need it at the end only.
class CornerScore {
 public:
  void advance(std::int32_t row, const RowCells& cells, const Scores& scores, const MatrixRows& rows) {
    if (row == 0)
      score_ = rows.v[0] - (scores.gap_open + scores.gap_extend);
    else if (at_ >= cells.band_begin)
      score_ += rows.v[at_];
    else
      score_ += rows.u[++at_];
  }
  std::int32_t get() const { return score_; }

 private:
  std::int32_t at_ = 0, score_ = 0;
};

// The best cell so far, the query's end, and whether the score has fallen too far.
class Peak {
 public:
  Peak(const Problem& problem, const Scores& scores)
      : z_drop_(problem.z_drop), extend_(scores.gap_extend_long), query_last_(problem.query_length - 1) {}

  // False: the score has fallen too far.
  bool take(std::int32_t row, const RowCells& cells, std::int32_t score_at_begin, BestCell best, Alignment& result) const {
    if (row - cells.band_begin == query_last_ && score_at_begin > result.query_end_score) {
      result.query_end_score = score_at_begin;
      result.query_end_target = cells.band_begin;
    }
    const std::int32_t query = row - best.target;
    if (best.score > result.best) {
      result.best = best.score;
      result.best_target = best.target;
      result.best_query = query;
      return true;
    }
    if (z_drop_ < 0 || best.target < result.best_target || query < result.best_query) return true;
    const std::int64_t shift = std::abs((best.target - result.best_target) - (query - result.best_query));
    return std::int64_t{result.best} - best.score <= z_drop_ + extend_ * shift;
  }

 private:
  std::int32_t z_drop_, extend_, query_last_;
};

// Can the kernels hold these scores? (Otherwise minimap2's give up, too.)
inline bool kernel_takes(const Scores& scores) { return scores.worst_column() <= highest_penalty(scores); }

inline bool starts(const Scores& scores, const Problem& problem, Alignment& result) {
  std::vector<std::uint32_t> cigar = std::move(result.cigar);
  result = Alignment();
  result.cigar = std::move(cigar);
  return problem.query_length > 0 && problem.target_length > 0 && kernel_takes(scores);
}

inline std::int32_t band_of(const Problem& problem) {
  return problem.band < 0 ? std::max(problem.query_length, problem.target_length) : problem.band;
}

// The path, when all rows are there or the alignment was given up. score: at the last bases of both.
inline void finish(const Problem& problem, std::int32_t score, MatrixRows& rows, Alignment& result) {
  if (!result.dropped) result.score = score;
  if (!result.dropped && problem.goal != Goal::extension) {
    rows.trace(problem.target_length - 1, problem.query_length - 1, problem.ties, result.cigar);
  } else if (!result.dropped && std::int64_t{result.query_end_score} + problem.end_bonus > result.best) {
    result.reached_end = true;
    rows.trace(result.query_end_target, problem.query_length - 1, problem.ties, result.cigar);
  } else if (result.best_target >= 0) {
    rows.trace(result.best_target, result.best_query, problem.ties, result.cigar);
  }
}

}  // namespace sluice::base_alignment
