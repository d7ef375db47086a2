// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A row of the matrix in vectors of 8-bit differences: cell for cell what plain.cpp computes. Included once per instruction set.

#if defined(SLUICE_BASE_ALIGNMENT_VECTOR_ROWS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#undef SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#else
#define SLUICE_BASE_ALIGNMENT_VECTOR_ROWS
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base_alignment/kernel/progress.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CellTag = hn::CappedTag<std::int8_t, 64>;
using CodeTag = hn::RebindToUnsigned<CellTag>;
using Cells = hn::Vec<CellTag>;
constexpr std::int32_t lanes = static_cast<std::int32_t>(hn::MaxLanes(CellTag()));
static_assert(lanes % block_cells == 0 && lanes <= static_cast<std::int32_t>(MatrixRows::slack) / 2);

// The cells to the left: lane 0 takes the last lane of what stands before.
HWY_INLINE Cells shift_in(Cells cells, Cells before) {
#if HWY_TARGET == HWY_AVX3
  return Cells{_mm512_alignr_epi8(cells.raw, _mm512_alignr_epi64(cells.raw, before.raw, 6), 15)};
#elif HWY_TARGET == HWY_AVX2
  return Cells{_mm256_alignr_epi8(cells.raw, _mm256_permute2x128_si256(before.raw, cells.raw, 0x21), 15)};
#else
  static_assert(lanes == 16);
  return hn::CombineShiftRightBytes<15>(CellTag(), cells, before);
#endif
}

enum class Pieces : std::uint8_t { one, two };

template <Pieces pieces, TieOrder ties>
class VectorRows {
 public:
  VectorRows(const Scores& scores, const Problem& problem, MatrixRows& rows)
      : scores_(scores),
        problem_(problem),
        rows_(rows),
        match_(set(scores.match)),
        mismatch_(set(-scores.mismatch)),
        ambiguous_(set(ambiguous_score(scores))),
        open_(set(scores.gap_open)),
        closed_(set(scores.gap_open + scores.gap_extend)),
        open_long_(set(scores.gap_open_long)),
        closed_long_(set(scores.gap_open_long + scores.gap_extend_long)) {}

  HWY_NOINLINE void fill(std::int32_t row, const RowCells& cells, const RowCells& before) {
    const CellTag tag;
    if (row > 0 && cells.last > before.last) open_blocks(before.last + 1, cells.last + 1);
    const RowBorder border = border_left_of(row, cells, before, scores_, rows_);
    substitute(row, cells);
    std::uint8_t* steps = rows_.next_steps(cells);
    Cells x_before = set(border.x), x2_before = set(border.x2), v_before = set(border.v);
    std::int32_t t = cells.begin;
    for (; t + lanes <= cells.last; t += lanes, steps += lanes)
      fill_cells(t, steps, hn::LoadU(tag, rows_.u + t), hn::LoadU(tag, rows_.y + t), hn::LoadU(tag, rows_.y2 + t), x_before, x2_before, v_before);
    Cells u = hn::LoadU(tag, rows_.u + t), y = hn::LoadU(tag, rows_.y + t), y2 = hn::LoadU(tag, rows_.y2 + t);
    if (row <= cells.last) {
      // The cell on the query's border; written to memory it would be waited for.
      const auto here = hn::Eq(hn::Iota(tag, 0), set(row - t));
      u = hn::IfThenElse(here, set(border_difference(scores_, row + 1)), u);
      y = hn::IfThenElse(here, hn::Neg(closed_), y);
      y2 = hn::IfThenElse(here, hn::Neg(closed_long_), y2);
    }
    fill_cells(t, steps, u, y, y2, x_before, x2_before, v_before);
  }

 private:
  static HWY_INLINE Cells set(std::int32_t value) { return hn::Set(CellTag(), static_cast<std::int8_t>(value)); }

  // Blocks that rows have not reached may hold what the last vectors left behind the others.
  void open_blocks(std::int32_t begin, std::int32_t end) {
    const auto bytes = static_cast<std::size_t>(end - begin);
    const int closed = -(scores_.gap_open + scores_.gap_extend), closed_long = -(scores_.gap_open_long + scores_.gap_extend_long);
    for (std::int8_t* array : {rows_.u, rows_.v, rows_.x, rows_.y}) std::memset(array + begin, closed, bytes);
    for (std::int8_t* array : {rows_.x2, rows_.y2}) std::memset(array + begin, closed_long, bytes);
  }

