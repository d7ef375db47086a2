// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Vectors of cells, 8-bit differences of scores: what one row does to another. Included once per instruction set.

#if defined(SLUICE_BASE_ALIGNMENT_CELLS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_BASE_ALIGNMENT_CELLS
#undef SLUICE_BASE_ALIGNMENT_CELLS
#else
#define SLUICE_BASE_ALIGNMENT_CELLS
#endif

#include <hwy/highway.h>

#include "base_alignment/kernel/progress.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CellTag = hn::CappedTag<std::int8_t, 64>;
using CodeTag = hn::RebindToUnsigned<CellTag>;
using Cells = hn::Vec<CellTag>;
// For bands of half a vector.
using HalfTag = hn::CappedTag<std::int8_t, 32>;
constexpr std::int32_t lanes = static_cast<std::int32_t>(hn::MaxLanes(CellTag()));
static_assert(lanes % block_cells == 0 && lanes <= static_cast<std::int32_t>(MatrixRows::slack) / 2);

template <class Tag = CellTag>
HWY_INLINE hn::Vec<Tag> set(std::int32_t value) {
  return hn::Set(Tag(), static_cast<std::int8_t>(value));
}

// shift_up: every lane takes what the one below has; lane 0 the last lane of `before`. shift_down: every lane takes what the one above has; the last
// lane lane 0 of `behind`.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE Cells shift_up(Cells cells, Cells before) {
  return Cells{_mm512_alignr_epi8(cells.raw, _mm512_alignr_epi64(cells.raw, before.raw, 6), 15)};
}
HWY_INLINE Cells shift_down(Cells cells, Cells behind) {
  return Cells{_mm512_alignr_epi8(_mm512_alignr_epi64(behind.raw, cells.raw, 2), cells.raw, 1)};
}
#endif
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
using HalfCells = hn::Vec<HalfTag>;
HWY_INLINE HalfCells shift_up(HalfCells cells, HalfCells before) {
  return HalfCells{_mm256_alignr_epi8(cells.raw, _mm256_permute2x128_si256(before.raw, cells.raw, 0x21), 15)};
}
HWY_INLINE HalfCells shift_down(HalfCells cells, HalfCells behind) {
  return HalfCells{_mm256_alignr_epi8(_mm256_permute2x128_si256(cells.raw, behind.raw, 0x21), cells.raw, 1)};
}
#else
static_assert(lanes == 16);
HWY_INLINE Cells shift_up(Cells cells, Cells before) { return hn::CombineShiftRightBytes<15>(CellTag(), cells, before); }
HWY_INLINE Cells shift_down(Cells cells, Cells behind) { return hn::CombineShiftRightBytes<1>(CellTag(), behind, cells); }
#endif

// See CellRule::advance_in_planes.
inline constexpr std::uint8_t goes_on_planes = 4, step_planes = 8;

enum class Pieces : std::uint8_t { one, two };

// What a cell needs of its neighbours: gaps that end there against their scores, and the differences along both sequences. The second gaps are only
// used with two pieces.
template <class Tag>
struct LeftOf {
  hn::Vec<Tag> x, x2, v;
};
template <class Tag>
struct UpperOf {
  hn::Vec<Tag> y, y2, u;
};
using LeftCells = LeftOf<CellTag>;
using UpperCells = UpperOf<CellTag>;

template <Pieces pieces, TieOrder ties, class Tag = CellTag>
class CellRule {
 public:
  using Cells = hn::Vec<Tag>;
  using CodeTag = hn::RebindToUnsigned<Tag>;
  using LeftCells = LeftOf<Tag>;
  using UpperCells = UpperOf<Tag>;

  explicit CellRule(const Scores& scores)
      : match_(set<Tag>(scores.match)),
        mismatch_(set<Tag>(-scores.mismatch)),
        transition_(set<Tag>(-scores.transition_penalty())),
        ambiguous_(set<Tag>(ambiguous_score(scores))),
        open_(set<Tag>(scores.gap_open)),
        extend_(set<Tag>(scores.gap_extend)),
        closed_(set<Tag>(scores.gap_open + scores.gap_extend)),
        open_long_(set<Tag>(scores.gap_open_long)),
        extend_long_(set<Tag>(scores.gap_extend_long)),
        closed_long_(set<Tag>(scores.gap_open_long + scores.gap_extend_long)) {}

  // A neighbour of which nothing is known but that a gap may lead there.
  HWY_INLINE LeftCells closed_left() const { return {hn::Neg(closed_), hn::Neg(closed_long_), hn::Neg(closed_)}; }
  HWY_INLINE UpperCells closed_upper() const { return {hn::Neg(closed_), hn::Neg(closed_long_), hn::Neg(closed_)}; }

  template <bool is_general>
  HWY_INLINE Cells substitution(const std::uint8_t* target, const std::uint8_t* query) const {
    const Tag tag;
    const auto target_codes = hn::BitCast(tag, hn::LoadU(CodeTag(), target)), query_codes = hn::BitCast(tag, hn::LoadU(CodeTag(), query));
    if constexpr (!is_general) return hn::IfThenElse(hn::Eq(target_codes, query_codes), match_, mismatch_);
    const auto differences = hn::Xor(target_codes, query_codes);
    const Cells different = hn::IfThenElse(hn::Eq(differences, set<Tag>(2)), transition_, mismatch_);
    const Cells score = hn::IfThenElse(hn::Eq(differences, hn::Zero(tag)), match_, different);
    return hn::IfThenElse(hn::Gt(hn::Or(target_codes, query_codes), set<Tag>(3)), ambiguous_, score);
  }

