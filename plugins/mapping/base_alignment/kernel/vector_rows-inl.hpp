// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The matrix row by row in vectors: cell for cell what plain.cpp computes. Included once per instruction set.

#if defined(SLUICE_BASE_ALIGNMENT_VECTOR_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#undef SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#else
#define SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#endif

#include <bit>
#include <cstring>
#include <limits>

#include "base_alignment/kernel/cells-inl.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

using ScoreTag = hn::CappedTag<std::int32_t, 16>;
constexpr std::int32_t score_lanes = static_cast<std::int32_t>(hn::MaxLanes(ScoreTag()));

template <class Mask>
HWY_INLINE std::uint32_t bits_of(Mask mask) {
  alignas(8) std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(ScoreTag(), mask, bytes);
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8;
}

// The place of a row's best score, which is above that of the band's last cell: see best_of_row in progress.hpp for which one of several.
inline std::int32_t place_of(std::int32_t best, const std::int32_t* score, const RowCells& cells) {
  const ScoreTag tag;
  const std::int32_t grouped = (cells.band_last - cells.band_begin) / 4 * 4;
  std::int32_t columns[4] = {-1, -1, -1, -1};
  for (std::int32_t i = 0; i < grouped && columns[0] < 0; i += score_lanes) {
    std::uint32_t found = bits_of(hn::Eq(hn::LoadU(tag, score + cells.band_begin + i), hn::Set(tag, best)));
    if (i + score_lanes > grouped) found &= (1U << (grouped - i)) - 1;
    for (; found != 0; found &= found - 1) {
      const auto at = static_cast<std::int32_t>(std::countr_zero(found));
      if (columns[at % 4] < 0) columns[at % 4] = cells.band_begin + i + at;
    }
  }
  for (const std::int32_t column : columns)
    if (column >= 0) return column;
  std::int32_t t = cells.band_begin + grouped;
  while (score[t] != best) ++t;
  return t;
}

// Adds a row's differences to the scores and gives its best cell; where nothing follows from its place, any place.
HWY_INLINE BestCell add_differences(std::int32_t row, const RowCells& cells, std::int32_t highest, std::int32_t z_drop, std::int32_t first_gap,
                                    const std::int8_t* u, const std::int8_t* v, std::int32_t* score) {
  const ScoreTag tag;
  const hn::Rebind<std::int8_t, ScoreTag> narrow;
  const std::int32_t last = cells.band_last;
  std::int32_t at_last = 0;
  if (row == 0)
    at_last = v[0] - first_gap;
  else
    at_last = last > 0 ? score[last - 1] + u[last] : score[0] + v[0];
  auto most = hn::Set(tag, std::numeric_limits<std::int32_t>::min());
  std::int32_t t = cells.band_begin;
  for (; t + score_lanes <= last; t += score_lanes) {
    const auto sum = hn::Add(hn::LoadU(tag, score + t), hn::PromoteTo(tag, hn::LoadU(narrow, v + t)));
    hn::StoreU(sum, tag, score + t);
    most = hn::Max(most, sum);
  }
  if (t < last) {
    // Behind the last cell nothing is read before it is set.
    const auto sum = hn::Add(hn::LoadU(tag, score + t), hn::PromoteTo(tag, hn::LoadU(narrow, v + t)));
    hn::StoreU(sum, tag, score + t);
    most = hn::IfThenElse(hn::FirstN(tag, static_cast<std::size_t>(last - t)), hn::Max(most, sum), most);
  }
  score[last] = at_last;
  const std::int32_t best = hn::GetLane(hn::MaxOfLanes(tag, most));
  if (best <= at_last) return {at_last, last};
  const bool matters = best > highest || (z_drop >= 0 && std::int64_t{highest} - best > z_drop);
  return {best, matters ? place_of(best, score, cells) : last};
}

template <Pieces pieces, TieOrder ties, bool is_general>
class VectorRows {
 public:
  VectorRows(const Scores& scores, const Problem& problem, MatrixRows& rows)
      : scores_(scores),
        problem_(problem),
        rows_(rows),
        u_(rows.u),
        v_(rows.v),
        x_(rows.x),
        y_(rows.y),
        x2_(rows.x2),
        y2_(rows.y2),
        substitution_(rows.substitution),
        target_(rows.target),
        query_back_(rows.query_back) {}

