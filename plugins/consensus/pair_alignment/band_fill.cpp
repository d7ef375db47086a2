// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#define HWY_WANT_AVX3_DL  // for its shift across two words; Highway 1.0 leaves it out otherwise
#include "pair_alignment/band_fill.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

// SSSE3 adds nothing to SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pair_alignment/band_fill.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::pair_alignment::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<std::uint64_t, max_lanes>;
using Words = hn::Vec<Tag>;
constexpr int lanes = static_cast<int>(hn::MaxLanes(Tag()));
constexpr std::int64_t strip_rows = std::int64_t{64} * lanes;
alignas(64) constexpr std::int64_t behind_first[max_lanes] = {0, 2, 4, 6, 8, 10, 12, 14};
constexpr std::int64_t behind = std::int64_t{2} * (lanes - 1);  // columns of the last block behind the first

// What Highway 1.0 has no single instruction for. A step has 20 vector instructions (without loads, stores and moves) with AVX3_DL, 23 with AVX3 and
// 30 with AVX2.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Block b gets what leaves block b - 1, block 0 `above`.
HWY_INLINE Words from_above(Words words, std::uint64_t above) { return Words{_mm512_alignr_epi64(words.raw, hn::Set(Tag(), above).raw, 7)}; }
HWY_INLINE void store_last_block(Words not_up, Words down, RowStep& step) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&step), _mm512_extracti64x2_epi64(_mm512_unpackhi_epi64(not_up.raw, down.raw), 3));
}
#elif HWY_TARGET == HWY_SCALAR
HWY_INLINE Words from_above(Words, std::uint64_t above) { return hn::Set(Tag(), above); }
HWY_INLINE void store_last_block(Words not_up, Words down, RowStep& step) { step = {hn::GetLane(not_up), hn::GetLane(down)}; }
#else
HWY_INLINE Words from_above(Words words, std::uint64_t above) {
  const Tag tag;
  const Words first = hn::Set(tag, above);
  if constexpr (lanes == 2)
    return hn::InterleaveLower(tag, first, words);
  else
    return hn::CombineShiftRightBytes<8>(tag, words, hn::ConcatLowerLower(tag, words, first));
}
HWY_INLINE void store_last_block(Words not_up, Words down, RowStep& step) {
  const Words pairs = hn::InterleaveUpper(Tag(), not_up, down);
  if constexpr (lanes == 2)
    hn::StoreU(pairs, Tag(), &step.not_up);
  else
    hn::StoreU(hn::UpperHalf(hn::Half<Tag>(), pairs), hn::Half<Tag>(), &step.not_up);
}
#endif
// One row down; the highest bit of `entering` comes in.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
HWY_INLINE Words shifted(Words words, Words entering, Words) { return Words{_mm512_shldi_epi64(words.raw, entering.raw, 1)}; }
#else
HWY_INLINE Words shifted(Words words, Words, Words entering_bit) { return hn::Or(hn::Add(words, words), entering_bit); }
#endif

// Where the letters of a strip's rows and of the columns are equal. `Planes` is the number of bits of a letter, 0 if it is only known at run time.
template <int Planes>
class Letters {
 public:
  Letters(const BandProblem& problem, std::size_t first_word) : planes_(problem.planes), columns_(problem.column_masks) {
    for (int p = 0; p < planes(); ++p) {
      const auto plane = static_cast<std::size_t>(p);
      rows_[p] = hn::Not(hn::LoadU(Tag(), problem.row_bits[plane] + first_word));
    }
  }
  // Block b in `column` - 2 b.
  HWY_INLINE Words equal(std::int64_t column) const {
    Words all = in_plane(0, column);
    for (int p = 1; p < planes(); ++p) all = hn::And(all, in_plane(p, column));
    return all;
  }

 private:
  HWY_INLINE int planes() const { return Planes > 0 ? Planes : planes_; }
  HWY_INLINE Words in_plane(int p, std::int64_t column) const {
    return hn::Xor(rows_[p], hn::LoadU(Tag(), columns_[static_cast<std::size_t>(p)][static_cast<std::size_t>(column & 1)] - (column >> 1)));
  }

  int planes_;
  Words rows_[Planes > 0 ? Planes : max_planes];  // the complement of their bits
  const std::array<std::array<const std::uint64_t*, 2>, max_planes>& columns_;
};

