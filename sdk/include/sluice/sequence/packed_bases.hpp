// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bases of 2 bits, 32 a 64-bit word, the first in the lowest bits: A 0, C 1, T 2, G 3. Those are two bits of the letters themselves, and a base
// differs from its complement in the upper one.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

inline constexpr std::size_t packed_word_bases = 32;

// One word more than the bases begin, so that 32 may be read from any place.
constexpr std::size_t packed_words(std::size_t bases) { return bases / packed_word_bases + 2; }

// Bases [at, at + 32), 0 <= at <= all; those behind the last have no meaning.
inline std::uint64_t packed_word(const std::uint64_t* words, std::size_t at) {
  const std::size_t bit = 2 * (at % packed_word_bases), word = at / packed_word_bases;
  return words[word] >> bit | words[word + 1] << 1U << (63 - bit);
}

// 32 bases of the reverse complement, which begins before base `end` (1 <= end <= all); those beyond the first base have no meaning.
inline std::uint64_t reversed_packed_word(const std::uint64_t* words, std::size_t end) {
  std::uint64_t word = end >= packed_word_bases ? packed_word(words, end - packed_word_bases) : words[0] << 2 * (packed_word_bases - end);
  word = __builtin_bswap64(word);
  word = (word >> 4U & 0x0F0F0F0F0F0F0F0FU) | (word & 0x0F0F0F0F0F0F0F0FU) << 4U;
  word = (word >> 2U & 0x3333333333333333U) | (word & 0x3333333333333333U) << 2U;
  return word ^ 0xAAAAAAAAAAAAAAAAU;
}

namespace packed {

// Eight letters, the first in the lowest byte.
inline std::uint64_t load_eight(const char* letters) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, letters, sizeof eight);
  return std::endian::native == std::endian::big ? __builtin_bswap64(eight) : eight;
}
inline void store_eight(std::uint64_t eight, char* letters) {
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  std::memcpy(letters, &eight, sizeof eight);
}

// The lowest 16 bits of the result: the letters' bases.
inline std::uint64_t bases_of(std::uint64_t letters) {
  letters = letters >> 1U & 0x0303030303030303U;
  letters = (letters | letters >> 6U) & 0x000F000F000F000FU;
  letters = (letters | letters >> 12U) & 0x000000FF000000FFU;
  return (letters | letters >> 24U) & 0xFFFFU;
}
// Of 16 bits.
inline std::uint64_t letters_of(std::uint64_t bases) {
  bases = (bases | bases << 24U) & 0x000000FF000000FFU;
  bases = (bases | bases << 12U) & 0x000F000F000F000FU;
  bases = (bases | bases << 6U) & 0x0303030303030303U;
  // A, C, 'E' and G; the T is 15 behind the E.
  const std::uint64_t is_t = bases >> 1U & ~bases & 0x0101010101010101U;
  return 0x4141414141414141U + (bases << 1U) + (is_t << 4U) - is_t;
}

inline void store_word(std::uint64_t word, char* letters) {
  for (unsigned eighth = 0; eighth < 4; ++eighth) store_eight(letters_of(word >> 16 * eighth & 0xFFFFU), letters + std::size_t{8} * eighth);
}
// Less than 32 letters.
inline void store_part(std::uint64_t word, std::size_t size, char* letters) {
  char part[packed_word_bases];
  store_word(word, part);
  std::memcpy(letters, part, size);
}

}  // namespace packed

// To packed_words(size) words, of which the bits behind the last base are 0. False: there are other letters than A, C, G and T of either case, and
// the words say nothing.
inline bool pack_bases(const char* letters, std::size_t size, std::uint64_t* words) {
  constexpr std::uint64_t upper_case = 0xDFDFDFDFDFDFDFDFU;
  std::fill_n(words, packed_words(size), 0);
  std::uint64_t different = 0;
  const auto pack = [&](const char* eight, std::size_t at) {
    const std::uint64_t given = packed::load_eight(eight), bases = packed::bases_of(given);
    different |= packed::letters_of(bases) ^ (given & upper_case);
    words[at / packed_word_bases] |= bases << 2 * (at % packed_word_bases);
  };
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) pack(letters + at, at);
  if (at < size) {
    char rest[8] = {'A', 'A', 'A', 'A', 'A', 'A', 'A', 'A'};
    std::memcpy(rest, letters + at, size - at);
    pack(rest, at);
  }
  return different == 0;
}

// Bases [begin, end) to out[0 .. end - begin).
inline void unpack_bases(const std::uint64_t* words, std::size_t begin, std::size_t end, char* out) {
  for (; begin + packed_word_bases <= end; begin += packed_word_bases, out += packed_word_bases) packed::store_word(packed_word(words, begin), out);
  if (begin < end) packed::store_part(packed_word(words, begin), end - begin, out);
}

// The reverse complement of the same.
inline void unpack_reverse_complement(const std::uint64_t* words, std::size_t begin, std::size_t end, char* out) {
  for (; begin + packed_word_bases <= end; end -= packed_word_bases, out += packed_word_bases)
    packed::store_word(reversed_packed_word(words, end), out);
  if (begin < end) packed::store_part(reversed_packed_word(words, end), end - begin, out);
}

}  // namespace sluice
