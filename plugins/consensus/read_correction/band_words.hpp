// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The words of banded_alignments.hpp for one sequence (text), in a band of 32 or of 128 diagonals.
//
// Bit b at column j (after j letters of the pattern) stands for b - middle more letters of the text.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <sluice/host_device.hpp>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {

inline constexpr std::int32_t band_word_bits = 32;
using NarrowWord = std::uint32_t;
__extension__ using WideWord = unsigned __int128;

SLUICE_HOST_DEVICE inline std::int32_t count_ones(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  return std::popcount(word);
#endif
}
// From the highest bit on.
SLUICE_HOST_DEVICE inline std::int32_t leading_ones(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __clz(static_cast<int>(~word));
#else
  return std::countl_one(word);
#endif
}
SLUICE_HOST_DEVICE inline std::int32_t leading_ones(WideWord word) {
  std::int32_t ones = 0, of_part = band_word_bits;
  for (std::int32_t first = 96; first >= 0 && of_part == band_word_bits; first -= band_word_bits)
    ones += of_part = leading_ones(static_cast<std::uint32_t>(word >> first));
  return ones;
}
// 32 bits of high:low, from bit `first` on; 0 <= first < 32.
SLUICE_HOST_DEVICE inline std::uint32_t bits_from(std::uint32_t low, std::uint32_t high, std::int32_t first) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, static_cast<unsigned int>(first));
#else
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(high) << 32 | low) >> first);
#endif
}

// Of 32 letters: the three bits of each one's code, which is below 5. No letter: 7, which equals none.
struct LetterBits {
  static constexpr std::uint32_t planes = 3, no_letter = 7;
  std::uint32_t plane[planes] = {};
};

// Of letters[first] to letters[first + 31], by a team (window_vote.hpp). There are `length`; first may be negative.
template <class Team>
SLUICE_HOST_DEVICE LetterBits letter_bits(Team& team, const char* letters, std::int32_t length, std::int32_t first) {
  LetterBits bits;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(band_word_bits); i += team.size()) {
    const std::int32_t place = first + static_cast<std::int32_t>(i + team.rank());
    const std::uint32_t code = place >= 0 && place < length ? nucleotide_code(letters[place]) : LetterBits::no_letter;
    for (std::uint32_t plane = 0; plane < LetterBits::planes; ++plane) bits.plane[plane] |= team.ballot((code >> plane & 1U) != 0) << i;
  }
  return bits;
}

// Of a thread's text, behind `padding` places without a letter: words of all threads side by side.
class LetterPlanes {
 public:
  static constexpr std::int32_t padding = 64;
  // Of each plane, for a pattern of so many letters, 1 at least.
  static constexpr std::int32_t words(std::int32_t columns) { return (columns - 1) / band_word_bits + 5; }
  static constexpr std::size_t all_words(std::int32_t columns) { return static_cast<std::size_t>(words(columns)) * LetterBits::planes; }

  SLUICE_HOST_DEVICE LetterPlanes(std::uint32_t* words, std::uint32_t threads, std::uint32_t rank) : words_(words + rank), threads_(threads) {}
  SLUICE_HOST_DEVICE void set(std::int32_t word, const LetterBits& bits) {
    for (std::uint32_t plane = 0; plane < LetterBits::planes; ++plane) words_[place(word, plane)] = bits.plane[plane];
  }
  SLUICE_HOST_DEVICE std::uint32_t get(std::int32_t word, std::uint32_t plane) const { return words_[place(word, plane)]; }
  // Of the first letter.
  SLUICE_HOST_DEVICE std::uint32_t first_code() const {
    constexpr std::int32_t word = padding / band_word_bits;
    return (get(word, 0) & 1U) | (get(word, 1) & 1U) << 1 | (get(word, 2) & 1U) << 2;
  }

 private:
  SLUICE_HOST_DEVICE std::size_t place(std::int32_t word, std::uint32_t plane) const {
    return (static_cast<std::size_t>(word) * LetterBits::planes + plane) * threads_;
  }
  std::uint32_t* words_;
  std::uint32_t threads_;
};