// The state of a strip's blocks: only what changes from step to step, so that it stays in registers.
struct Blocks {
  Words up, down;  // D(i, j) - D(i - 1, j) is 1, is -1
  // D(i, j) - D(i, j - 1) is not 1, is -1: in its highest bit, of each block's last row, enters the block below in the next step,
  Words enters_not_up, enters_down;
  // and in the one after that.
  Words next_not_up, next_down;
};
// Columns of the problem in which a strip's blocks are changed.
struct Columns {
  std::int64_t first, last;
};
enum class Which : std::uint8_t { all, some };

// Block b does column `column` - 2 b; where `which` is some, only blocks whose column lies among the strip's change. row_steps: of the row above the
// strip, and, behind it, of the strip's last row. kept: 2 * lanes words, if `keeps`.
template <Which which, bool keeps>
HWY_INLINE void do_step(Blocks& blocks, Words equal, std::int64_t column, Columns columns, RowStep* row_steps, std::uint64_t* kept) {
  const Tag tag;
  const Words enters_not_up = from_above(blocks.enters_not_up, row_steps[column].not_up);
  const Words enters_down = from_above(blocks.enters_down, row_steps[column].down);
  const Words down_bit = hn::ShiftRight<63>(enters_down);
  const Words vertical = hn::Or(equal, blocks.down);
  const Words start = hn::Or(equal, down_bit);
  const Words diagonal = hn::Or(hn::Xor(hn::Add(hn::And(start, blocks.up), blocks.up), blocks.up), start);
  const Words not_right_up = hn::AndNot(blocks.down, hn::Or(diagonal, blocks.up));
  const Words right_down = hn::And(blocks.up, diagonal);
  const Words shifted_not_up = shifted(not_right_up, enters_not_up, hn::ShiftRight<63>(enters_not_up));
  const Words up = hn::Or(shifted(right_down, enters_down, down_bit), hn::AndNot(vertical, shifted_not_up));
  const Words down = hn::AndNot(shifted_not_up, vertical);
  if constexpr (keeps) {
    hn::Store(hn::Or(hn::AndNot(equal, hn::Or(diagonal, blocks.down)), up), tag, kept);
    hn::Store(hn::Or(not_right_up, up), tag, kept + lanes);
  }
  if constexpr (which == Which::all) {
    blocks.up = up;
    blocks.down = down;
  } else {
    const hn::RebindToSigned<Tag> numbers;
    const auto its_column = hn::Sub(hn::Set(numbers, column), hn::Load(numbers, behind_first));
    const auto active =
        hn::RebindMask(tag, hn::And(hn::Gt(its_column, hn::Set(numbers, columns.first - 1)), hn::Lt(its_column, hn::Set(numbers, columns.last + 1))));
    blocks.up = hn::IfThenElse(active, up, blocks.up);
    blocks.down = hn::IfThenElse(active, down, blocks.down);
  }
  blocks.enters_not_up = blocks.next_not_up;
  blocks.enters_down = blocks.next_down;
  blocks.next_not_up = not_right_up;
  blocks.next_down = right_down;
  if (which == Which::all || column - behind >= columns.first) store_last_block(not_right_up, right_down, row_steps[column - behind]);
}

// The vertical steps of the blocks in their last columns.
struct LastWords {
  std::uint64_t ups[max_lanes], downs[max_lanes];
};

template <int Planes, bool keeps>
void FillStrip(const BandProblem& problem, std::size_t first_word, Columns columns, RowStep* row_steps, std::uint64_t* kept, LastWords& words) {
  const Letters<Planes> letters(problem, first_word);
  const Words zero = hn::Zero(Tag());
  Blocks blocks{hn::Not(zero), zero, zero, zero, zero, zero};
  const std::int64_t end = columns.last + behind + 1;  // of the columns of block 0
  constexpr std::int64_t step_words = keeps ? 2 * lanes : 0;
  std::int64_t column = columns.first;
  for (; column < end && (column < columns.first + behind || column % 2 != 0); ++column, kept += step_words)
    do_step<Which::some, keeps>(blocks, letters.equal(column), column, columns, row_steps, kept);
  for (; column < columns.last; column += 2, kept += 2 * step_words) {
    do_step<Which::all, keeps>(blocks, letters.equal(column), column, columns, row_steps, kept);
    do_step<Which::all, keeps>(blocks, letters.equal(column + 1), column + 1, columns, row_steps, kept + step_words);
  }
  for (; column < end; ++column, kept += step_words) do_step<Which::some, keeps>(blocks, letters.equal(column), column, columns, row_steps, kept);
  hn::StoreU(blocks.up, Tag(), words.ups);
  hn::StoreU(blocks.down, Tag(), words.downs);
}