  template <class Tag>
  HWY_INLINE void substitute_at(Tag tag, std::int32_t t, const std::uint8_t* query) {
    const hn::RebindToUnsigned<Tag> codes;
    const auto target_codes = hn::LoadU(codes, rows_.target + t), query_codes = hn::LoadU(codes, query + t);
    const auto value = [&](std::int32_t score) { return hn::Set(tag, static_cast<std::int8_t>(score)); };
    const auto same = hn::RebindMask(tag, hn::Eq(target_codes, query_codes));
    const auto ambiguous = hn::Gt(hn::BitCast(tag, hn::Or(target_codes, query_codes)), value(3));
    const auto score = hn::IfThenElse(same, value(scores_.match), value(-scores_.mismatch));
    hn::StoreU(hn::IfThenElse(ambiguous, value(ambiguous_score(scores_)), score), tag, rows_.substitution + t);
  }
  HWY_INLINE void substitute(std::int32_t row, const RowCells& cells) {
    const std::int32_t end = cells.band_begin + (cells.band_last - cells.band_begin + block_cells) / block_cells * block_cells;
    const std::uint8_t* query = rows_.query_back + (problem_.query_length - 1 - row);
    std::int32_t t = cells.band_begin;
    for (; t + lanes <= end; t += lanes) substitute_at(CellTag(), t, query);
    for (; t < end; t += block_cells) substitute_at(hn::CappedTag<std::int8_t, block_cells>(), t, query);
  }

  HWY_INLINE void choose(Cells candidate, std::uint8_t step, Cells& score, Cells& steps) const {
    if constexpr (ties == TieOrder::gap_right)
      steps = hn::IfThenElse(hn::Gt(candidate, score), set(step), steps);
    else
      steps = hn::IfThenElse(hn::Gt(score, candidate), steps, set(step));
    score = hn::Max(score, candidate);
  }
  // The gap behind cells: cell_less_open is the score of opening it.
  HWY_INLINE Cells behind(Cells gap, Cells cell_less_open, Cells closed, std::uint8_t gap_step, Cells& steps) const {
    const CellTag tag;
    const Cells over = hn::Sub(gap, cell_less_open);
    const auto on = ties == TieOrder::gap_right ? hn::Gt(over, hn::Zero(tag)) : hn::Gt(over, set(-1));
    steps = hn::Or(steps, hn::IfThenElseZero(on, set(goes_on(gap_step))));
    return hn::Sub(hn::Max(over, hn::Zero(tag)), closed);
  }

  HWY_INLINE void fill_cells(std::int32_t t, std::uint8_t* steps_of_cells, Cells up_u, Cells up_y, Cells up_y2, Cells& x_before, Cells& x2_before,
                             Cells& v_before) {
    const CellTag tag;
    const Cells x = hn::LoadU(tag, rows_.x + t), v = hn::LoadU(tag, rows_.v + t);
    const Cells left_v = shift_in(v, v_before);
    const Cells deletion = hn::Add(shift_in(x, x_before), left_v), insertion = hn::Add(up_y, up_u);
    x_before = x;
    v_before = v;
    Cells score = hn::LoadU(tag, rows_.substitution + t), steps = hn::Zero(tag);
    choose(deletion, step_deletion, score, steps);
    choose(insertion, step_insertion, score, steps);
    Cells long_deletion = deletion, long_insertion = insertion;
    if constexpr (pieces == Pieces::two) {
      const Cells x2 = hn::LoadU(tag, rows_.x2 + t);
      long_deletion = hn::Add(shift_in(x2, x2_before), left_v);
      long_insertion = hn::Add(up_y2, up_u);
      x2_before = x2;
      choose(long_deletion, step_long_deletion, score, steps);
      choose(long_insertion, step_long_insertion, score, steps);
    }
    score = hn::Min(score, match_);
    hn::StoreU(hn::Sub(score, left_v), tag, rows_.u + t);
    hn::StoreU(hn::Sub(score, up_u), tag, rows_.v + t);
    const Cells opened = hn::Sub(score, open_);
    hn::StoreU(behind(deletion, opened, closed_, step_deletion, steps), tag, rows_.x + t);
    hn::StoreU(behind(insertion, opened, closed_, step_insertion, steps), tag, rows_.y + t);
    if constexpr (pieces == Pieces::two) {
      const Cells opened_long = hn::Sub(score, open_long_);
      hn::StoreU(behind(long_deletion, opened_long, closed_long_, step_long_deletion, steps), tag, rows_.x2 + t);
      hn::StoreU(behind(long_insertion, opened_long, closed_long_, step_long_insertion, steps), tag, rows_.y2 + t);
    }
    hn::StoreU(hn::BitCast(CodeTag(), steps), CodeTag(), steps_of_cells);
  }

