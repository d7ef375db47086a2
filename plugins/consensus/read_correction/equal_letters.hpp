// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Letters compared a word at a time.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::read_correction {

inline constexpr std::size_t word_letters = 8;

template <class Byte>
std::uint64_t load_word(const Byte* bytes) {
  static_assert(sizeof(Byte) == 1);
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The first byte in memory that is not 0; 8 if all are.
inline std::int32_t first_set_byte(std::uint64_t word) {
  return (std::endian::native == std::endian::little ? std::countr_zero(word) : std::countl_zero(word)) / 8;
}

}  // namespace sluice::read_correction