// The columns of strips, from one to the next.
class Window {
 public:
  Window(const BandProblem& problem, std::vector<RowStep>& row_steps) : problem_(problem), row_steps_(row_steps), limit_(problem.limit) {
    row_steps_.assign(static_cast<std::size_t>(problem.columns + behind) + 2, RowStep());
    last_ = std::min(problem_.columns, end() + (limit_ - (problem_.rows - problem_.all_columns)) / 2);
    at_last_ = last_;
  }
  bool is_done() const { return above_ >= problem_.rows; }
  std::int64_t above() const { return above_; }  // rows above the strip
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  std::int64_t at_last() const { return at_last_; }  // D(above, last)
  // A strip has reached the last column, which is not that of the paths' end: all strips behind it that paths pass do.
  void must_reach_end() { reaches_end_ = true; }

  // Behind the strip whose last words these are.
  void next(const LastWords& words) {
    const std::int64_t bottom = above_ + strip_rows;
    if (bottom >= problem_.rows) {
      above_ = bottom;
      return;
    }
    std::int64_t at_last = at_last_;
    for (int lane = 0; lane < lanes; ++lane) at_last += std::popcount(words.ups[lane]) - std::popcount(words.downs[lane]);
    // Columns of the bottom row in which paths of at most `limit` edits leave the strip: D and the gaps that are needed then. Both change by at most
    // one from column to column, so that as many columns can be passed over as half of what is too much.
    const std::int64_t rest = problem_.rows - bottom - problem_.all_columns;
    const auto too_much = [&](std::int64_t column, std::int64_t distance) { return distance + std::abs(rest + column) - limit_; };
    const std::int64_t leftmost = first_ == 1 ? 0 : first_;
    std::int64_t left = leftmost, at_left = corner_ + strip_rows + steps(first_, leftmost);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t more; (more = too_much(left, at_left)) > 0;) {
      least = std::min(least, more);
      const std::int64_t further = left + (more + 1) / 2;
      if (further <= last_) {
        at_left += steps(left + 1, further);
        left = further;
        continue;
      }
      // No path has so few edits.
      if (reaches_end_) {  // in these rows: all have left through the last column
        above_ = problem_.rows;
        return;
      }
      // Some path is found yet, whose cost is a better limit.
      limit_ += least + std::max<std::int64_t>(64, limit_ / 16);
      left = leftmost;
      at_left = corner_ + strip_rows + steps(first_, leftmost);
    }
    std::int64_t right = last_, at_right = at_last;
    for (std::int64_t more; (more = too_much(right, at_right)) > 0;) {
      const std::int64_t further = right - (more + 1) / 2;
      at_right -= steps(further + 1, right);
      right = further;
    }
    corner_ = left == 0 ? bottom : at_left - steps(left, left);
    first_ = std::max<std::int64_t>(1, left);
    above_ = bottom;
    const std::int64_t reached = end() - bottom + right + (limit_ - at_right - rest - right) / 2;
    // Strips that go further down never end further left: row_steps_ behind `last_` are as at the beginning.
    const std::int64_t last_above = last_;
    last_ = reaches_end_ ? problem_.columns : std::min(problem_.columns, std::max(last_, reached));
    at_last_ = at_last + last_ - last_above;
  }

 private:
  std::int64_t end() const { return std::min(above_ + strip_rows, problem_.rows); }
  // D(bottom, last) - D(bottom, first - 1).
  std::int64_t steps(std::int64_t first, std::int64_t last) const {
    std::uint64_t less = 0;
    for (std::int64_t column = first; column <= last; ++column) {
      const RowStep& step = row_steps_[static_cast<std::size_t>(column)];
      less += (step.not_up >> 63U) + (step.down >> 63U);
    }
    return last - first + 1 - static_cast<std::int64_t>(less);
  }

  const BandProblem& problem_;
  std::vector<RowStep>& row_steps_;
  std::int64_t limit_;
  std::int64_t above_ = 0, first_ = 1, last_ = 0;
  std::int64_t corner_ = 0, at_last_ = 0;  // D(above, first - 1), D(above, last)
  bool reaches_end_ = false;
};

