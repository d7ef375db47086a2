// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "pair_alignment/band_fill.hpp"

#include <algorithm>
#include <numeric>

// AVX3_DL adds nothing that these loops could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
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

// One strip: the state of its blocks. `Planes` is the number of bits of a letter, 0 if it is only known at run time.
template <int Planes>
class Strip {
 public:
  Strip(const BandProblem& problem, std::size_t first_word) : planes_(Planes > 0 ? Planes : problem.planes) {
    const Tag tag;
    for (int p = 0; p < planes_; ++p) {
      rows_[p] = hn::LoadU(tag, problem.row_bits[static_cast<std::size_t>(p)] + first_word);
      columns_[p] = problem.column_masks[static_cast<std::size_t>(p)];
    }
    alignas(64) std::uint64_t from[max_lanes], first[max_lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      from[lane] = static_cast<std::uint64_t>((lane + lanes - 1) % lanes);
      first[lane] = lane == 0 ? ~std::uint64_t{0} : 0;
    }
    rotation_ = hn::SetTableIndices(tag, from);
    is_first_ = hn::MaskFromVec(hn::Load(tag, first));
    up_ = hn::Set(tag, ~std::uint64_t{0});
    down_ = hn::Zero(tag);
    carry_ = hn::Zero(tag);
  }

  enum class Blocks : std::uint8_t { all, some };

  // Block b does column `column` - b; where `which` is some, only blocks whose column lies in [first, last] change. top: step of the row above the
  // strip in `column`. Returns the step of the strip's last row in column - (lanes - 1).
  template <Blocks which>
  HWY_INLINE std::int64_t step(std::int64_t column, std::int64_t top, std::int64_t first, std::int64_t last, std::uint64_t* kept) {
    const Tag tag;
    // Steps are -1, 0 or 1 as 64-bit numbers.
    const Words enters = hn::IfThenElse(is_first_, hn::Set(tag, static_cast<std::uint64_t>(top)), carry_);
    const Words enters_down = hn::ShiftRight<63>(enters);
    const Words enters_up = hn::ShiftRight<63>(hn::Sub(hn::Zero(tag), enters));
    Words differs = hn::Xor(rows_[0], hn::LoadU(tag, columns_[0] - column));
    for (int p = 1; p < planes_; ++p) differs = hn::Or(differs, hn::Xor(rows_[p], hn::LoadU(tag, columns_[p] - column)));
    const Words equal = hn::Not(differs);
    const Words vertical = hn::Or(equal, down_);
    const Words start = hn::Or(equal, enters_down);
    const Words diagonal = hn::Or(hn::Xor(hn::Add(hn::And(start, up_), up_), up_), start);
    const Words right_up = hn::Or(down_, hn::Not(hn::Or(diagonal, up_)));
    const Words right_down = hn::And(up_, diagonal);
    const Words shifted_up = hn::Or(hn::ShiftLeft<1>(right_up), enters_up);
    const Words shifted_down = hn::Or(hn::ShiftLeft<1>(right_down), enters_down);
    const Words up = hn::Or(shifted_down, hn::Not(hn::Or(vertical, shifted_up)));
    const Words down = hn::And(shifted_up, vertical);
    if constexpr (which == Blocks::all) {
      up_ = up;
      down_ = down;
    } else {
      const auto active = blocks_in(column, first, last);
      up_ = hn::IfThenElse(active, up, up_);
      down_ = hn::IfThenElse(active, down, down_);
    }
    if (kept != nullptr) {
      hn::StoreU(up, tag, kept);
      hn::StoreU(right_up, tag, kept + lanes);
    }
    const Words leaves = hn::Sub(hn::ShiftRight<63>(right_up), hn::ShiftRight<63>(right_down));
    carry_ = hn::TableLookupLanes(leaves, rotation_);
    return static_cast<std::int64_t>(hn::GetLane(carry_));
  }

  void store(std::uint64_t* ups, std::uint64_t* downs) const {
    const Tag tag;
    hn::StoreU(up_, tag, ups);
    hn::StoreU(down_, tag, downs);
  }

 private:
  HWY_INLINE auto blocks_in(std::int64_t column, std::int64_t first, std::int64_t last) const {
    const Tag tag;
    alignas(64) std::uint64_t active[max_lanes];
    for (int lane = 0; lane < lanes; ++lane) active[lane] = column - lane >= first && column - lane <= last ? ~std::uint64_t{0} : 0;
    return hn::MaskFromVec(hn::Load(tag, active));
  }

  int planes_;
  Words rows_[Planes > 0 ? Planes : max_planes];
  const std::uint64_t* columns_[Planes > 0 ? Planes : max_planes];
  decltype(hn::SetTableIndices(Tag(), static_cast<const std::uint64_t*>(nullptr))) rotation_;
  decltype(hn::MaskFromVec(hn::Zero(Tag()))) is_first_;
  Words up_, down_;  // D(i, j) - D(i - 1, j) is 1, is -1
  Words carry_;      // step of the last row of the block above, in the column that this block does next
};

