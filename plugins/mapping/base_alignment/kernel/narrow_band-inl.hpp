// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Alignment from end to end in a band so narrow that a row stays in registers. Included once per instruction set.
//
// A cell's lane is its place on the row: rows that begin at an even diagonal and those between them take turns, so that from one to the next either
// what stands to the left or what stands above moves by one lane. Beyond the band nothing is known but that a gap may lead there, which never makes a
// score too high. So if the path that is found scores more than any path can that leaves the band, all best paths lie inside, all cells that the
// choice among them asks for are exact, and the path is the one that the whole matrix gives.

#if defined(SLUICE_BASE_ALIGNMENT_NARROW_BAND) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_BASE_ALIGNMENT_NARROW_BAND
#undef SLUICE_BASE_ALIGNMENT_NARROW_BAND
#else
#define SLUICE_BASE_ALIGNMENT_NARROW_BAND
#endif

#include "base_alignment/kernel/cells-inl.hpp"
#include "base_alignment/kernel/path_score.hpp"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace sluice::base_alignment::HWY_NAMESPACE {

// vectors: of a row.
template <Pieces pieces, bool is_general, int vectors, class Tag = CellTag>
class NarrowBand {
  static constexpr std::int32_t lanes = static_cast<std::int32_t>(hn::MaxLanes(Tag()));

 public:
  static constexpr std::int32_t width = vectors * lanes;

  NarrowBand(const Scores& scores, const Problem& problem, MatrixRows& rows)
      : scores_(scores), problem_(problem), rows_(rows), band_(diagonals_around(problem, width)) {}

  // False: a better path may leave the band. result.cigar is then as it was.
  bool run(Alignment& result) {
    const std::int32_t count = problem_.query_length + problem_.target_length - 1;
    steps_ = rows_.all_steps(static_cast<std::size_t>(count) * row_bytes);
    fill_all(count);
    const std::size_t before = result.cigar.size();
    trace(result.cigar);
    const std::int64_t score = path_score(scores_, problem_, std::span(result.cigar).subspan(before));
    if (score <= highest_outside(scores_, problem_, band_)) {
      result.cigar.resize(before);
      return false;
    }
    result.score = static_cast<std::int32_t>(score);
    return true;
  }

 private:
  // trace_path, with matches in runs: they stay in their lane.
  void trace(std::vector<std::uint32_t>& cigar) const {
    constexpr std::uint32_t match = 0, insertion = 1, deletion = 2;
    BackwardPath path(cigar);
    std::int32_t i = problem_.target_length - 1, j = problem_.query_length - 1;
    std::uint8_t state = step_match;
    while (i >= 0 && j >= 0) {
      const std::int32_t lane = i - first_cell(i + j);
      if (lane < 0) {
        state = step_insertion;
      } else if (lane >= width) {
        state = step_deletion;
      } else {
        CellPlanes cell(planes_of(i + j), lane);
        if (state == step_match || !cell.goes_on(state)) state = cell.step();
        if (state == step_match) {
          const std::int32_t most = std::min(i, j) + 1;
          std::int32_t run = 1;
          while (run < most && (cell.back_two_rows(), cell.is_match())) ++run;
          path.add(match, static_cast<std::uint32_t>(run));
          i -= run;
          j -= run;
          continue;
        }
      }
      if (state == step_deletion || state == step_long_deletion) {
        path.add(deletion, 1);
        --i;
      } else {
        path.add(insertion, 1);
        --j;
      }
    }
    if (i >= 0) path.add(deletion, static_cast<std::uint32_t>(i) + 1);
    if (j >= 0) path.add(insertion, static_cast<std::uint32_t>(j) + 1);
    path.finish(true);
  }

  // What the planes of a row say of a cell.
  class CellPlanes {
   public:
    CellPlanes(const std::uint8_t* planes, std::int32_t lane) : at_(planes + lane / 8), bit_(static_cast<std::uint8_t>(1U << (lane % 8))) {}
    void back_two_rows() { at_ -= 2 * row_bytes; }
    bool is_match() const {
      const std::uint8_t any_short = plane(step_deletion) | plane(step_insertion);
      if constexpr (pieces == Pieces::one) return (any_short & bit_) == 0;
      return ((any_short | plane(step_long_deletion) | plane(step_long_insertion)) & bit_) == 0;
    }
    // The last one that was better than all before.
    std::uint8_t step() const {
      for (std::uint8_t step = pieces == Pieces::two ? step_long_insertion : step_insertion; step > step_match; --step)
        if ((plane(step) & bit_) != 0) return step;
      return step_match;
    }
    bool goes_on(std::uint8_t gap_step) const { return (plane(goes_on_planes + gap_step) & bit_) != 0; }

   private:
    std::uint8_t plane(int number) const { return at_[(number - 1) * plane_bytes]; }
    const std::uint8_t* at_;
    std::uint8_t bit_;
  };
  static constexpr std::int32_t plane_bytes = width / 8, row_bytes = step_planes * plane_bytes;
  std::uint8_t* planes_of(std::int32_t row) const { return steps_ + static_cast<std::size_t>(row) * row_bytes; }

  using Rule = CellRule<pieces, TieOrder::gap_right, Tag>;
  using Cells = typename Rule::Cells;
  using LeftCells = typename Rule::LeftCells;
  using UpperCells = typename Rule::UpperCells;
  struct RowState {
    LeftCells left[vectors];
    UpperCells upper[vectors];
    // Written here, because constructors that GCC adds are compiled for no instruction set: on ARM they can't make a vector of Highway's.
    RowState() : left{}, upper{} {}
  };