  template <bool has_peak>
  void run(Alignment& result) {
    const CellRule<pieces, ties> rule(scores_);
    const Peak peak(problem_, scores_);
    CornerScore corner;
    std::int32_t* const score = rows_.score.data();
    const std::int32_t last_row = problem_.query_length + problem_.target_length - 2, band = band_of(problem_);
    RowCells before;
    for (std::int32_t row = 0; row <= last_row && !result.dropped; ++row) {
      const RowCells cells = cells_of_row(row, problem_.query_length, problem_.target_length, band);
      if (cells.empty()) {
        result.dropped = true;
        break;
      }
      fill(rule, row, cells, before);
      before = cells;
      if constexpr (has_peak) {
        const BestCell best = add_differences(row, cells, result.best, problem_.z_drop, scores_.gap_open + scores_.gap_extend, u_, v_, score);
        result.dropped = !peak.take(row, cells, score[cells.band_begin], best, result);
      } else {
        corner.advance(row, cells, scores_, rows_);
      }
    }
    finish(problem_, has_peak ? score[problem_.target_length - 1] : corner.get(), rows_, result);
  }

 private:
  // Blocks that rows have not reached may hold what the last vectors left behind the others.
  void open_blocks(std::int32_t begin, std::int32_t end) {
    const auto bytes = static_cast<std::size_t>(end - begin);
    const int closed = -(scores_.gap_open + scores_.gap_extend), closed_long = -(scores_.gap_open_long + scores_.gap_extend_long);
    for (std::int8_t* array : {u_, v_, x_, y_}) std::memset(array + begin, closed, bytes);
    for (std::int8_t* array : {x2_, y2_}) std::memset(array + begin, closed_long, bytes);
  }

  HWY_INLINE void fill(const CellRule<pieces, ties>& rule, std::int32_t row, const RowCells& cells, const RowCells& before) {
    const CellTag tag;
    if (row > 0 && cells.last > before.last) open_blocks(before.last + 1, cells.last + 1);
    const RowBorder border = border_left_of(row, cells, before, scores_, rows_);
    const std::uint8_t* const query = query_back_ + (problem_.query_length - 1 - row);
    std::uint8_t* steps = rows_.next_steps(cells);
    LeftCells left_before{set(border.x), set(border.x2), set(border.v)};
    const std::int32_t grouped_end = cells.band_begin + (cells.band_last - cells.band_begin + block_cells) / block_cells * block_cells;
    const std::int32_t new_end = scores_.has_transitions() ? cells.band_last + 1 : grouped_end;  // as substitution_end()
    for (std::int32_t t = cells.begin; t <= cells.last; t += lanes, steps += lanes) {
      Cells score = rule.template substitution<is_general>(target_ + t, query + t);
      const bool is_first = t == cells.begin, is_last = t + lanes > cells.last;
      if (is_first || is_last) {
        // Cells of the first and the last block that lie outside the band keep the score of a column that an earlier row gave them.
        const Cells old = hn::LoadU(tag, substitution_ + t);
        if (is_first) score = hn::IfThenElse(hn::FirstN(tag, static_cast<std::size_t>(cells.band_begin - t)), old, score);
        if (new_end - t < lanes) score = hn::IfThenElse(hn::FirstN(tag, static_cast<std::size_t>(new_end - t)), score, old);
        hn::StoreU(score, tag, substitution_ + t);
        for (std::int32_t next = t + lanes; is_last && next < new_end; ++next)
          substitution_[next] = static_cast<std::int8_t>(matrix_score(scores_, target_[next], query[next]));
      }
      UpperCells upper{hn::LoadU(tag, y_ + t), hn::LoadU(tag, y2_ + t), hn::LoadU(tag, u_ + t)};
      if (is_last && row <= cells.last) {
        // The cell on the query's border; written to memory it would be waited for.
        const auto here = hn::Eq(hn::Iota(tag, 0), set(row - t));
        const UpperCells closed = rule.closed_upper();
        upper = {hn::IfThenElse(here, closed.y, upper.y), hn::IfThenElse(here, closed.y2, upper.y2),
                 hn::IfThenElse(here, set(border_difference(scores_, row + 1)), upper.u)};
      }
      const LeftCells own{hn::LoadU(tag, x_ + t), hn::LoadU(tag, x2_ + t), hn::LoadU(tag, v_ + t)};
      LeftCells left{shift_up(own.x, left_before.x), shift_up(own.x2, left_before.x2), shift_up(own.v, left_before.v)};
      left_before = own;
      const Cells step = rule.advance(score, left, upper);
      hn::StoreU(upper.u, tag, u_ + t);
      hn::StoreU(left.v, tag, v_ + t);
      hn::StoreU(left.x, tag, x_ + t);
      hn::StoreU(upper.y, tag, y_ + t);
      if constexpr (pieces == Pieces::two) {
        hn::StoreU(left.x2, tag, x2_ + t);
        hn::StoreU(upper.y2, tag, y2_ + t);
      }
      hn::StoreU(hn::BitCast(CodeTag(), step), CodeTag(), steps);
    }
  }

  const Scores& scores_;
  const Problem& problem_;
  MatrixRows& rows_;
  std::int8_t *const u_, *const v_, *const x_, *const y_, *const x2_, *const y2_, *const substitution_;
  const std::uint8_t *const target_, *const query_back_;
};

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR
#endif  // include guard per target
