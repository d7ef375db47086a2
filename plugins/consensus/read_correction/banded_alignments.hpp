// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Many short sequences (texts) aligned at unit costs to one pattern at once: a sequence in each lane of a vector, and of each its bit vectors along a
// band of diagonals (Myers, JACM 1999, in the banded form of Hyyro, Nordic Journal of Computing 2003). The paths are those of path_runs.hpp.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "read_correction/path_runs.hpp"

namespace sluice::read_correction {

// What the vectors work on. Bit b of a word at column j (after j letters of the pattern) stands for b - middle more letters of the text. Per text,
// side by side: `stride` texts, a multiple of most_lanes, of which those behind the last are of no meaning.
struct BandedTexts {
  static constexpr std::size_t word_bits = 32, most_lanes = 16, letters = 5;
  static constexpr std::uint32_t most_differences = 64;
  static constexpr std::int32_t middle = 16;

  std::string_view pattern;           // codes below `letters`
  std::size_t stride = 0, words = 0;  // words: of 32 columns, of each letter and text
  std::span<std::uint32_t> equal;     // [letter][word][text]: where the text has the letter, `middle` bits further on
  std::span<std::int32_t> end_bit;    // [text]: the bit of its end at the last column
  std::span<std::uint32_t> cells;     // of two vectors: working memory
  std::span<std::uint32_t> steps;     // [word][3][text]: columns whose letter is missing, is another one, comes before letters that the pattern lacks
  std::span<std::uint32_t> place;     // [column, and 0][text]: the bit at which the path comes to the column
  std::span<std::uint32_t> differences;  // [text]: of its path; above most_differences: the path is of no meaning
};

class BandedAlignments {
 public:
  // Of a pattern: columns that are worth it, as a band of 32 diagonals holds about 30 differences.
  static constexpr std::size_t most_columns = 320;

  // Aligns all texts to the pattern. Letters are codes below 5; each text is followed as Wavefronts::align_padded() wants it. Neither need stay
  // alive.
  void align(std::string_view pattern, std::span<const std::string_view> texts);
  // Whether the path of a text is known: it may leave the band, or have three letters of the text in a row that the pattern lacks.
  bool has(std::size_t text) const { return is_known_[text] != 0; }
  // A path, while its alignment is the last one.
  class Path {
   public:
    // Of 64 letters of the pattern, a bit each: the text lacks it; it has another one; it has letters behind it that the pattern lacks.
    struct Differences {
      std::uint64_t missing, others, inserted_behind;
    };
    // From letter 64 * word on; 0 <= word < words().
    Differences differences(std::size_t word) const {
      const std::uint32_t* const kinds = steps_ + word * 6 * stride_;
      const auto both = [&](std::size_t kind) {
        return kinds[kind * stride_] | std::uint64_t{kinds[(kind + 3) * stride_]} << BandedTexts::word_bits;
      };
      return {both(0), both(1), both(2)};
    }
    std::size_t words() const { return (rows_ + 63) / 64; }
    // Letters of the pattern.
    std::size_t rows() const { return rows_; }
    // How many letters of the text belong to those of the pattern before `row`, or lie between them.
    std::size_t letters_before(std::size_t row) const { return row + place_[row * stride_] - BandedTexts::middle; }
    // From the end, as Wavefronts::walk_back() has it.
    template <class Steps>
    void walk_back(Steps&& steps) const;

   private:
    friend class BandedAlignments;
    const std::uint32_t *steps_, *place_;
    std::size_t stride_, rows_;
  };
  // Only if has(text).
  Path path(std::size_t text) const {
    Path path;
    path.steps_ = steps_.data() + text;
    path.place_ = place_.data() + text;
    path.stride_ = stride_;
    path.rows_ = columns_;
    return path;
  }

  std::size_t bytes() const { return (equal_.capacity() + cells_.capacity() + steps_.capacity() + place_.capacity()) * sizeof(std::uint32_t); }

 private:
  std::size_t columns_ = 0, stride_ = 0;
  std::vector<std::uint32_t> equal_, cells_, steps_, place_, differences_;
  std::vector<std::int32_t> end_bit_;
  std::vector<std::uint8_t> is_known_;
};

template <class Steps>
void BandedAlignments::Path::walk_back(Steps&& steps) const {
  auto row = static_cast<std::int32_t>(rows_), column = static_cast<std::int32_t>(letters_before(rows_));
  const auto equal_down_to = [&](std::int32_t end) {
    column -= row - end;
    steps.equal(end, column, row - end);
    row = end;
  };
  const auto inserted_down_to = [&](std::int32_t end) {
    while (column > end) steps.difference(row, --column, PathStep::text_only);
  };
  for (std::size_t word = words(); word-- > 0;) {
    const auto [missing, others, inserted_behind] = differences(word);
    for (std::uint64_t left = missing | others | inserted_behind; left != 0;) {
      const auto bit = static_cast<std::uint32_t>(std::bit_width(left)) - 1;
      left ^= std::uint64_t{1} << bit;
      const bool is_missing = (missing >> bit & 1U) != 0, is_other = (others >> bit & 1U) != 0;
      const auto base = static_cast<std::int32_t>(word * 64 + bit), before = static_cast<std::int32_t>(letters_before(word * 64 + bit));
      equal_down_to(base + 1);
      inserted_down_to(before + (is_missing ? 0 : 1));
      if (!is_missing && !is_other) continue;
      row = base;
      column = before;
      steps.difference(row, column, is_missing ? PathStep::pattern_only : PathStep::mismatch);
    }
  }
  equal_down_to(0);
  inserted_down_to(0);
}

}  // namespace sluice::read_correction
