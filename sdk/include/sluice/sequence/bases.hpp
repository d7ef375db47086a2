// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters of nucleotide sequences. A base is a letter of the IUPAC code (Cornish-Bowden 1985, Nucleic Acids Research 13:3021) of either case: A, C,
// G, T, U for T, and R, Y, S, W, K, M, B, D, H, V, N for several bases. Everything else (X, '-', '.', '*', a digit) is none.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

// 2-bit code of a base, T and U 3, or 4 for anything but A, C, G, T and U of either case.
constexpr std::uint8_t nucleotide_code(char base) {
  switch (base & ~0x20) {
    case 'A':
      return 0;
    case 'C':
      return 1;
    case 'G':
      return 2;
    case 'T':
    case 'U':
      return 3;
    default:
      return 4;
  }
}
inline constexpr std::uint8_t ambiguous_code = 4;

// The same letters in upper case; everything that is no lower case letter stays.
constexpr char upper_case(char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter; }

// One value for each of the 256 characters: those of `from`, in either case, have what stands below them in `to`.
constexpr std::array<char, 256> letter_table(std::string_view from, std::string_view to, char others) {
  std::array<char, 256> table{};
  table.fill(others);
  for (std::size_t i = 0; i < from.size(); ++i)
    table[static_cast<unsigned char>(from[i])] = table[static_cast<unsigned char>(from[i]) + ('a' - 'A')] = to[i];
  return table;
}
inline constexpr std::string_view iupac_letters = "ACGTUMRWSYKVHDBN";

// nucleotide_code() of each character, for loops over sequences.
inline constexpr std::array<std::uint8_t, 256> nucleotide_codes = [] {
  std::array<std::uint8_t, 256> codes{};
  for (std::size_t letter = 0; letter < codes.size(); ++letter) codes[letter] = nucleotide_code(static_cast<char>(letter));
  return codes;
}();
// A base in upper case, U as T; '\0' for what is no base.
inline constexpr std::array<char, 256> normal_bases = letter_table(iupac_letters, "ACGTTMRWSYKVHDBN", '\0');
// What pairs with a base, in upper case; N for what is no base.
inline constexpr std::array<char, 256> iupac_complements = letter_table(iupac_letters, "TGCAAKYWSRMBDHVN", 'N');

constexpr bool is_base(char letter) { return normal_bases[static_cast<unsigned char>(letter)] != '\0'; }
constexpr char iupac_complement(char letter) { return iupac_complements[static_cast<unsigned char>(letter)]; }

// Complement of an upper case A, C, G or T; other letters stay, as racon has it.
constexpr char complement_of(char base) {
  switch (base) {
    case 'A':
      return 'T';
    case 'C':
      return 'G';
    case 'G':
      return 'C';
    case 'T':
      return 'A';
    default:
      return base;
  }
}

// 32 bases of 2 bits in the opposite order, complemented.
constexpr std::uint64_t reverse_complement_of_word(std::uint64_t word) {
  word = ~word;
  word = (word >> 2 & 0x3333333333333333U) | (word & 0x3333333333333333U) << 2;
  word = (word >> 4 & 0x0F0F0F0F0F0F0F0FU) | (word & 0x0F0F0F0F0F0F0F0FU) << 4;
  return __builtin_bswap64(word);
}

// Place of the first character that is no base, or bases.size().
inline std::size_t first_that_is_no_base(std::string_view bases) {
  // Without an exit, which costs more than the look-up; what is no base is rare.
  unsigned char least = 0xFF;
  for (const char base : bases) {
    const auto normal = static_cast<unsigned char>(normal_bases[static_cast<unsigned char>(base)]);
    least = normal < least ? normal : least;
  }
  if (least != 0) return bases.size();
  std::size_t place = 0;
  while (is_base(bases[place])) ++place;
  return place;
}

// "sequence 'chr1', position 7: '*' is not a base"; place: from 0.
inline std::string not_a_base(std::string_view sequence_name, std::uint64_t place, char letter) {
  const auto code = static_cast<unsigned char>(letter);
  const std::string shown = code > ' ' && code <= '~' ? "'" + std::string(1, letter) + "'" : "byte " + std::to_string(code);
  return "sequence '" + std::string(sequence_name) + "', position " + std::to_string(place + 1) + ": " + shown + " is not a base";
}

}  // namespace sluice
