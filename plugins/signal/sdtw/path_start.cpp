// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/path_start.hpp"

#include <algorithm>
#include <limits>

#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdtw/path_start.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::sdtw::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Cells of a row from the end of the path backwards, in place: cells[0] is the cell before the first column, cells[1 + j] that of the j-th column
// before the end. Sums saturate, so that unreachable cells stay so.
template <class CellTag, class CostOf>
HWY_INLINE void AdvanceRows(CellTag d, std::span<const std::int16_t> query, std::size_t columns, hwy::HWY_NAMESPACE::TFromD<CellTag>* cells,
                            const CostOf& cost_of) {
  using Cell = hn::TFromD<CellTag>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < query.size(); ++row) {
    const std::int16_t level = query[query.size() - 1 - row];
    const std::size_t reached = std::min(columns, row + 1);  // columns that a path can have got to
    // From the right, because the cell on the left is that of the row before.
    for (std::size_t vector = (reached + lanes - 1) / lanes; vector-- > 0;) {
      const auto least = hn::Min(hn::LoadU(d, cells + 1 + vector * lanes), hn::LoadU(d, cells + vector * lanes));
      hn::StoreU(cost_of(level, vector * lanes, least), d, cells + 1 + vector * lanes);
    }
    cells[0] = std::numeric_limits<Cell>::max();
  }
}

void PathCellsNarrow(std::span<const std::int16_t> query, const std::int16_t* levels, std::size_t columns, std::uint16_t* cells) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::ScalableTag<std::int16_t> levels_d;
  AdvanceRows(d, query, columns, cells, [=](std::int16_t level, std::size_t at, hn::Vec<decltype(d)> least) HWY_ATTR {
    const auto difference = hn::Sub(hn::Set(levels_d, level), hn::LoadU(levels_d, levels + at));
    return hn::SaturatedAdd(least, hn::BitCast(d, hn::Abs(difference)));
  });
}

template <Cost cost>
HWY_INLINE void PathCellsWide(std::span<const std::int16_t> query, const std::int16_t* levels, std::size_t columns, std::uint32_t* cells) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::ScalableTag<std::int32_t> levels_d;
  const hn::Rebind<std::int16_t, decltype(levels_d)> stored_d;
  AdvanceRows(d, query, columns, cells, [=](std::int16_t level, std::size_t at, hn::Vec<decltype(d)> least) HWY_ATTR {
    const auto difference = hn::Sub(hn::Set(levels_d, level), hn::PromoteTo(levels_d, hn::LoadU(stored_d, levels + at)));
    const auto sum = hn::Add(least, hn::BitCast(d, cost == Cost::manhattan ? hn::Abs(difference) : hn::Mul(difference, difference)));
    // A sum that passes the end of the range saturates.
    return hn::Or(sum, hn::VecFromMask(d, hn::Lt(sum, least)));
  });
}

void PathCellsManhattan(std::span<const std::int16_t> query, const std::int16_t* levels, std::size_t columns, std::uint32_t* cells) {
  PathCellsWide<Cost::manhattan>(query, levels, columns, cells);
}
void PathCellsSquared(std::span<const std::int16_t> query, const std::int16_t* levels, std::size_t columns, std::uint32_t* cells) {
  PathCellsWide<Cost::squared>(query, levels, columns, cells);
}

}  // namespace sluice::sdtw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sdtw {

HWY_EXPORT(PathCellsNarrow);
HWY_EXPORT(PathCellsManhattan);
HWY_EXPORT(PathCellsSquared);

namespace {

constexpr std::size_t most_lanes = 64;

// The cells before the first row: a path ends in the first column only.
template <class Cell>
Cell* begin_cells(AlignedArray<Cell>& array, std::size_t columns) {
  array.start(1 + columns + most_lanes);
  std::fill(array.data(), array.data() + array.size(), std::numeric_limits<Cell>::max());
  array.data()[0] = 0;
  return array.data();
}

// Of paths with the score the shortest.
template <class Cell>
std::int64_t columns_to(const Cell* cells, std::size_t columns, std::int64_t score) {
  for (std::size_t j = 0; j < columns; ++j)
    if (static_cast<std::int64_t>(cells[1 + j]) == score) return static_cast<std::int64_t>(j);
  return 0;  // never: `hit` was the best of this query
}

}  // namespace

std::int64_t path_start(const Reference& reference, std::span<const std::int16_t> query, const Hit& hit, Cost cost, PathStartWorkspace& workspace) {
  const Segment& segment = reference.segment_of(hit.column);
  const auto columns = static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(query.size()), hit.column - segment.begin + 1));
  workspace.levels.start(columns + most_lanes);
  for (std::size_t j = 0; j < columns; ++j) workspace.levels.data()[j] = reference.levels()[static_cast<std::size_t>(hit.column) - j];
  std::fill(workspace.levels.data() + columns, workspace.levels.data() + workspace.levels.size(), std::int16_t{0});
  const std::int16_t* const levels = workspace.levels.data();
  if (cost == Cost::manhattan && hit.score < std::numeric_limits<std::uint16_t>::max()) {
    std::uint16_t* const cells = begin_cells(workspace.narrow, columns);
    HWY_DYNAMIC_DISPATCH(PathCellsNarrow)(query, levels, columns, cells);
    return hit.column - columns_to(cells, columns, hit.score);
  }
  std::uint32_t* const cells = begin_cells(workspace.wide, columns);
  if (cost == Cost::manhattan)
    HWY_DYNAMIC_DISPATCH(PathCellsManhattan)(query, levels, columns, cells);
  else
    HWY_DYNAMIC_DISPATCH(PathCellsSquared)(query, levels, columns, cells);
  return hit.column - columns_to(cells, columns, hit.score);
}

}  // namespace sluice::sdtw
#endif  // HWY_ONCE
