// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs of the stretches between two anchors, of which there are several for each hundred bases of each read: bit vectors of one
// word along a band of 64 diagonals (Myers, JACM 1999, in the banded form of Hyyro, Nordic Journal of Computing 2003).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "read_correction/packed_bases.hpp"

namespace sluice::read_correction {

class StretchAlignment {
 public:
  static constexpr std::int32_t most_letters = 512, band = 64, middle = band / 2;

  static bool has_room(std::int32_t pattern_letters, std::int32_t text_letters) {
    return std::max(pattern_letters, text_letters) <= most_letters && std::abs(pattern_letters - text_letters) < middle;
  }
  // Whether no path with so many differences leaves the band.
  static bool is_in_band(std::int32_t pattern_letters, std::int32_t text_letters, std::int32_t differences) {
    return differences + std::abs(pattern_letters - text_letters) < band - 1;
  }
  // The differences of the whole pattern and the whole text if is_in_band() of them or of the result, else at least so many. Only if has_room().
  // Letters that are not the same differ in their lowest three bits. Neither need stay alive.
  std::int32_t align(std::string_view pattern, std::string_view text);
  // The same of bases [begin, begin + letters), without other letters.
  struct Part {
    const PackedBases& bases;
    std::int32_t begin, letters;
  };
  std::int32_t align(const Part& pattern, const Part& text);
  // Where the path (path_runs.hpp) of the last align(), if that is in the band, first comes to a row: letters of the text before it.
  // 0 < row <= pattern.size().
  std::int32_t letters_before(std::int32_t row) const;

 private:
  // Rows of column j, from j - middle on, where there is one difference more than in the column before, and than in the row above.
  struct Column {
    std::uint64_t more_than_left, more_than_above;
  };
  void clear_rows(std::size_t rows, std::size_t columns);
  // slot_of_next(): where the rows with the next letter of the text are.
  template <class SlotOfNext>
  std::int32_t fill_columns(std::size_t rows, std::size_t columns, SlotOfNext&& slot_of_next);

  std::array<Column, most_letters> columns_;
  std::array<std::array<std::uint64_t, 8>, (most_letters + band) / 64 + 2> rows_with_;  // per word and letter: rows, middle bits further on
  std::int32_t letters_ = 0, end_bit_ = 0;
};

}  // namespace sluice::read_correction
