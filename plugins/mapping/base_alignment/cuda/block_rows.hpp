// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The matrix row by row, cell for cell what kernel/plain.cpp computes, for a team of threads: a block of a device, or threads of the host, which is
// how tests compare it. What a team offers, all of it called by all of its threads:
//
//   rank(), size()      this thread's number, and how many there are (a power of two)
//   sync()              memory written by any is seen by all
//   best(row, cell)     the same, and the best of all threads' cells of the row
//
// A target base belongs to the thread whose rank is its number modulo the size, so that only what crosses from cell to cell needs two copies.

#include <limits>

#include "base_alignment/cuda/block_cell.hpp"
#include "base_alignment/cuda/job.hpp"
#include "base_alignment/cuda/row_best.hpp"

namespace sluice::base_alignment::cuda {

// Cells that take turns in the memory of a row: ring is a power of two above what a row and the one before it touch.
struct RowRing {
  // least_cells: of the longest row.
  SLUICE_HOST_DEVICE static constexpr std::int32_t size_for(std::int32_t least_cells) {
    std::int32_t size = 64;
    while (size < least_cells + 3 * block_cells) size *= 2;
    return size;
  }
  SLUICE_HOST_DEVICE static constexpr std::int64_t bytes(std::int32_t ring) {
    return std::int64_t{ring} * static_cast<std::int64_t>(2 * sizeof(LeftCell) + sizeof(UpperCell) + sizeof(std::int32_t));
  }
  SLUICE_HOST_DEVICE RowRing(void* memory, std::int32_t ring)
      : left(static_cast<LeftCell*>(memory)),
        upper(reinterpret_cast<UpperCell*>(left + 2 * ring)),
        score(reinterpret_cast<std::int32_t*>(upper + ring)),
        mask(ring - 1) {}
  SLUICE_HOST_DEVICE LeftCell& left_at(std::int32_t row, std::int32_t t) const { return left[(row & 1) * (mask + 1) + (t & mask)]; }
  LeftCell* left;  // of two rows
  UpperCell* upper;
  std::int32_t* score;
  std::int32_t mask;
};

// Scores that cross from one row to the next: that of the cell before the next row's last one. Seen by the whole team.
struct Edge {
  std::int32_t score[2];
};

template <class Team, bool two_pieces>
class BlockRows {
 public:
  SLUICE_HOST_DEVICE BlockRows(Team& team, const Scores& scores, const Job& job, const std::uint8_t* codes, const RowRing& ring, Edge& edge,
                               std::uint8_t* steps)
      : team_(team),
        scores_(scores),
        job_(job),
        query_(codes + job.query),
        target_(codes + job.target),
        ring_(ring),
        edge_(edge),
        steps_(steps),
        closed_(-(scores.gap_open + scores.gap_extend)),
        closed_long_(-(scores.gap_open_long + scores.gap_extend_long)),
        border_short_(scores.gap_open),
        border_long_(scores.gap_open_long) {}

  // All of the answer but the path; the same for all threads.
  SLUICE_HOST_DEVICE Answer run() {
    if (job_.goal == Goal::ends) return job_.ties == TieOrder::gap_right ? run<TieOrder::gap_right, false>() : run<TieOrder::gap_left, false>();
    return job_.ties == TieOrder::gap_right ? run<TieOrder::gap_right, true>() : run<TieOrder::gap_left, true>();
  }

 private:
  template <TieOrder ties, bool has_peak>
  SLUICE_HOST_DEVICE Answer run() {
    Answer answer;
    const std::int32_t last_row = job_.query_length + job_.target_length - 2;
    RowCells cells = cells_at(0), before{0, -1, 0, -1};
    std::int32_t corner = 0, corner_at = 0;
    for (std::int32_t row = 0; row <= last_row; ++row) {
      if (cells.empty()) {
        answer.dropped = true;
        break;
      }
      const RowCells next = cells_at(row + 1);
      best_ = {std::numeric_limits<std::int32_t>::min(), 0};
      fill<ties, has_peak>(row, cells, before, next);
      if constexpr (has_peak) {
        if (!look(row, cells, team_.best(row, best_), answer)) {
          answer.dropped = true;
          break;
        }
      } else {
        team_.sync();
        if (row == 0)
          corner = ring_.left_at(0, 0).v + closed_;
        else if (corner_at >= cells.band_begin)
          corner += ring_.left_at(row, corner_at).v;
        else
          ++corner_at, corner += ring_.left_at(row, corner_at).u;
      }
      before = cells;
      cells = next;
    }
    if (!answer.dropped) answer.score = has_peak ? ring_.score[(job_.target_length - 1) & ring_.mask] : corner;
    return answer;
  }

