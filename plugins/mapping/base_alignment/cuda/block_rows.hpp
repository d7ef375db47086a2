// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The matrix row by row, cell for cell what kernel/plain.cpp computes, for a team of threads: a block of a device, or threads of the host, which is
// how tests compare it. What a team offers, all of it called by all of its threads:
//
//   rank(), size()      this thread's number, and how many there are (a power of two)
//   sync()              memory written by any is seen by all
//   highest(value)      of all threads' values
//   lowest(value)
//
// A target base belongs to the thread whose rank is its number modulo the size, so that only what crosses from cell to cell needs two copies.

#include <limits>

#include "base_alignment/cuda/job.hpp"
#include "base_alignment/cuda/pairs.hpp"
#include "base_alignment/kernel/progress.hpp"

namespace sluice::base_alignment::cuda {

// Of a cell: what its right neighbour needs, and what the cell below it needs.
struct alignas(4) LeftCell {
  std::int8_t x, x2, v, unused;
};
struct alignas(4) UpperCell {
  std::int8_t y, y2, u, substitution;
};

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

template <class Team>
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
        closed_long_(-(scores.gap_open_long + scores.gap_extend_long)) {}

  // All of the answer but the path; the same for all threads.
  SLUICE_HOST_DEVICE Answer run() {
    Answer answer;
    const bool has_peak = job_.goal != Goal::ends;
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
      fill(row, cells, before, next, has_peak);
      team_.sync();
      if (has_peak) {
        if (!look(row, cells, answer)) {
          answer.dropped = true;
          break;
        }
      } else {
        if (row == 0)
          corner = ring_.left_at(0, 0).v + closed_;
        else if (corner_at >= cells.band_begin)
          corner += ring_.left_at(row, corner_at).v;
        else
          ++corner_at, corner += ring_.upper[corner_at & ring_.mask].u;
        // The next row replaces it.
        team_.sync();
      }
      before = cells;
      cells = next;
    }
    if (!answer.dropped) answer.score = has_peak ? ring_.score[(job_.target_length - 1) & ring_.mask] : corner;
    return answer;
  }

 private:
  // A cell's score and its turn among equal ones.
  struct Candidate {
    std::int32_t score;
    std::uint32_t turn;
  };
  static constexpr std::uint32_t turns_of_column = 1U << 28;

  SLUICE_HOST_DEVICE static std::int8_t byte(std::int32_t value) { return static_cast<std::int8_t>(static_cast<std::uint8_t>(value)); }
  SLUICE_HOST_DEVICE RowCells cells_at(std::int32_t row) const { return cells_of_row(row, job_.query_length, job_.target_length, job_.band); }

  // Of equal cells the band's last is taken, else the first of the first of four columns: see best_cell in kernel/plain.cpp.
  SLUICE_HOST_DEVICE static std::uint32_t turn_of(std::int32_t t, const RowCells& cells) {
    if (t == cells.band_last) return 0;
    const auto i = static_cast<std::uint32_t>(t - cells.band_begin);
    const auto grouped = static_cast<std::uint32_t>(cells.band_last - cells.band_begin) / 4 * 4;
    return i < grouped ? 1 + (i % 4) * turns_of_column + i / 4 : 4 * turns_of_column + i;
  }
  SLUICE_HOST_DEVICE static std::int32_t target_of(std::uint32_t turn, const RowCells& cells) {
    if (turn == 0) return cells.band_last;
    if (turn >= 4 * turns_of_column) return cells.band_begin + static_cast<std::int32_t>(turn - 4 * turns_of_column);
    return cells.band_begin + static_cast<std::int32_t>((turn - 1) % turns_of_column * 4 + (turn - 1) / turns_of_column);
  }

  SLUICE_HOST_DEVICE void fill(std::int32_t row, const RowCells& cells, const RowCells& before, const RowCells& next, bool has_peak) {
    const std::int32_t substituted = substitution_end(cells, job_.target_length);
    const std::int32_t end = substituted - 1 > cells.last ? substituted - 1 : cells.last;
    const std::int8_t border = border_difference(scores_, row + 1);
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
        steps[t] = fill_cell(left, upper);
        ring_.left_at(row, t) = left;
        if (has_peak && t >= cells.band_begin && t <= cells.band_last) add_difference(row, t, cells, next, left.v, upper.u);
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

  // The gap behind a cell: its score against that of the cell, and whether it goes on.
  SLUICE_HOST_DEVICE std::int8_t behind(std::int8_t gap, std::int8_t cell, std::int32_t open, std::int32_t closed, std::uint8_t gap_step,
                                        std::uint8_t& step) const {
    const std::int8_t over = byte(gap - byte(cell - open));
    if (over > 0 || (over == 0 && job_.ties == TieOrder::gap_left)) step = static_cast<std::uint8_t>(step | goes_on(gap_step));
    return byte((over > 0 ? over : 0) + closed);
  }
  SLUICE_HOST_DEVICE void take(std::int8_t candidate, std::uint8_t candidate_step, std::int8_t& score, std::uint8_t& step) const {
    if (candidate < score || (candidate == score && job_.ties == TieOrder::gap_right)) return;
    score = candidate;
    step = candidate_step;
  }
  // Replaces the neighbours of a cell by the cell itself.
  SLUICE_HOST_DEVICE std::uint8_t fill_cell(LeftCell& left, UpperCell& upper) const {
    const bool two_pieces = !scores_.one_piece();
    const std::int8_t deletion = byte(left.x + left.v), insertion = byte(upper.y + upper.u);
    const std::int8_t long_deletion = byte(left.x2 + left.v), long_insertion = byte(upper.y2 + upper.u);
    std::int8_t score = upper.substitution;
    std::uint8_t step = step_match;
    take(deletion, step_deletion, score, step);
    take(insertion, step_insertion, score, step);
    if (two_pieces) {
      take(long_deletion, step_long_deletion, score, step);
      take(long_insertion, step_long_insertion, score, step);
    }
    if (score > byte(scores_.match)) score = byte(scores_.match);
    const std::int8_t left_v = left.v, upper_u = upper.u;
    upper.u = byte(score - left_v);
    left.v = byte(score - upper_u);
    left.x = behind(deletion, score, scores_.gap_open, closed_, step_deletion, step);
    upper.y = behind(insertion, score, scores_.gap_open, closed_, step_insertion, step);
    if (two_pieces) {
      left.x2 = behind(long_deletion, score, scores_.gap_open_long, closed_long_, step_long_deletion, step);
      upper.y2 = behind(long_insertion, score, scores_.gap_open_long, closed_long_, step_long_insertion, step);
    }
    return step;
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
    const std::uint32_t turn = turn_of(t, cells);
    if (score > best_.score || (score == best_.score && turn < best_.turn)) best_ = {score, turn};
  }

  // The best cell of the row, as Peak::take of kernel/progress.hpp. False: the score has fallen too far.
  SLUICE_HOST_DEVICE bool look(std::int32_t row, const RowCells& cells, Answer& answer) {
    if (row - cells.band_begin == job_.query_length - 1) {
      const std::int32_t score = ring_.score[cells.band_begin & ring_.mask];
      if (score > answer.query_end_score) {
        answer.query_end_score = score;
        answer.query_end_target = cells.band_begin;
      }
    }
    const std::int32_t best = team_.highest(best_.score);
    const bool is_higher = best > answer.best;
    if (!is_higher && (job_.z_drop < 0 || std::int64_t{answer.best} - best <= job_.z_drop)) {
      // The next row replaces what has been read.
      team_.sync();
      return true;
    }
    const std::int32_t target = target_of(team_.lowest(best_.score == best ? best_.turn : 0xFFFFFFFFU), cells), query = row - target;
    team_.sync();
    if (is_higher) {
      answer.best = best;
      answer.best_target = target;
      answer.best_query = query;
      return true;
    }
    if (target < answer.best_target || query < answer.best_query) return true;
    const std::int64_t shift = std::int64_t{target} - answer.best_target - (query - answer.best_query);
    return std::int64_t{answer.best} - best <= job_.z_drop + scores_.gap_extend_long * (shift < 0 ? -shift : shift);
  }

  Team& team_;
  const Scores& scores_;
  const Job job_;
  const std::uint8_t *query_, *target_;
  const RowRing ring_;
  Edge& edge_;
  std::uint8_t* steps_;
  std::int32_t closed_, closed_long_;
  std::int32_t substituted_ = 0;  // target bases below have had a column score
  Candidate best_{};
};

}  // namespace sluice::base_alignment::cuda
