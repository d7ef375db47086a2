// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs with 64 rows of the matrix in a word: Myers, JACM 1999, in the form of Hyyro 2003, with the path.
//
// Row i stands for i letters of the pattern, column j for j letters of the text. Backwards from the last cell the path prefers a letter of the text
// against a gap, then a letter of the pattern against a gap, then the diagonal, so that gaps lie as far right as they can: the same place for every
// text.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::read_correction {

enum class PathStep : std::uint8_t { diagonal, pattern_only, text_only };

class UnitCostAligner {
 public:
  // Letters other than A, C, G and T are equal to each other. The pattern need not stay alive. Memory is kept from one call to the next.
  void set_pattern(std::string_view pattern);

  // The edit distance of the whole pattern and the whole text. Keeps 16 bytes per 64 rows and column for path().
  std::int32_t align(std::string_view text);
  // The steps of the last align(), from the first letters to the last.
  void path(std::vector<PathStep>& steps) const;

  struct Prefix {
    std::int32_t distance = 0;
    std::int32_t letters = 0;  // of the text; the fewest of equally good ends
  };
  // The prefix of the text with the lowest edit distance to the whole pattern.
  Prefix best_prefix(std::string_view text);

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
  std::size_t text_letters_ = 0;
  std::vector<std::array<std::uint64_t, 5>> equal_;  // per block and letter: rows with that letter
  std::vector<Block> state_;
  std::vector<Column> columns_;  // of column j, block b at (j - 1) * blocks_ + b
};

}  // namespace sluice::read_correction
