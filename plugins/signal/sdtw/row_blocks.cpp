// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The recurrence over blocks of rows, compiled once per instruction set and chosen at run time. column_tiles.hpp draws the layout.

#include "sdtw/row_blocks.hpp"

#include <algorithm>
#include <cstring>

#include "sdtw/column_tiles.hpp"

// AVX3_DL adds nothing that this loop could use, SSSE3 lacks the unsigned minimum; vectors of unknown length can't be members of a struct.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdtw/row_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::sdtw::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr std::size_t narrow_lanes = 32;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t narrow_lanes = 16;
#elif HWY_TARGET == HWY_SCALAR
constexpr std::size_t narrow_lanes = 1;
#else
constexpr std::size_t narrow_lanes = 8;
#endif
// Wide cells of a vector of narrow ones take this many vectors.
constexpr std::size_t wide_lanes = narrow_lanes > 1 ? narrow_lanes / 2 : 1;
constexpr std::size_t wide_parts = narrow_lanes / wide_lanes;

// How cells of one width are loaded, and what a difference of levels costs.
struct Narrow {
  using Cell = std::uint16_t;
  using CellTag = hn::FixedTag<std::uint16_t, narrow_lanes>;
  using LevelTag = hn::FixedTag<std::int16_t, narrow_lanes>;
  static constexpr std::size_t lanes = narrow_lanes;
  static constexpr std::size_t parts = 1;
  static HWY_INLINE hn::Vec<LevelTag> LoadLevels(const std::int16_t* from) { return hn::Load(LevelTag(), from); }
  static HWY_INLINE hn::Vec<CellTag> CostOf(hn::Vec<LevelTag> query, hn::Vec<LevelTag> level) {
    return hn::BitCast(CellTag(), hn::Abs(hn::Sub(query, level)));
  }
};

template <Cost cost>
struct Wide {
  using Cell = std::uint32_t;
  using CellTag = hn::FixedTag<std::uint32_t, wide_lanes>;
  using LevelTag = hn::FixedTag<std::int32_t, wide_lanes>;
  static constexpr std::size_t lanes = wide_lanes;
  static constexpr std::size_t parts = wide_parts;
  static HWY_INLINE hn::Vec<LevelTag> LoadLevels(const std::int16_t* from) {
    return hn::PromoteTo(LevelTag(), hn::Load(hn::FixedTag<std::int16_t, wide_lanes>(), from));
  }
  static HWY_INLINE hn::Vec<CellTag> CostOf(hn::Vec<LevelTag> query, hn::Vec<LevelTag> level) {
    const auto difference = hn::Sub(query, level);
    return hn::BitCast(CellTag(), cost == Cost::manhattan ? hn::Abs(difference) : hn::Mul(difference, difference));
  }
};

// `rows` rows of one column in registers: each keeps its query level and the cell above-left of the next column. A recursion instead of arrays,
// because compilers keep the members of such a struct in registers at any level of optimisation.
template <class Width, int rows>
struct RowChain {
  using CellVector = hn::Vec<typename Width::CellTag>;
  using LevelVector = hn::Vec<typename Width::LevelTag>;

  HWY_INLINE RowChain(const std::int16_t* query, CellVector unreachable)
      : query_level(hn::Set(typename Width::LevelTag(), *query)), diagonal(unreachable), below(query + 1, unreachable) {}
  HWY_INLINE CellVector Advance(CellVector above, LevelVector level) {
    const CellVector cell = hn::Add(Width::CostOf(query_level, level), hn::Min(above, diagonal));
    diagonal = above;
    return below.Advance(cell, level);
  }

  LevelVector query_level;
  CellVector diagonal;
  RowChain<Width, rows - 1> below;
};
template <class Width>
struct RowChain<Width, 0> {
  using CellVector = hn::Vec<typename Width::CellTag>;
  HWY_INLINE RowChain(const std::int16_t*, CellVector) {}
  HWY_INLINE CellVector Advance(CellVector above, hn::Vec<typename Width::LevelTag>) { return above; }
};

