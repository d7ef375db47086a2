// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>

#include "base_alignment/kernel/align.hpp"
#include "base_alignment/kernel/progress.hpp"

namespace sluice::base_alignment {
namespace {

std::int8_t byte(std::int32_t value) { return static_cast<std::int8_t>(static_cast<std::uint8_t>(value)); }

// Score of a state's candidates; the later of equal ones only with gap_left.
struct Choice {
  TieOrder ties;
  std::int8_t score;
  std::uint8_t step = step_match;
  void take(std::int8_t candidate, std::uint8_t candidate_step) {
    if (candidate < score || (candidate == score && ties == TieOrder::gap_right)) return;
    score = candidate;
    step = candidate_step;
  }
};

class PlainRows {
 public:
  PlainRows(const Scores& scores, const Problem& problem, MatrixRows& rows) : scores_(scores), problem_(problem), rows_(rows) {}

  void fill(std::int32_t row, const RowCells& cells, const RowCells& before) {
    const RowBorder border = border_left_of(row, cells, before, scores_, rows_);
    if (row <= cells.last) {
      rows_.y[row] = byte(-(scores_.gap_open + scores_.gap_extend));
      rows_.y2[row] = byte(-(scores_.gap_open_long + scores_.gap_extend_long));
      rows_.u[row] = border_difference(scores_, row + 1);
    }
    substitute(row, cells);
    std::uint8_t* steps = rows_.next_steps(cells);
    std::int8_t left_x = border.x, left_x2 = border.x2, left_v = border.v;
    for (std::int32_t t = cells.begin; t <= cells.last; ++t) {
      const std::int8_t x = rows_.x[t], x2 = rows_.x2[t], v = rows_.v[t];
      steps[t - cells.begin] = fill_cell(t, left_x, left_x2, left_v);
      left_x = x;
      left_x2 = x2;
      left_v = v;
    }
  }

 private:
  void substitute(std::int32_t row, const RowCells& cells) {
    const std::int32_t end = substitution_end(cells, problem_.target_length, scores_);
    const std::uint8_t* query = rows_.query_back + (problem_.query_length - 1 - row);
    for (std::int32_t t = cells.band_begin; t < end; ++t) rows_.substitution[t] = byte(matrix_score(scores_, rows_.target[t], query[t]));
  }

  // The gap behind a cell: its score against that of the cell, and whether it goes on.
  std::int8_t behind(std::int8_t gap, std::int8_t cell, std::int32_t open, std::int32_t extend, std::uint8_t gap_step, std::uint8_t& step) const {
    const std::int8_t over = byte(gap - byte(cell - open));
    if (over > 0 || (over == 0 && problem_.ties == TieOrder::gap_left)) step = static_cast<std::uint8_t>(step | goes_on(gap_step));
    return byte(std::max<std::int32_t>(over, 0) - (open + extend));
  }

  std::uint8_t fill_cell(std::int32_t t, std::int8_t left_x, std::int8_t left_x2, std::int8_t left_v) {
    const std::int8_t up = rows_.u[t];
    const std::int8_t deletion = byte(left_x + left_v), insertion = byte(rows_.y[t] + up);
    const std::int8_t long_deletion = byte(left_x2 + left_v), long_insertion = byte(rows_.y2[t] + up);
    Choice choice{problem_.ties, rows_.substitution[t]};
    choice.take(deletion, step_deletion);
    choice.take(insertion, step_insertion);
    if (!scores_.one_piece()) {
      choice.take(long_deletion, step_long_deletion);
      choice.take(long_insertion, step_long_insertion);
    }
    const std::int8_t cell = std::min(choice.score, byte(scores_.match));
    rows_.u[t] = byte(cell - left_v);
    rows_.v[t] = byte(cell - up);
    std::uint8_t step = choice.step;
    rows_.x[t] = behind(deletion, cell, scores_.gap_open, scores_.gap_extend, step_deletion, step);
    rows_.y[t] = behind(insertion, cell, scores_.gap_open, scores_.gap_extend, step_insertion, step);
    if (!scores_.one_piece()) {
      rows_.x2[t] = behind(long_deletion, cell, scores_.gap_open_long, scores_.gap_extend_long, step_long_deletion, step);
      rows_.y2[t] = behind(long_insertion, cell, scores_.gap_open_long, scores_.gap_extend_long, step_long_insertion, step);
    }
    return step;
  }

  const Scores& scores_;
  const Problem& problem_;
  MatrixRows& rows_;
};

void add_differences(MatrixRows& rows, const RowCells& cells, std::int32_t row, const Scores& scores) {
  const auto last = static_cast<std::size_t>(cells.band_last);
  if (row == 0) {
    rows.score[0] = rows.v[0] - (scores.gap_open + scores.gap_extend);
    return;
  }
  rows.score[last] = last > 0 ? rows.score[last - 1] + rows.u[last] : rows.score[0] + rows.v[0];
  for (auto t = static_cast<std::size_t>(cells.band_begin); t < last; ++t) rows.score[t] += rows.v[t];
}

}  // namespace

void align_plainly(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  if (!starts(scores, problem, result)) return;
  rows.start(problem, scores);
  PlainRows filler(scores, problem, rows);
  const Peak peak(problem, scores);
  CornerScore corner;
  const bool has_peak = problem.goal != Goal::ends;
  const std::int32_t last_row = problem.query_length + problem.target_length - 2;
  RowCells before;
  for (std::int32_t row = 0; row <= last_row && !result.dropped; ++row) {
    const RowCells cells = cells_of_row(row, problem.query_length, problem.target_length, band_of(problem));
    if (cells.empty()) {
      result.dropped = true;
      break;
    }
    filler.fill(row, cells, before);
    before = cells;
    if (has_peak) {
      add_differences(rows, cells, row, scores);
      result.dropped = !peak.take(row, cells, rows.score[static_cast<std::size_t>(cells.band_begin)],
                                  best_of_row(rows.score.data(), cells.band_begin, cells.band_last), result);
    } else {
      corner.advance(row, cells, scores, rows);
    }
  }
  finish(problem, has_peak ? rows.score[static_cast<std::size_t>(problem.target_length) - 1] : corner.get(), rows, result);
}

}  // namespace sluice::base_alignment