  // cells_of_row for lengths of jobs.
  SLUICE_HOST_DEVICE RowCells cells_at(std::int32_t row) const {
    RowCells cells;
    cells.band_begin = higher(higher(0, row - job_.query_length + 1), (row - job_.band + 1) >> 1);
    cells.band_last = lesser(lesser(job_.target_length - 1, row), (row + job_.band) >> 1);
    cells.begin = cells.band_begin & ~(block_cells - 1);
    cells.last = cells.band_last | (block_cells - 1);
    return cells;
  }
  SLUICE_HOST_DEVICE static std::int32_t higher(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
  SLUICE_HOST_DEVICE static std::int32_t lesser(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
  // border_difference of one base more than at the last call.
  SLUICE_HOST_DEVICE std::int8_t next_border_difference() {
    border_short_ += scores_.gap_extend;
    border_long_ += scores_.gap_extend_long;
    const std::int64_t cost = border_short_ < border_long_ ? border_short_ : border_long_, difference = border_ - cost;
    border_ = cost;
    return byte(static_cast<std::int32_t>(difference));
  }

  template <TieOrder ties, bool has_peak>
  SLUICE_HOST_DEVICE void fill(std::int32_t row, const RowCells& cells, const RowCells& before, const RowCells& next) {
    const std::int32_t substituted = substitution_end(cells, job_.target_length);
    const std::int32_t end = substituted - 1 > cells.last ? substituted - 1 : cells.last;
    const std::int8_t border = next_border_difference();
    std::uint8_t* const steps = steps_ + std::int64_t{row} * job_.step_stride - cells.begin;
    for (std::int32_t t = (cells.begin & ~(team_.size() - 1)) + team_.rank(); t <= end; t += team_.size()) {
      if (t < cells.begin) continue;
      UpperCell& here = ring_.upper[t & ring_.mask];
      UpperCell upper = here;
      if (t > before.last) upper.y = upper.u = byte(closed_), upper.y2 = byte(closed_long_);
      if (t >= substituted_) upper.substitution = 0;
      if (t == row) upper.y = byte(closed_), upper.y2 = byte(closed_long_), upper.u = border;
      if (t >= cells.band_begin && t < substituted) upper.substitution = substitution(t, row - t);
      if (t <= cells.last) {
        LeftCell left = left_of(row, t, cells, before, border);
        steps[t] = BlockCell<two_pieces, ties>::fill(scores_, left, upper);
        ring_.left_at(row, t) = left;
        if constexpr (has_peak)
          if (t >= cells.band_begin && t <= cells.band_last) add_difference(row, t, cells, next, left.v, upper.u);
      }
      here = upper;
    }
    if (has_peak && team_.rank() == 0 && next.band_last - 1 < cells.band_begin) edge_.score[row & 1] = edge_.score[(row & 1) ^ 1];
    if (substituted > substituted_) substituted_ = substituted;
  }

  SLUICE_HOST_DEVICE std::int8_t substitution(std::int32_t t, std::int32_t q) const {
    const std::uint8_t target = t < job_.target_length ? target_[t] : 0, query = q >= 0 ? query_[q] : 0;
    return byte(matrix_score(scores_, target, query));
  }

  SLUICE_HOST_DEVICE LeftCell left_of(std::int32_t row, std::int32_t t, const RowCells& cells, const RowCells& before, std::int8_t border) const {
    if (t == 0) return {byte(closed_), byte(closed_long_), border, 0};
    const bool known = t - 1 <= before.last && (t > cells.begin || t - 1 >= before.begin);
    return known ? ring_.left_at(row + 1, t - 1) : LeftCell{byte(closed_), byte(closed_long_), byte(closed_), 0};
  }

  SLUICE_HOST_DEVICE void add_difference(std::int32_t row, std::int32_t t, const RowCells& cells, const RowCells& next, std::int8_t v,
                                         std::int8_t u) {
    std::int32_t& kept = ring_.score[t & ring_.mask];
    std::int32_t score = 0;
    if (row == 0)
      score = v + closed_;
    else if (t < cells.band_last)
      score = kept + v;
    else
      score = t > 0 ? edge_.score[(row & 1) ^ 1] + u : kept + v;
    kept = score;
    if (t == next.band_last - 1) edge_.score[row & 1] = score;
    const std::uint32_t turn = turn_of(t, cells.band_begin, cells.band_last);
    const RowBest cell{score, turn};
    if (cell.beats(best_)) best_ = cell;
  }

  // As Peak::take of kernel/progress.hpp. False: the score has fallen too far.
  SLUICE_HOST_DEVICE bool look(std::int32_t row, const RowCells& cells, const RowBest& best, Answer& answer) {
    if (row - cells.band_begin == job_.query_length - 1) {
      const std::int32_t score = ring_.score[cells.band_begin & ring_.mask];
      if (score > answer.query_end_score) {
        answer.query_end_score = score;
        answer.query_end_target = cells.band_begin;
      }
      // The next row replaces it.
      team_.sync();
    }
    const std::int32_t target = target_of_turn(best.turn, cells.band_begin, cells.band_last), query = row - target;
    if (best.score > answer.best) {
      answer.best = best.score;
      answer.best_target = target;
      answer.best_query = query;
      return true;
    }
    if (job_.z_drop < 0 || target < answer.best_target || query < answer.best_query) return true;
    const std::int64_t shift = std::int64_t{target} - answer.best_target - (query - answer.best_query);
    return std::int64_t{answer.best} - best.score <= job_.z_drop + scores_.gap_extend_long * (shift < 0 ? -shift : shift);
  }

  Team& team_;
  const Scores& scores_;
  const Job job_;
  const std::uint8_t *query_, *target_;
  const RowRing ring_;
  Edge& edge_;
  std::uint8_t* steps_;
  std::int32_t closed_, closed_long_;
  std::int32_t substituted_ = 0;                          // target bases below have had a column score
  std::int64_t border_short_, border_long_, border_ = 0;  // costs of a gap along the border
  RowBest best_{};
};

}  // namespace sluice::base_alignment::cuda
