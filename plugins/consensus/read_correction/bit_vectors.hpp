// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs with 64 rows of the matrix in a word: Myers, JACM 1999, in the form of Hyyro 2003, with the path.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "read_correction/path_runs.hpp"

namespace sluice::read_correction {

class BitVectors {
 public:
  // Letters that are not the same differ in their lowest three bits. The pattern need not stay alive. Memory is kept from one call to the next.
  void set_pattern(std::string_view pattern);

  // The differences of the whole pattern and the whole text. Keeps 16 bytes per 64 rows and column for path().
  std::int32_t align(std::string_view text);
  // Of the last align(), from the first letters to the last.
  void path(std::vector<PathRun>& runs) const;

  // The prefix of the text with the fewest differences from the whole pattern.
  BestPrefix best_prefix(std::string_view text);

  std::size_t bytes() const { return columns_.capacity() * sizeof(Column) + equal_.capacity() * sizeof(equal_[0]); }

 private:
  // 64 rows of a column: where the score is one more than in the row above, and one more than in the column before.
  struct Column {
    std::uint64_t more_than_above, more_than_left;
  };
  struct Block {
    std::uint64_t plus, minus;  // vertical differences
  };
  template <class Finished>
  void fill(std::string_view text, Finished&& finished);

  std::int32_t rows_ = 0;
  std::size_t blocks_ = 0;
  std::vector<std::uint8_t> text_;                   // lowest three bits
  std::vector<std::array<std::uint64_t, 8>> equal_;  // per block and letter: rows with that letter
  std::vector<Block> state_;
  std::vector<Column> columns_;  // of column j, block b at (j - 1) * blocks_ + b
};

}  // namespace sluice::read_correction