template <bool keeps>
void FillOneStrip(const BandProblem& problem, const Window& window, RowStep* row_steps, std::uint64_t* kept, LastWords& words) {
  const auto first_word = static_cast<std::size_t>(window.above() / 64);
  if (problem.planes == 2)
    FillStrip<2, keeps>(problem, first_word, {window.first(), window.last()}, row_steps, kept, words);
  else
    FillStrip<0, keeps>(problem, first_word, {window.first(), window.last()}, row_steps, kept, words);
}

HWY_INLINE std::int64_t vertical_step(const LastWords& words, std::int64_t row) {
  const auto word = static_cast<std::size_t>(row / 64);
  return static_cast<std::int64_t>(words.ups[word] >> (row % 64) & 1U) - static_cast<std::int64_t>(words.downs[word] >> (row % 64) & 1U);
}

std::int64_t FillWithTrace(const BandProblem& problem, BandWorkspace& workspace, BandTrace& trace) {
  trace.lanes = lanes;
  trace.strips.clear();
  trace.memory.reuse();
  LastWords words;
  Window window(problem, workspace.row_steps);
  std::int64_t distance = 0;
  while (!window.is_done()) {
    std::uint64_t* const kept = trace.memory.take(static_cast<std::size_t>(window.last() - window.first() + 1 + behind) * 2 * lanes);
    trace.strips.push_back({window.first(), kept});
    FillOneStrip<true>(problem, window, workspace.row_steps.data(), kept, words);
    if (window.above() + strip_rows >= problem.rows) {
      distance = window.at_last() + problem.columns - window.last();
      for (std::int64_t row = 0; row < problem.rows - window.above(); ++row) distance += vertical_step(words, row);
    }
    window.next(words);
  }
  return distance;
}

void FillLastColumn(const BandProblem& problem, BandWorkspace& workspace, LastColumn& result) {
  result.distance.clear();
  LastWords words;
  Window window(problem, workspace.row_steps);
  while (!window.is_done()) {
    FillOneStrip<false>(problem, window, workspace.row_steps.data(), nullptr, words);
    if (window.last() == problem.columns) {
      window.must_reach_end();
      std::int64_t distance = window.at_last();
      if (result.distance.empty()) {
        result.first_row = window.above();
        result.distance.push_back(static_cast<std::int32_t>(distance));
      }
      const std::int64_t below = std::min(problem.rows - window.above(), strip_rows);
      for (std::int64_t row = 0; row < below; ++row) result.distance.push_back(static_cast<std::int32_t>(distance += vertical_step(words, row)));
    }
    window.next(words);
  }
}

std::int64_t Lanes() { return lanes; }

}  // namespace sluice::pair_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::pair_alignment {

HWY_EXPORT(FillWithTrace);
HWY_EXPORT(FillLastColumn);
HWY_EXPORT(Lanes);

std::int64_t fill_with_trace(const BandProblem& problem, BandWorkspace& workspace, BandTrace& trace) {
  return HWY_DYNAMIC_DISPATCH(FillWithTrace)(problem, workspace, trace);
}

void fill_last_column(const BandProblem& problem, BandWorkspace& workspace, LastColumn& last) {
  HWY_DYNAMIC_DISPATCH(FillLastColumn)(problem, workspace, last);
}

std::int64_t trace_bytes(std::int64_t rows, std::int64_t columns, std::int64_t limit) {
  // The band is as wide as Ukkonen's at the beginning, and narrow at the end.
  const std::int64_t strip_rows = 64 * HWY_DYNAMIC_DISPATCH(Lanes)();
  const std::int64_t width = std::min(columns, strip_rows + limit * 6 / 10);
  return (rows + strip_rows) / 4 * width;
}

}  // namespace sluice::pair_alignment
#endif