enum class Clamp : bool { no, yes };

template <class Width, int rows, Clamp clamp>
HWY_NOINLINE void PassOverTile(const TileRows<typename Width::Cell>& tile, const std::int16_t* query) {
  const typename Width::CellTag d;
  const auto ceiling = hn::Set(d, CellLimits<typename Width::Cell>::ceiling);
  const auto vectors = static_cast<std::size_t>(tile.stretch + rows);
  for (std::size_t part = 0; part < Width::parts; ++part) {
    // A block of fewer rows needs less of the halo.
    const std::size_t first = static_cast<std::size_t>(halo_columns - rows) * narrow_lanes + part * Width::lanes;
    const std::int16_t* HWY_RESTRICT levels = tile.levels + first;
    typename Width::Cell* HWY_RESTRICT cells = tile.cells + first;
    RowChain<Width, rows> chain(query, ceiling);
    for (std::size_t p = 0; p < vectors; ++p) {
      auto above = hn::Load(d, cells + p * narrow_lanes);
      if (clamp == Clamp::yes) above = hn::Min(above, ceiling);
      hn::Store(chain.Advance(above, Width::LoadLevels(levels + p * narrow_lanes)), d, cells + p * narrow_lanes);
    }
  }
}

template <class Cell>
HWY_INLINE void ResetPadding(const TileRows<Cell>& tile) {
  Cell* const columns = tile.cells + halo_columns * narrow_lanes;
  for (const std::uint32_t place : tile.padding) columns[place] = CellLimits<Cell>::ceiling;
}

// Copies the last columns of each lane ahead of the next lane, those of the last lane to border_out, and border_in ahead of the first lane.
template <class Cell>
HWY_INLINE void ExchangeHalo(const TileRows<Cell>& tile, std::size_t border) {
  const Cell* const last = tile.cells + static_cast<std::size_t>(tile.stretch) * narrow_lanes;  // halo_columns before the end
  for (std::size_t h = 0; h < static_cast<std::size_t>(halo_columns); ++h) {
    Cell* const halo = tile.cells + h * narrow_lanes;
    const Cell* const from = last + h * narrow_lanes;
    std::memmove(halo + 1, from, (narrow_lanes - 1) * sizeof(Cell));
    halo[0] = tile.border_in != nullptr ? tile.border_in[border + h] : CellLimits<Cell>::ceiling;
    if (tile.border_out != nullptr) tile.border_out[border + h] = from[narrow_lanes - 1];
  }
}

template <class Width>
HWY_INLINE void AdvanceTile(const TileRows<typename Width::Cell>& tile) {
  using Cell = typename Width::Cell;
  const std::size_t count = tile.query.size();
  std::size_t border = 0;
  for (std::size_t row = 0; row < count; border += halo_columns) {
    ResetPadding(tile);
    ExchangeHalo(tile, border);
    const std::int16_t* const query = tile.query.data() + row;
    const std::size_t left = count - row;
    if constexpr (std::is_same_v<Cell, std::uint16_t>) {
      if (row % CellLimits<Cell>::rows_between_clamps == 0) {
        if (left >= 8)
          PassOverTile<Width, 8, Clamp::yes>(tile, query), row += 8;
        else if (left >= 4)
          PassOverTile<Width, 4, Clamp::yes>(tile, query), row += 4;
        else
          PassOverTile<Width, 1, Clamp::yes>(tile, query), row += 1;
        continue;
      }
    }
    if (left >= 8)
      PassOverTile<Width, 8, Clamp::no>(tile, query), row += 8;
    else if (left >= 4)
      PassOverTile<Width, 4, Clamp::no>(tile, query), row += 4;
    else if (left >= 2)
      PassOverTile<Width, 2, Clamp::no>(tile, query), row += 2;
    else
      PassOverTile<Width, 1, Clamp::no>(tile, query), row += 1;
  }
  ResetPadding(tile);
}

