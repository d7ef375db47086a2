// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Rows of cells over one tile of columns, by vector instructions chosen at run time. Private to the plugin; column_tiles.hpp has the layout.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {

// 16-bit lanes of the vectors that are used on this machine.
std::int32_t vector_lanes();

template <class Cell>
struct TileRows {
  const std::int16_t* levels = nullptr;  // of the tile, halo included
  Cell* cells = nullptr;                 // of the tile, halo included: the row before in, the last row out
  std::int32_t stretch = 0;
  std::int32_t lanes = 0;
  std::span<const std::uint32_t> padding;
  std::span<const std::int16_t> query;
  // The last halo_columns cells of the tile before, for each block of rows (border_cells of them); null: nothing lies before.
  const Cell* border_in = nullptr;
  Cell* border_out = nullptr;  // the same for the next tile; may be border_in, or null
};

// Number of cells in a border of so many rows.
std::size_t border_cells(std::size_t rows);

// The lowest cell of a tile and where it is, lane * stretch + vector: of equal ones the first.
template <class Cell>
struct TileBest {
  Cell score = std::numeric_limits<Cell>::max();
  std::int64_t place = -1;
};

// Computes the rows of the query. Narrow cells: Manhattan cost only.
void advance_rows(const TileRows<std::uint16_t>& rows, Cost cost);
void advance_rows(const TileRows<std::uint32_t>& rows, Cost cost);

// `below`: look no further unless a cell is less than this.
TileBest<std::uint16_t> best_of_tile(const TileRows<std::uint16_t>& rows, std::uint16_t below);
TileBest<std::uint32_t> best_of_tile(const TileRows<std::uint32_t>& rows, std::uint32_t below);

}  // namespace sluice::sdtw
