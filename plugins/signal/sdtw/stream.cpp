// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/row_blocks.hpp"
#include "sdtw/search.hpp"

namespace sluice::sdtw {

void Stream::restart() {
  query_.clear();
  computed_ = 0;
  width_ = CellWidth::narrow;
  hit_ = {};
}

void Stream::restart(Mark& mark) {
  if (!mark.forgotten) {
    query_.resize(mark.length);
    mark.query.swap(query_);
    mark.forgotten = true;
  }
  restart();
}

void Stream::undo(Mark&& mark) {
  const std::size_t computed = mark.forgotten ? 0 : computed_;
  if (mark.forgotten) query_ = std::move(mark.query);
  query_.resize(mark.length);
  if (computed <= mark.length && !mark.forgotten) return;
  computed_ = 0;
  width_ = CellWidth::narrow;
  hit_ = {};
}

template <class Cell>
Hit Stream::advance_cells(const Search& search, std::span<const std::int16_t> levels, AlignedArray<Cell>& cells, AlignedArray<Cell>& border,
                          Beginning beginning) {
  const ColumnTiles& tiles = search.tiles();
  if (beginning == Beginning::fresh) cells.start(tiles.tile_size() * static_cast<std::size_t>(tiles.tiles()));
  border.start(border_cells(levels.size()));
  Hit hit{CellLimits<Cell>::ceiling, -1};
  for (std::int64_t tile = 0; tile < tiles.tiles(); ++tile) {
    Cell* const tile_cells = cells.data() + static_cast<std::size_t>(tile) * tiles.tile_size();
    if (beginning == Beginning::fresh) tiles.begin(tile, tile_cells);
    const TileRows<Cell> rows{tiles.tile_levels(tile),
                              tile_cells,
                              tiles.stretch(),
                              tiles.lanes(),
                              tiles.tile_padding(tile),
                              levels,
                              tile > 0 ? border.data() : nullptr,
                              tile + 1 < tiles.tiles() ? border.data() : nullptr};
    advance_rows(rows, search.method().cost);
    const TileBest<Cell> best = best_of_tile(rows, static_cast<Cell>(hit.score));
    if (best.place >= 0) hit = {best.score, tiles.column(tile, best.place)};
  }
  return hit;
}

void Stream::catch_up(const Search& search, Workspace& workspace) {
  if (computed_ == query_.size() || search.tiles().tiles() == 0) return;
  const std::span<const std::int16_t> chunk = query().subspan(computed_);
  const Beginning beginning = computed_ == 0 ? Beginning::fresh : Beginning::resumed;
  computed_ = query_.size();
  if (search.method().deletions == ReferenceDeletions::allowed) {
    if (!scalar_) scalar_.emplace(search.reference(), search.method());
    if (beginning == Beginning::fresh) scalar_->restart();
    scalar_->advance(chunk);
    hit_ = scalar_->best();
    return;
  }
  if (beginning == Beginning::fresh) width_ = search.method().cost == Cost::manhattan ? CellWidth::narrow : CellWidth::wide;
  if (width_ == CellWidth::narrow) {
    hit_ = advance_cells(search, chunk, narrow_, workspace.narrow_border, beginning);
    if (hit_.column >= 0) return;
    // From here on with wide cells, and once from the beginning.
    width_ = CellWidth::wide;
    hit_ = advance_cells(search, query_, wide_, workspace.wide_border, Beginning::fresh);
    return;
  }
  hit_ = advance_cells(search, chunk, wide_, workspace.wide_border, beginning);
}

SearchResult Stream::result(const Search& search, Search::PathStart start, Workspace& workspace) const {
  SearchResult result{hit_, -1, width_};
  if (start == Search::PathStart::unwanted || hit_.column < 0) return result;
  result.first_column = search.method().deletions == ReferenceDeletions::allowed
                            ? scalar_->first_column(hit_.column)
                            : path_start(search.reference(), query_, hit_, search.method().cost, workspace.path);
  return result;
}

}  // namespace sluice::sdtw
