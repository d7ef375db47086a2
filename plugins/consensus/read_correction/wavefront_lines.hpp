// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The wavefronts of an alignment from end to end, as far as they can be on the way to its end.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sluice::read_correction {

// Pattern and text, each with as many letters behind it that equal nothing as are compared at a time.
struct WavefrontMatrix {
  static constexpr std::size_t letters_at_once = 64;
  const char *pattern, *text;
  std::int32_t rows, columns;
};

// Of d differences there are diagonals -d to d (column less row), with two of a border on each side, for the next front to look at. Values are
// columns.
constexpr std::size_t place_in_fronts(std::int32_t differences, std::int32_t diagonal) {
  return static_cast<std::size_t>(std::int64_t{differences} * (differences + 4) + diagonal + differences + 2);
}
// From a front's diagonal 0 back to that of the front before it.
constexpr std::ptrdiff_t front_distance(std::int32_t differences) { return 2 * std::ptrdiff_t{differences} + 4; }
static_assert(place_in_fronts(7, 0) - place_in_fronts(6, 0) == front_distance(7));
inline constexpr std::int32_t not_reached = -(1 << 30);

// Diagonals that a front can be on.
struct FrontDiagonals {
  FrontDiagonals(const WavefrontMatrix& matrix, std::int32_t differences)
      : lowest(std::max(-differences, -matrix.rows)), highest(std::min(differences, matrix.columns)) {}
  std::int32_t lowest, highest;
};
// Sets those that it is not on; front: its diagonal 0.
inline void set_borders(const WavefrontMatrix& matrix, std::int32_t differences, std::int32_t* front) {
  const FrontDiagonals diagonals(matrix, differences);
  std::fill(front - differences - 2, front + diagonals.lowest, not_reached);
  std::fill(front + diagonals.highest + 1, front + differences + 3, not_reached);
}

// The differences of the whole pattern and the whole text, -1: more than max_distance. Fills what a path to the end can be on: of d differences the
// diagonals that lie no further from the end's than the differences that are left. reached: room for the fronts up to max_distance.
std::int32_t fill_lines(const WavefrontMatrix& matrix, std::int32_t max_distance, std::int32_t* reached);

}  // namespace sluice::read_correction
