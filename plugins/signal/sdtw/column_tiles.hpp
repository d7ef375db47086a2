// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The layout in which the columns of a reference are compared with a query by vector instructions. Private to the plugin.
//
// Columns lie in tiles that stay in the nearest cache; a tile is cut into as many equal stretches as a vector has lanes, and lane l holds the l-th
// stretch. Vector p has the p-th column of every stretch, so that the neighbour on the left, D[i-1][j-1], is the same lane of the vector before: no
// shift of lanes, and no dependency within a vector. Ahead of each stretch lie the `halo_columns` columns before it, copied from the lane before
// (or the tile before) for every block of rows; a block of up to that many rows computes them again and so needs nothing else from its neighbour.
//
// Behind each segment lie halo_columns columns of padding, set to `unreachable` before every block of rows: what runs into them from the left in one
// block can't reach their other end.

#include <cstddef>
#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <span>
#include <vector>

#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {

inline constexpr std::int32_t halo_columns = 8;  // also the most rows that a pass over a tile computes

// Memory that vectors can load from.
template <class T>
using AlignedArray = KeptBuffer<T>;

// Cells of a row as kept between blocks of rows.
//
// Narrow cells (16 bits) are clamped at `ceiling` every rows_between_clamps rows. Costs are not negative, so v = min(cost + least predecessor,
// ceiling) obeys: v <= D, and where v < ceiling, v = D (a cell below the ceiling has its least predecessor below the ceiling, which is exact, and the
// other predecessor, exact or not, is not less than that one). So a best score below the ceiling is exact, and so is its column; else the query is
// computed again with wide cells (32 bits), which hold every score of a query of at most longest_query levels.
template <class Cell>
struct CellLimits;
template <>
struct CellLimits<std::uint16_t> {
  static constexpr std::int32_t rows_between_clamps = 32;
  static constexpr std::uint16_t ceiling = 65535 - rows_between_clamps * 2 * squiggle_limit;
};
template <>
struct CellLimits<std::uint32_t> {
  static constexpr std::uint32_t ceiling = std::uint32_t{1} << 31;
};

class ColumnTiles {
 public:
  // For vectors of `lanes` 16-bit lanes.
  ColumnTiles(const Reference& reference, std::int32_t lanes);

  std::int32_t lanes() const { return lanes_; }
  std::int32_t stretch() const { return stretch_; }  // columns of a lane in a tile, at least halo_columns
  std::int64_t tiles() const { return tiles_; }
  // Elements of a tile with its halo: (halo_columns + stretch) vectors.
  std::size_t tile_size() const { return static_cast<std::size_t>(halo_columns + stretch_) * static_cast<std::size_t>(lanes_); }
  // Elements of the halo, which comes first.
  std::size_t halo_size() const { return static_cast<std::size_t>(halo_columns) * static_cast<std::size_t>(lanes_); }
  const std::int16_t* tile_levels(std::int64_t tile) const { return levels_.data() + static_cast<std::size_t>(tile) * tile_size(); }
  // Padding of a tile: places behind its halo.
  std::span<const std::uint32_t> tile_padding(std::int64_t tile) const {
    const auto t = static_cast<std::size_t>(tile);
    return {padding_.data() + padding_begin_[t], padding_begin_[t + 1] - padding_begin_[t]};
  }
  // Sets a tile's cells to those before the first row.
  template <class Cell>
  void begin(std::int64_t tile, Cell* cells) const;
  // The column of the reference at lane * stretch + vector of a tile.
  std::int64_t column(std::int64_t tile, std::int64_t place) const;

 private:
  std::int32_t lanes_, stretch_ = 0;
  std::int64_t tiles_ = 0, laid_out_ = 0;    // columns with padding
  std::vector<std::int64_t> segment_place_;  // of the first column of each segment, among all columns with padding
  std::vector<std::int64_t> segment_column_;
  std::vector<std::uint32_t> padding_;
  std::vector<std::size_t> padding_begin_;
  AlignedArray<std::int16_t> levels_;
};

}  // namespace sluice::sdtw