template <class Width>
HWY_INLINE TileBest<typename Width::Cell> BestOfTile(const TileRows<typename Width::Cell>& tile, typename Width::Cell below) {
  using Cell = typename Width::Cell;
  const typename Width::CellTag d;
  const Cell* const columns = tile.cells + halo_columns * narrow_lanes;
  const std::size_t size = static_cast<std::size_t>(tile.stretch) * narrow_lanes;
  auto lowest = hn::Load(d, columns);
  for (std::size_t at = 0; at < size; at += Width::lanes) lowest = hn::Min(lowest, hn::Load(d, columns + at));
  HWY_ALIGN Cell lane_lowest[Width::lanes];
  hn::Store(lowest, d, lane_lowest);
  const Cell best = *std::min_element(lane_lowest, lane_lowest + Width::lanes);
  if (best >= below) return {};
  TileBest<Cell> result{best, std::numeric_limits<std::int64_t>::max()};
  const auto target = hn::Set(d, best);
  for (std::size_t at = 0; at < size; at += Width::lanes) {
    if (hn::AllFalse(d, hn::Eq(hn::Load(d, columns + at), target))) continue;
    for (std::size_t lane = 0; lane < Width::lanes; ++lane)
      if (columns[at + lane] == best)
        result.place = std::min(result.place,
                                static_cast<std::int64_t>((at + lane) % narrow_lanes) * tile.stretch + static_cast<std::int64_t>(at / narrow_lanes));
  }
  return result;
}

std::int32_t VectorLanes() { return static_cast<std::int32_t>(narrow_lanes); }
void AdvanceNarrow(const TileRows<std::uint16_t>& tile) { AdvanceTile<Narrow>(tile); }
void AdvanceWide(const TileRows<std::uint32_t>& tile, Cost cost) {
  if (cost == Cost::manhattan)
    AdvanceTile<Wide<Cost::manhattan>>(tile);
  else
    AdvanceTile<Wide<Cost::squared>>(tile);
}
TileBest<std::uint16_t> BestNarrow(const TileRows<std::uint16_t>& tile, std::uint16_t below) { return BestOfTile<Narrow>(tile, below); }
TileBest<std::uint32_t> BestWide(const TileRows<std::uint32_t>& tile, std::uint32_t below) { return BestOfTile<Wide<Cost::manhattan>>(tile, below); }

}  // namespace sluice::sdtw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::sdtw {

HWY_EXPORT(VectorLanes);
HWY_EXPORT(AdvanceNarrow);
HWY_EXPORT(AdvanceWide);
HWY_EXPORT(BestNarrow);
HWY_EXPORT(BestWide);

std::int32_t vector_lanes() { return HWY_DYNAMIC_DISPATCH(VectorLanes)(); }

std::size_t border_cells(std::size_t rows) {
  // Blocks of 8 rows; what is left takes at most four blocks (4, 1, 1, 1 when the cells are clamped first; else 4, 2, 1).
  return (rows / halo_columns + 7) * halo_columns;
}

void advance_rows(const TileRows<std::uint16_t>& rows, Cost) { HWY_DYNAMIC_DISPATCH(AdvanceNarrow)(rows); }
void advance_rows(const TileRows<std::uint32_t>& rows, Cost cost) { HWY_DYNAMIC_DISPATCH(AdvanceWide)(rows, cost); }
TileBest<std::uint16_t> best_of_tile(const TileRows<std::uint16_t>& rows, std::uint16_t below) {
  return HWY_DYNAMIC_DISPATCH(BestNarrow)(rows, below);
}
TileBest<std::uint32_t> best_of_tile(const TileRows<std::uint32_t>& rows, std::uint32_t below) { return HWY_DYNAMIC_DISPATCH(BestWide)(rows, below); }

}  // namespace sluice::sdtw
#endif  // HWY_ONCE
