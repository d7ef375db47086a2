// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sdtw/column_tiles.hpp"

#include <algorithm>
#include <limits>

namespace sluice::sdtw {
namespace {

// Columns of a lane in a tile: levels and narrow cells of 32 lanes are 32 KiB each, and the halo adds 1.6 % of work. 256 and 1,024 were within 3 % of
// it with AVX-512, 4,096 was slower where the second cache has 1 MiB.
constexpr std::int64_t largest_stretch = 512;

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

ColumnTiles::ColumnTiles(const Reference& reference, std::int32_t lanes) : lanes_(lanes) {
  for (const Segment& segment : reference.segments()) {
    segment_place_.push_back(laid_out_);
    segment_column_.push_back(segment.begin);
    laid_out_ += segment.size + halo_columns;
  }
  const std::int64_t needed = std::max<std::int64_t>(halo_columns, divided_up(laid_out_, lanes));
  tiles_ = laid_out_ == 0 ? 0 : divided_up(needed, largest_stretch);
  stretch_ = tiles_ == 0 ? halo_columns : static_cast<std::int32_t>(std::max<std::int64_t>(halo_columns, divided_up(laid_out_, lanes * tiles_)));

  const std::int64_t tile_columns = std::int64_t{lanes_} * stretch_;
  levels_.start(tile_size() * static_cast<std::size_t>(tiles_));
  std::fill(levels_.data(), levels_.data() + levels_.size(), std::int16_t{0});
  std::vector<std::vector<std::uint32_t>> padding(static_cast<std::size_t>(tiles_));
  const auto place_in_tile = [&](std::int64_t place) {  // behind the halo
    const std::int64_t within = place % tile_columns;
    return (within % stretch_) * lanes_ + within / stretch_;
  };
  const auto set_level = [&](std::int64_t place, std::int16_t level) {
    std::int16_t* const tile = levels_.data() + static_cast<std::size_t>(place / tile_columns) * tile_size() + halo_size();
    tile[place_in_tile(place)] = level;
    // The last columns of a stretch are the halo of the next one, in the next lane or at the beginning of the next tile.
    const std::int64_t vector = place % stretch_;
    if (vector < stretch_ - halo_columns) return;
    const std::int64_t next = (place / stretch_ + 1) * stretch_;
    if (next / tile_columns >= tiles_) return;
    std::int16_t* const next_tile = levels_.data() + static_cast<std::size_t>(next / tile_columns) * tile_size() + halo_size();
    next_tile[(vector - stretch_) * lanes_ + (next % tile_columns) / stretch_] = level;
  };
  for (std::size_t s = 0; s < reference.segments().size(); ++s) {
    const Segment& segment = reference.segments()[s];
    const std::span<const std::int16_t> level =
        reference.levels().subspan(static_cast<std::size_t>(segment.begin), static_cast<std::size_t>(segment.size));
    for (std::size_t i = 0; i < level.size(); ++i) set_level(segment_place_[s] + static_cast<std::int64_t>(i), level[i]);
    for (std::int64_t place = segment_place_[s] + segment.size; place < segment_place_[s] + segment.size + halo_columns; ++place)
      padding[static_cast<std::size_t>(place / tile_columns)].push_back(static_cast<std::uint32_t>(place_in_tile(place)));
  }
  padding_begin_.push_back(0);
  for (const auto& places : padding) {
    padding_.insert(padding_.end(), places.begin(), places.end());
    padding_begin_.push_back(padding_.size());
  }
}

template <class Cell>
void ColumnTiles::begin(std::int64_t tile, Cell* cells) const {
  constexpr Cell unreachable = CellLimits<Cell>::ceiling;
  std::fill(cells, cells + halo_size(), unreachable);
  Cell* const columns = cells + halo_size();
  std::fill(columns, cells + tile_size(), Cell{0});
  for (const std::uint32_t place : tile_padding(tile)) columns[place] = unreachable;
  // What is left of the last tile behind the last segment.
  const std::int64_t tile_columns = std::int64_t{lanes_} * stretch_;
  for (std::int64_t place = std::max<std::int64_t>(0, laid_out_ - tile * tile_columns); place < tile_columns; ++place)
    columns[(place % stretch_) * lanes_ + place / stretch_] = unreachable;
}
template void ColumnTiles::begin<std::uint16_t>(std::int64_t, std::uint16_t*) const;
template void ColumnTiles::begin<std::uint32_t>(std::int64_t, std::uint32_t*) const;

std::int64_t ColumnTiles::column(std::int64_t tile, std::int64_t place) const {
  const std::int64_t among_all = tile * lanes_ * stretch_ + place;
  const auto segment =
      static_cast<std::size_t>(std::upper_bound(segment_place_.begin(), segment_place_.end(), among_all) - segment_place_.begin()) - 1;
  return segment_column_[segment] + among_all - segment_place_[segment];
}

}  // namespace sluice::sdtw