template <int Planes, class Keep>
void FillStrip(const BandProblem& problem, std::size_t first_word, std::int64_t first, std::int64_t last, std::int64_t* row_steps, Keep&& keep,
               std::uint64_t* ups, std::uint64_t* downs) {
  using S = Strip<Planes>;
  S strip(problem, first_word);
  const std::int64_t end = last + lanes;  // of the columns of block 0
  const std::int64_t head_end = std::min(first + lanes - 1, end);
  std::int64_t column = first;
  for (; column < head_end; ++column) {
    const std::int64_t below = strip.template step<S::Blocks::some>(column, row_steps[column], first, last, keep(column));
    if (column - (lanes - 1) >= first) row_steps[column - (lanes - 1)] = below;
  }
  for (; column <= last; ++column)
    row_steps[column - (lanes - 1)] = strip.template step<S::Blocks::all>(column, row_steps[column], first, last, keep(column));
  for (; column < end; ++column) {
    const std::int64_t below = strip.template step<S::Blocks::some>(column, row_steps[column], first, last, keep(column));
    if (column - (lanes - 1) >= first) row_steps[column - (lanes - 1)] = below;
  }
  strip.store(ups, downs);
}

void FillBand(const BandProblem& problem, BandWorkspace& workspace, LastColumn& result, BandTrace* trace) {
  const std::int64_t rows = problem.rows, columns = problem.columns;
  workspace.row_steps.assign(static_cast<std::size_t>(columns) + max_lanes + 1, 1);
  workspace.ups.resize(max_lanes);
  workspace.downs.resize(max_lanes);
  std::int64_t* row_steps = workspace.row_steps.data();
  result.distance.clear();
  if (trace != nullptr) {
    trace->lanes = lanes;
    trace->strips.clear();
    std::size_t words = 0;
    for (std::int64_t above = 0; above < rows; above += strip_rows) {
      const std::int64_t first = std::max<std::int64_t>(1, above + 1 - problem.highest_diagonal);
      const std::int64_t last = std::min(columns, std::min(above + strip_rows, rows) - problem.lowest_diagonal);
      if (first > columns) break;
      trace->strips.push_back({first, words});
      words += static_cast<std::size_t>(last - first + lanes) * 2 * lanes;
    }
    if (trace->words.size() < words) trace->words.resize(words);
  }
  std::int64_t corner = 0;  // D(above, first - 1)
  std::int64_t first_above = 1;
  for (std::int64_t above = 0; above < rows; above += strip_rows) {
    const std::int64_t first = std::max<std::int64_t>(1, above + 1 - problem.highest_diagonal);
    const std::int64_t last = std::min(columns, std::min(above + strip_rows, rows) - problem.lowest_diagonal);
    if (first > columns) break;
    corner = std::accumulate(row_steps + first_above, row_steps + first, corner);
    first_above = first;
    const bool reaches_end = last == columns;
    std::int64_t distance = reaches_end ? std::accumulate(row_steps + first, row_steps + columns + 1, corner) : 0;
    const auto first_word = static_cast<std::size_t>(above / 64);
    std::uint64_t* kept = trace != nullptr ? trace->words.data() + trace->strips[static_cast<std::size_t>(above / strip_rows)].offset : nullptr;
    const auto fill = [&](auto&& keep) {
      if (problem.planes == 2)
        FillStrip<2>(problem, first_word, first, last, row_steps, keep, workspace.ups.data(), workspace.downs.data());
      else
        FillStrip<0>(problem, first_word, first, last, row_steps, keep, workspace.ups.data(), workspace.downs.data());
    };
    if (kept != nullptr)
      fill([&](std::int64_t column) { return kept + (column - first) * (2 * lanes); });
    else
      fill([](std::int64_t) { return static_cast<std::uint64_t*>(nullptr); });
    corner += strip_rows;
    if (!reaches_end) continue;
    if (result.distance.empty()) {
      result.first_row = above;
      result.distance.push_back(static_cast<std::int32_t>(distance));
    }
    const std::int64_t below = std::min(rows - above, strip_rows);
    for (std::int64_t row = 0; row < below; ++row) {
      const auto word = static_cast<std::size_t>(row / 64);
      distance +=
          static_cast<std::int64_t>(workspace.ups[word] >> (row % 64) & 1U) - static_cast<std::int64_t>(workspace.downs[word] >> (row % 64) & 1U);
      result.distance.push_back(static_cast<std::int32_t>(distance));
    }
  }
}

}  // namespace sluice::pair_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::pair_alignment {

HWY_EXPORT(FillBand);

void fill_band(const BandProblem& problem, BandWorkspace& workspace, LastColumn& last, BandTrace* trace) {
  HWY_DYNAMIC_DISPATCH(FillBand)(problem, workspace, last, trace);
}

}  // namespace sluice::pair_alignment
#endif