template <class Word>
struct BandOf {
  static constexpr std::int32_t bits = sizeof(Word) * 8, middle = bits / 2;
  // Whether the end of a text that is so much longer than its pattern is in the band, and at which bit.
  static constexpr bool has(std::int32_t longer) { return longer >= -middle && longer < bits - middle; }
  static constexpr std::int32_t bit_of(std::int32_t longer) { return longer + middle; }
  // Whether neither the path nor another one of as few differences leaves the band: there and back takes bits - middle above, middle + 1 below.
  static constexpr bool holds(std::int32_t differences, std::int32_t longer) {
    return differences + longer < 2 * (bits - middle) && differences - longer < 2 * (middle + 1);
  }
};

// Of the 32 columns of word `word` of the pattern: the text's letters in the band.
template <class Word>
class BandLetters {
 public:
  SLUICE_HOST_DEVICE BandLetters(const LetterPlanes& planes, std::int32_t word) {
    constexpr std::int32_t before = LetterPlanes::padding - BandOf<Word>::middle, shift = before % band_word_bits;
    for (std::uint32_t plane = 0; plane < LetterBits::planes; ++plane)
      for (std::int32_t i = 0; i <= parts; ++i) {
        const std::int32_t from = word + before / band_word_bits + i;
        part_[plane][i] = shift == 0 ? planes.get(from, plane) : bits_from(planes.get(from, plane), planes.get(from + 1, plane), shift);
      }
  }
  // Where the text has the pattern's letter.
  SLUICE_HOST_DEVICE Word equal(std::int32_t column, const LetterBits& pattern) const {
    Word equal = 0;
    for (std::int32_t i = parts - 1; i >= 0; --i) {
      std::uint32_t differs = 0;
      for (std::uint32_t plane = 0; plane < LetterBits::planes; ++plane)
        differs |= band(plane, i, column) ^ (0U - (pattern.plane[plane] >> column & 1U));
      equal |= static_cast<Word>(~differs) << (i * band_word_bits);
    }
    return equal;
  }
  SLUICE_HOST_DEVICE std::uint32_t code(std::int32_t column, std::int32_t bit) const {
    std::uint32_t code = 0;
    for (std::uint32_t plane = 0; plane < LetterBits::planes; ++plane)
      for (std::int32_t i = 0; i < parts; ++i)
        if (parts == 1 || bit / band_word_bits == i) code |= (band(plane, i, column) >> bit % band_word_bits & 1U) << plane;
    return code;
  }

 private:
  static constexpr std::int32_t parts = BandOf<Word>::bits / band_word_bits;
  SLUICE_HOST_DEVICE std::uint32_t band(std::uint32_t plane, std::int32_t i, std::int32_t column) const {
    return bits_from(part_[plane][i], part_[plane][i + 1], column);
  }
  std::uint32_t part_[LetterBits::planes][parts + 1];
};

// Of the cells of a column two bits each: 0 the letters are equal, 1 the pattern's letter is missing, 2 another letter, 3 a letter that the pattern
// lacks; the first that holds of 3, 1, 0 and 2.
template <class Word>
struct BandCells {
  Word low, high;
  // How many letters the pattern lacks on the path that comes to this bit. Of the lowest bit none is known.
  SLUICE_HOST_DEVICE std::int32_t inserted_down_from(std::int32_t bit) const {
    return leading_ones(static_cast<Word>((low & high) << (BandOf<Word>::bits - 1 - bit)));
  }
  SLUICE_HOST_DEVICE bool is_missing(std::int32_t bit) const { return (static_cast<std::uint32_t>(low >> bit) & 1U) != 0; }
  SLUICE_HOST_DEVICE bool is_other(std::int32_t bit) const { return (static_cast<std::uint32_t>(high >> bit) & 1U) != 0; }
};

template <class Word>
struct BandColumn {
  Word plus = ~Word{0} << BandOf<Word>::middle, minus = 0;  // where the next cell has one difference more, and less
  Word same_diagonal = 0;                                   // where a cell has as many as the one before both letters

  // The next column.
  SLUICE_HOST_DEVICE BandCells<Word> next(Word equal) {
    same_diagonal = (((equal & plus) + plus) ^ plus) | equal | minus;
    const Word more_than_left = minus | ~(same_diagonal | plus), less_than_left = same_diagonal & plus;
    const Word next_diagonal = same_diagonal >> 1;
    plus = less_than_left | ~(next_diagonal | more_than_left);
    minus = next_diagonal & more_than_left;
    const Word more_than_above = plus << 1;
    return {more_than_above | more_than_left, more_than_above | ~(same_diagonal | more_than_left)};
  }
};

}  // namespace sluice::read_correction
