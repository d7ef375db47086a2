// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters of long sequences changed and turned, many at a time: loops of a fixed number of steps without branches, which compilers make vectors of.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice {

// change(unsigned char) of each letter, without branches.
template <class Change>
void change_letters(char* letters, std::size_t size, Change change) {
  constexpr std::size_t at_once = 32;
  std::size_t i = 0;
  for (; i + at_once <= size; i += at_once) {
    unsigned char block[at_once];
    std::memcpy(block, letters + i, at_once);
    for (std::size_t j = 0; j < at_once; ++j) block[j] = change(block[j]);
    std::memcpy(letters + i, block, at_once);
  }
  for (; i < size; ++i) letters[i] = static_cast<char>(change(static_cast<unsigned char>(letters[i])));
}

// Upper case, U as T; everything else stays.
inline void to_normal_letters(char* letters, std::size_t size) {
  change_letters(letters, size, [](unsigned char letter) -> unsigned char {
    const unsigned char upper = letter ^ (static_cast<unsigned char>(letter - 'a') < 26 ? 'a' ^ 'A' : 0);
    return upper ^ (upper == 'U' ? 'U' ^ 'T' : 0);
  });
}
// As complement_of() has it.
inline void to_complements(char* letters, std::size_t size) {
  change_letters(letters, size, [](unsigned char letter) -> unsigned char {
    constexpr unsigned char at = 'A' ^ 'T', cg = 'C' ^ 'G';
    return letter ^ (letter == 'A' ? at : 0) ^ (letter == 'T' ? at : 0) ^ (letter == 'C' ? cg : 0) ^ (letter == 'G' ? cg : 0);
  });
}
// Upper case A, C, G and T stay, U becomes T, everything else N.
inline void to_four_bases_or_n(char* letters, std::size_t size) {
  change_letters(letters, size, [](unsigned char letter) -> unsigned char {
    const unsigned char base = letter == 'U' ? 'T' : letter;
    const unsigned char is_base = (base == 'A' ? 0xFF : 0) | (base == 'C' ? 0xFF : 0) | (base == 'G' ? 0xFF : 0) | (base == 'T' ? 0xFF : 0);
    return (base & is_base) | ('N' & ~is_base);
  });
}

// nucleotide_code() of each letter.
inline void to_nucleotide_codes(char* letters, std::size_t size) {
  change_letters(letters, size, [](unsigned char letter) -> unsigned char {
    const unsigned char base = letter & 0xDFU;
    return 4 ^ (base == 'A' ? 4 : 0) ^ (base == 'C' ? 4 ^ 1 : 0) ^ (base == 'G' ? 4 ^ 2 : 0) ^ (base == 'T' ? 4 ^ 3 : 0) ^ (base == 'U' ? 4 ^ 3 : 0);
  });
}

// In place.
inline void reverse_letters(char* letters, std::size_t size) {
  char *begin = letters, *end = letters + size;
  for (; end - begin >= 16; begin += 8, end -= 8) {
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, begin, 8);
    std::memcpy(&last, end - 8, 8);
    first = __builtin_bswap64(first);
    last = __builtin_bswap64(last);
    std::memcpy(begin, &last, 8);
    std::memcpy(end - 8, &first, 8);
  }
  while (end - begin >= 2) {
    const char letter = *begin;
    *begin++ = *--end;
    *end = letter;
  }
}

}  // namespace sluice