  // Target base of a row's lane 0; the lowest diagonal is even.
  std::int32_t first_cell(std::int32_t row) const { return (row + band_.lowest + 1) >> 1; }

  // Where a row's lane 0 finds its bases and leaves its planes. All of a row's copies: what is written could else change them for all that is known.
  struct RowWalk {
    Rule rule;
    Scores scores;
    const std::uint8_t *target, *query;
    std::uint8_t* planes;
    std::int32_t row = 0, first;

    // From a row at an even diagonal to one between them, and on.
    void to_odd_row() { ++row, ++first, ++target, planes += row_bytes; }
    void to_even_row() { ++row, --query, planes += row_bytes; }
  };

  void fill_all(std::int32_t count) const {
    const std::int32_t first = first_cell(0);
    RowWalk walk{Rule(scores_), scores_, rows_.target + first, rows_.query_back + problem_.query_length - 1 + first, steps_, 0, first};
    RowState state;
    for (int i = 0; i < vectors; ++i) {
      state.left[i] = walk.rule.closed_left();
      state.upper[i] = walk.rule.closed_upper();
    }
    // Up to here rows may hold cells on the borders.
    const std::int32_t bordered = std::min(count, std::max(-band_.lowest, band_.highest) + 3) / 2 * 2;
    while (walk.row + 1 < bordered) fill_both<true>(walk, state);
    while (walk.row + 1 < count) fill_both<false>(walk, state);
    if (walk.row < count) fill_even<true>(walk, state);
  }
  template <bool has_border>
  HWY_INLINE static void fill_both(RowWalk& walk, RowState& state) {
    fill_even<has_border>(walk, state);
    walk.to_odd_row();
    fill_odd<has_border>(walk, state);
    walk.to_even_row();
  }

  template <bool has_border>
  HWY_INLINE static void fill(const RowWalk& walk, RowState& state) {
    for (int i = 0; i < vectors; ++i) {
      if constexpr (has_border) {
        // Left of target base 0, and above query base 0, which meets target base `row`.
        enter_border(walk, -walk.first - i * lanes, state.left[i]);
        enter_border(walk, walk.row - walk.first - i * lanes, state.upper[i]);
      }
      const Cells score = walk.rule.template substitution<is_general>(walk.target + i * lanes, walk.query + i * lanes);
      std::uint8_t* const planes = walk.planes + i * lanes / 8;
      walk.rule.advance_in_planes(score, state.left[i], state.upper[i], [planes](std::uint8_t number, hn::Mask<Tag> cells) HWY_ATTR {
        hn::StoreMaskBits(Tag(), cells, planes + (number - 1) * plane_bytes);
      });
    }
  }
  template <class Neighbours>
  HWY_INLINE static void enter_border(const RowWalk& walk, std::int32_t lane, Neighbours& cells) {
    const Rule& rule = walk.rule;
    if (lane < 0 || lane >= lanes) return;
    const auto here = hn::Eq(hn::Iota(Tag(), 0), set<Tag>(lane));
    const Cells difference = set<Tag>(border_difference(walk.scores, walk.row + 1));
    if constexpr (std::is_same_v<Neighbours, LeftCells>) {
      const LeftCells closed = rule.closed_left();
      cells = {hn::IfThenElse(here, closed.x, cells.x), hn::IfThenElse(here, closed.x2, cells.x2), hn::IfThenElse(here, difference, cells.v)};
    } else {
      const UpperCells closed = rule.closed_upper();
      cells = {hn::IfThenElse(here, closed.y, cells.y), hn::IfThenElse(here, closed.y2, cells.y2), hn::IfThenElse(here, difference, cells.u)};
    }
  }

  // Rows with the lowest diagonal: what stands to the left comes from the lane below.
  template <bool has_border>
  HWY_INLINE static void fill_even(const RowWalk& walk, RowState& state) {
    LeftCells before = walk.rule.closed_left();
    for (int i = 0; i < vectors; ++i) {
      const LeftCells own = state.left[i];
      state.left[i] = {shift_up(own.x, before.x), shift_up(own.x2, before.x2), shift_up(own.v, before.v)};
      before = own;
    }
    fill<has_border>(walk, state);
  }
  // Rows between: what stands above comes from the lane above.
  template <bool has_border>
  HWY_INLINE static void fill_odd(const RowWalk& walk, RowState& state) {
    UpperCells behind = walk.rule.closed_upper();
    for (int i = vectors - 1; i >= 0; --i) {
      const UpperCells own = state.upper[i];
      state.upper[i] = {shift_down(own.y, behind.y), shift_down(own.y2, behind.y2), shift_down(own.u, behind.u)};
      behind = own;
    }
    fill<has_border>(walk, state);
    // The last lane of an odd row is beyond the highest diagonal.
    const auto beyond = hn::Eq(hn::Iota(Tag(), 0), set<Tag>(lanes - 1));
    UpperCells& last = state.upper[vectors - 1];
    const UpperCells closed = walk.rule.closed_upper();
    last = {hn::IfThenElse(beyond, closed.y, last.y), hn::IfThenElse(beyond, closed.y2, last.y2), hn::IfThenElse(beyond, closed.u, last.u)};
  }

  const Scores& scores_;
  const Problem& problem_;
  MatrixRows& rows_;
  const Diagonals band_;
  std::uint8_t* steps_ = nullptr;
};

}  // namespace sluice::base_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_SCALAR
#endif  // include guard per target