  // Replaces the neighbours of cells by the cells themselves, as neighbours of what follows. planes(n, mask): of n from step_deletion on which cells
  // were reached better than by all steps before n; of goes_on_planes + n whether that gap goes on behind the cell. Masks are all that is made of
  // steps, as a byte for each takes half of the instructions.
  template <class Planes>
  HWY_INLINE void advance_in_planes(Cells score, LeftCells& left, UpperCells& upper, const Planes& planes) const {
    static_assert(ties == TieOrder::gap_right);
    const Cells deletion = hn::Add(left.x, left.v), insertion = hn::Add(upper.y, upper.u);
    Cells long_deletion = deletion, long_insertion = insertion;
    const auto choose = [&](Cells candidate, std::uint8_t step) HWY_ATTR {
      planes(step, hn::Gt(candidate, score));
      score = hn::Max(score, candidate);
    };
    choose(deletion, step_deletion);
    choose(insertion, step_insertion);
    if constexpr (pieces == Pieces::two) {
      long_deletion = hn::Add(left.x2, left.v);
      long_insertion = hn::Add(upper.y2, upper.u);
      choose(long_deletion, step_long_deletion);
      choose(long_insertion, step_long_insertion);
    }
    score = hn::Min(score, match_);
    const Cells u = hn::Sub(score, left.v), v = hn::Sub(score, upper.u);
    left.v = v;
    upper.u = u;
    // What 8 bits can't hold lies below all that it is compared with.
    const auto behind = [&](Cells gap, Cells opened, Cells extended, Cells closed, std::uint8_t step) HWY_ATTR {
      planes(goes_on_planes + step, hn::Gt(gap, opened));
      return hn::Max(hn::SaturatedSub(gap, extended), closed);  // does not wait for the mask
    };
    const Cells opened = hn::SaturatedSub(score, open_), extended = hn::Add(score, extend_), closed = hn::Neg(closed_);
    left.x = behind(deletion, opened, extended, closed, step_deletion);
    upper.y = behind(insertion, opened, extended, closed, step_insertion);
    if constexpr (pieces == Pieces::two) {
      const Cells opened_long = hn::SaturatedSub(score, open_long_), extended_long = hn::Add(score, extend_long_),
                  closed_long = hn::Neg(closed_long_);
      left.x2 = behind(long_deletion, opened_long, extended_long, closed_long, step_long_deletion);
      upper.y2 = behind(long_insertion, opened_long, extended_long, closed_long, step_long_insertion);
    }
  }

  // The same, with the steps in bytes.
  HWY_INLINE Cells advance(Cells score, LeftCells& left, UpperCells& upper) const {
    const Cells deletion = hn::Add(left.x, left.v), insertion = hn::Add(upper.y, upper.u);
    Cells long_deletion = deletion, long_insertion = insertion, steps = hn::Zero(Tag());
    choose(deletion, step_deletion, score, steps);
    choose(insertion, step_insertion, score, steps);
    if constexpr (pieces == Pieces::two) {
      long_deletion = hn::Add(left.x2, left.v);
      long_insertion = hn::Add(upper.y2, upper.u);
      choose(long_deletion, step_long_deletion, score, steps);
      choose(long_insertion, step_long_insertion, score, steps);
    }
    score = hn::Min(score, match_);
    const Cells u = hn::Sub(score, left.v), v = hn::Sub(score, upper.u);
    left.v = v;
    upper.u = u;
    const Cells opened = hn::Sub(score, open_);
    left.x = behind(deletion, opened, closed_, step_deletion, steps);
    upper.y = behind(insertion, opened, closed_, step_insertion, steps);
    if constexpr (pieces == Pieces::two) {
      const Cells opened_long = hn::Sub(score, open_long_);
      left.x2 = behind(long_deletion, opened_long, closed_long_, step_long_deletion, steps);
      upper.y2 = behind(long_insertion, opened_long, closed_long_, step_long_insertion, steps);
    }
    return steps;
  }

 private:
  HWY_INLINE void choose(Cells candidate, std::uint8_t step, Cells& score, Cells& steps) const {
    if constexpr (ties == TieOrder::gap_right)
      steps = hn::IfThenElse(hn::Gt(candidate, score), set<Tag>(step), steps);
    else
      steps = hn::IfThenElse(hn::Gt(score, candidate), steps, set<Tag>(step));
    score = hn::Max(score, candidate);
  }
  // The gap behind cells: cell_less_open is the score of opening it.
  HWY_INLINE Cells behind(Cells gap, Cells cell_less_open, Cells closed, std::uint8_t gap_step, Cells& steps) const {
    const Tag tag;
    const Cells over = hn::Sub(gap, cell_less_open);
    const auto on = ties == TieOrder::gap_right ? hn::Gt(over, hn::Zero(tag)) : hn::Gt(over, set<Tag>(-1));
    steps = hn::Or(steps, hn::IfThenElseZero(on, set<Tag>(goes_on(gap_step))));
    return hn::Sub(hn::Max(over, hn::Zero(tag)), closed);
  }

  Cells match_, mismatch_, transition_, ambiguous_, open_, extend_, closed_, open_long_, extend_long_, closed_long_;
};

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR
#endif  // include guard per target
