// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What DEFLATE's symbols mean (RFC 1951, sections 3.2.5 to 3.2.7), for decoders on the host and on devices.

#include <cstdint>
#include <sluice/host_device.hpp>

namespace sluice::signal_reader {

inline constexpr unsigned longest_code = 15;
inline constexpr std::uint32_t longest_match = 258, longest_distance = 32768;
inline constexpr std::uint32_t letter_symbols = 288, distance_symbols = 32, length_symbols = 19, end_of_block = 256;

// An entry of a table: bits 0 to 3 how many bits the code has; flags; bits 8 to 11 how many bits follow it; bits 16 to 31 the letter, or the length
// or distance to which the bits that follow are added, or where the table goes on.
inline constexpr std::uint32_t is_literal = 1U << 7, is_end = 1U << 6, goes_on = 1U << 5, is_invalid = 1U << 4;
SLUICE_HOST_DEVICE constexpr unsigned code_bits(std::uint32_t entry) { return entry & 15; }
SLUICE_HOST_DEVICE constexpr unsigned extra_bits(std::uint32_t entry) { return entry >> 8 & 15; }
SLUICE_HOST_DEVICE constexpr std::uint32_t value_of(std::uint32_t entry) { return entry >> 16; }

// Entries without the length of their code.
SLUICE_HOST_DEVICE constexpr std::uint32_t letter_entry(std::uint32_t symbol) {
  if (symbol < end_of_block) return is_literal | symbol << 16;
  if (symbol == end_of_block) return is_end;
  if (symbol > 285) return is_invalid;
  if (symbol == 285) return longest_match << 16;
  const std::uint32_t i = symbol - 257;
  if (i < 8) return (3 + i) << 16;
  const std::uint32_t extra = i / 4 - 1;
  return extra << 8 | (3 + ((4 + i % 4) << extra)) << 16;
}
SLUICE_HOST_DEVICE constexpr std::uint32_t distance_entry(std::uint32_t symbol) {
  if (symbol > 29) return is_invalid;
  if (symbol < 4) return (1 + symbol) << 16;
  const std::uint32_t extra = symbol / 2 - 1;
  return extra << 8 | (1 + ((2 + symbol % 2) << extra)) << 16;
}

// The fixed codes.
SLUICE_HOST_DEVICE constexpr std::uint8_t fixed_letter_length(std::uint32_t symbol) {
  if (symbol < 144 || symbol > 279) return 8;
  return symbol < 256 ? 9 : 7;
}
inline constexpr std::uint8_t fixed_distance_length = 5;

// Whose length comes i-th in front of a block, of the 19 symbols in which lengths of codes are written.
SLUICE_HOST_DEVICE constexpr std::uint32_t length_symbol(std::uint32_t i) {
  if (i < 3) return 16 + i;
  if (i == 3) return 0;
  return i % 2 == 0 ? 6 + i / 2 : 9 - i / 2;  // 8, 7, 9, 6, 10, 5 ...
}

}  // namespace sluice::signal_reader
