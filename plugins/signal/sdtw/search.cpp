// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/search.hpp"

#include <algorithm>
#include <type_traits>

#include "sdtw/row_blocks.hpp"

namespace sluice::sdtw {
namespace {

// Lowers `hit` to the best cell of a tile, if that is less.
template <class Cell>
void take_best(const ColumnTiles& tiles, std::int64_t tile, const TileRows<Cell>& rows, Hit& hit) {
  const TileBest<Cell> best = best_of_tile(rows, static_cast<Cell>(hit.score));
  if (best.place >= 0) hit = {best.score, tiles.column(tile, best.place)};
}

// A score that no path has, and that says by itself that narrow cells did not do.
template <class Cell>
constexpr Hit nothing_found{CellLimits<Cell>::ceiling, -1};

}  // namespace

std::int32_t Search::lanes() { return vector_lanes(); }

template <class Cell>
Hit Search::find_in_tiles(std::span<const std::int16_t> query, std::int64_t first_tile, std::int64_t counted_tile, std::int64_t end_tile,
                          Workspace& workspace) const {
  AlignedArray<Cell>*cells = nullptr, *border = nullptr;
  if constexpr (std::is_same_v<Cell, std::uint16_t>)
    cells = &workspace.narrow_cells, border = &workspace.narrow_border;
  else
    cells = &workspace.wide_cells, border = &workspace.wide_border;
  cells->start(tiles_.tile_size());
  border->start(border_cells(query.size()));
  Hit hit = nothing_found<Cell>;
  for (std::int64_t tile = first_tile; tile < end_tile; ++tile) {
    tiles_.begin(tile, cells->data());
    const TileRows<Cell> rows{tiles_.tile_levels(tile),
                              cells->data(),
                              tiles_.stretch(),
                              tiles_.lanes(),
                              tiles_.tile_padding(tile),
                              query,
                              tile > first_tile ? border->data() : nullptr,
                              tile + 1 < end_tile ? border->data() : nullptr};
    advance_rows(rows, method_.cost);
    if (tile >= counted_tile) take_best(tiles_, tile, rows, hit);
  }
  return hit;
}

SearchResult Search::find_scalar(std::span<const std::int16_t> query, Workspace& workspace) const {
  if (!workspace.scalar) workspace.scalar.emplace(*reference_, method_);
  workspace.scalar->restart();
  workspace.scalar->advance(query);
  const Hit hit = workspace.scalar->best();
  return {hit, workspace.scalar->first_column(hit.column), CellWidth::wide};
}

SearchResult Search::find(std::span<const std::int16_t> query, PathStart start, Workspace& workspace) const {
  const SearchResult whole = find_part(query, 0, 1, workspace);
  return join_parts(query, {&whole, 1}, start, workspace);
}

std::size_t Search::useful_parts(std::size_t query_levels, std::size_t wanted) const {
  if (method_.deletions == ReferenceDeletions::allowed || tiles_.tiles() == 0) return 1;
  const std::int64_t tile_columns = std::int64_t{tiles_.lanes()} * tiles_.stretch();
  const std::int64_t early = (static_cast<std::int64_t>(query_levels) + tile_columns - 1) / tile_columns;
  // What a part computes for its beginning only should be less than a tenth of it.
  const std::int64_t most = tiles_.tiles() / std::max<std::int64_t>(1, 10 * early);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(most, 1, static_cast<std::int64_t>(std::max<std::size_t>(1, wanted))));
}

SearchResult Search::find_part(std::span<const std::int16_t> query, std::size_t part, std::size_t parts, Workspace& workspace) const {
  if (query.empty() || tiles_.tiles() == 0) return {};
  if (method_.deletions == ReferenceDeletions::allowed) return find_scalar(query, workspace);
  const auto tile_of = [&](std::size_t p) { return tiles_.tiles() * static_cast<std::int64_t>(p) / static_cast<std::int64_t>(parts); };
  const std::int64_t tile_columns = std::int64_t{tiles_.lanes()} * tiles_.stretch();
  const std::int64_t early = (static_cast<std::int64_t>(query.size()) + tile_columns - 1) / tile_columns;
  const std::int64_t counted = tile_of(part), first = std::max<std::int64_t>(0, counted - early), end = tile_of(part + 1);
  if (narrow_cells_fit()) return {find_in_tiles<std::uint16_t>(query, first, counted, end, workspace), -1, CellWidth::narrow};
  return {find_in_tiles<std::uint32_t>(query, first, counted, end, workspace), -1, CellWidth::wide};
}

SearchResult Search::join_parts(std::span<const std::int16_t> query, std::span<const SearchResult> parts, PathStart start,
                                Workspace& workspace) const {
  if (query.empty() || tiles_.tiles() == 0) return {};
  SearchResult result = parts.front();
  // Parts are in the order of columns: of equal scores the first one counts.
  for (const SearchResult& part : parts)
    if (part.hit.score < result.hit.score) result = part;
  if (method_.deletions == ReferenceDeletions::allowed) return result;
  if (result.width == CellWidth::narrow && result.hit.column < 0)
    result = {find_in_tiles<std::uint32_t>(query, 0, 0, tiles_.tiles(), workspace), -1, CellWidth::wide};
  if (start == PathStart::wanted) result.first_column = path_start(*reference_, query, result.hit, method_.cost, workspace.path);
  return result;
}

}  // namespace sluice::sdtw
