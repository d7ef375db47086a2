// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Compiled once per instruction set and chosen at run time.

#include "read_correction/wavefront_lines.hpp"

#include <cstdlib>

// AVX3_DL adds nothing that these loops could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "read_correction/wavefront_lines.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::read_correction::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How many letters are equal from here on. As many at a time as there are lanes: how many are equal is not to be guessed.
HWY_INLINE std::int32_t equal_letters(const char* pattern, const char* text) {
  const hn::CappedTag<std::uint8_t, WavefrontMatrix::letters_at_once> tag;
  const auto letters_of = [tag](const char* letters) { return hn::LoadU(tag, reinterpret_cast<const std::uint8_t*>(letters)); };
  for (std::int32_t equal = 0;; equal += static_cast<std::int32_t>(hn::Lanes(tag))) {
    const auto first = static_cast<std::int32_t>(hn::FindFirstTrue(tag, letters_of(pattern + equal) != letters_of(text + equal)));
    if (first >= 0) return equal + first;
  }
}

// The furthest column of a diagonal, from the front of one difference less.
HWY_INLINE std::int32_t furthest(const WavefrontMatrix& matrix, const std::int32_t* before, std::int32_t diagonal) {
  const std::int32_t reached = std::max(std::max(before[diagonal - 1], before[diagonal]) + 1, before[diagonal + 1]);
  const std::int32_t column = std::min(std::min(reached, matrix.columns), matrix.rows + diagonal);
  return column + equal_letters(matrix.pattern + (column - diagonal), matrix.text + column);
}

// The end, on diagonal e, has d differences if a cell with one less on e - 1 to e + 1 leads there, which needs the cells with two less on e - 2 to e
// + 2, and so on. So each further difference takes the cells along two lines that lead away from the end, half as many as all fronts have.
std::int32_t FillLines(const WavefrontMatrix& given, std::int32_t max_distance, std::int32_t* reached) {
  const WavefrontMatrix matrix = given;
  const std::int32_t end = matrix.columns - matrix.rows;
  if (std::abs(end) > max_distance) return -1;
  const auto front = [reached](std::int32_t d) { return reached + place_in_fronts(d, 0); };
  for (std::int32_t d = 0; d < std::abs(end); ++d) set_borders(matrix, d, front(d));
  front(0)[0] = equal_letters(matrix.pattern, matrix.text);
  for (std::int32_t distance = std::abs(end); distance <= max_distance; ++distance) {
    set_borders(matrix, distance, front(distance));
    // Where the lines come into the fronts, and into the matrix.
    const std::int32_t above = std::max(std::max(1, (distance + end + 1) / 2), distance + end - matrix.columns);
    const std::int32_t below = std::max(std::max(1, (distance - end + 1) / 2), distance - end - matrix.rows);
    std::int32_t d = std::min(above, below);
    std::int32_t* now = front(d - 1);
    for (; d < distance; ++d) {
      const std::int32_t less = distance - d;
      const std::int32_t* const before = now;
      now += front_distance(d);
      if (d >= above) now[end + less] = furthest(matrix, before, end + less);
      if (d >= below) now[end - less] = furthest(matrix, before, end - less);
    }
    if (distance > 0) front(distance)[end] = furthest(matrix, front(distance - 1), end);
    if (front(distance)[end] == matrix.columns) return distance;
  }
  return -1;
}

}  // namespace sluice::read_correction::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::read_correction {

HWY_EXPORT(FillLines);

std::int32_t fill_lines(const WavefrontMatrix& matrix, std::int32_t max_distance, std::int32_t* reached) {
  return HWY_DYNAMIC_DISPATCH(FillLines)(matrix, max_distance, reached);
}

}  // namespace sluice::read_correction
#endif