  const Scores& scores_;
  const Problem& problem_;
  MatrixRows& rows_;
  Cells match_, mismatch_, ambiguous_, open_, closed_, open_long_, closed_long_;
};

using ScoreTag = hn::CappedTag<std::int32_t, 16>;
constexpr std::int32_t score_lanes = static_cast<std::int32_t>(hn::MaxLanes(ScoreTag()));

template <class Mask>
HWY_INLINE std::uint32_t bits_of(Mask mask) {
  alignas(8) std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(ScoreTag(), mask, bytes);
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8;
}

// The place of a row's best score, which is above that of the band's last cell: see best_cell in plain.cpp for which one of several.
inline std::int32_t place_of(std::int32_t best, const MatrixRows& rows, const RowCells& cells) {
  const ScoreTag tag;
  const std::int32_t grouped = (cells.band_last - cells.band_begin) / 4 * 4;
  std::int32_t columns[4] = {-1, -1, -1, -1};
  for (std::int32_t i = 0; i < grouped && columns[0] < 0; i += score_lanes) {
    std::uint32_t found = bits_of(hn::Eq(hn::LoadU(tag, rows.score.data() + cells.band_begin + i), hn::Set(tag, best)));
    if (i + score_lanes > grouped) found &= (1U << (grouped - i)) - 1;
    for (; found != 0; found &= found - 1) {
      const auto at = static_cast<std::int32_t>(std::countr_zero(found));
      if (columns[at % 4] < 0) columns[at % 4] = cells.band_begin + i + at;
    }
  }
  for (const std::int32_t column : columns)
    if (column >= 0) return column;
  std::int32_t t = cells.band_begin + grouped;
  while (rows.score[static_cast<std::size_t>(t)] != best) ++t;
  return t;
}

// Adds a row's differences to the scores and gives its best cell; where nothing follows from its place, any place.
inline BestCell add_differences(std::int32_t row, const RowCells& cells, std::int32_t highest, std::int32_t z_drop, const Scores& scores, MatrixRows& rows) {
  const ScoreTag tag;
  const hn::Rebind<std::int8_t, ScoreTag> narrow;
  std::int32_t* const score = rows.score.data();
  const std::int32_t last = cells.band_last;
  std::int32_t at_last = 0;
  if (row == 0)
    at_last = rows.v[0] - (scores.gap_open + scores.gap_extend);
  else
    at_last = last > 0 ? score[last - 1] + rows.u[last] : score[0] + rows.v[0];
  auto most = hn::Set(tag, std::numeric_limits<std::int32_t>::min());
  std::int32_t t = cells.band_begin;
  for (; t + score_lanes <= last; t += score_lanes) {
    const auto sum = hn::Add(hn::LoadU(tag, score + t), hn::PromoteTo(tag, hn::LoadU(narrow, rows.v + t)));
    hn::StoreU(sum, tag, score + t);
    most = hn::Max(most, sum);
  }
  if (t < last) {
    // Behind the last cell nothing is read before it is set.
    const auto sum = hn::Add(hn::LoadU(tag, score + t), hn::PromoteTo(tag, hn::LoadU(narrow, rows.v + t)));
    hn::StoreU(sum, tag, score + t);
    most = hn::IfThenElse(hn::FirstN(tag, static_cast<std::size_t>(last - t)), hn::Max(most, sum), most);
  }
  score[last] = at_last;
  const std::int32_t best = hn::GetLane(hn::MaxOfLanes(tag, most));
  if (best <= at_last) return {at_last, last};
  const bool matters = best > highest || (z_drop >= 0 && std::int64_t{highest} - best > z_drop);
  return {best, matters ? place_of(best, rows, cells) : last};
}

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR
#endif  // include guard per target
