// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns of codes (0 to 3: bases, 4: N) without gaps, eight at a time.

#include <bit>
#include <cstdint>
#include <cstring>

namespace sluice::base_alignment {
namespace columns_detail {

inline constexpr std::uint64_t lowest_bits = 0x0101010101010101U;
inline std::uint64_t load(const std::uint8_t* codes) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, codes, sizeof eight);
  return eight;
}
// The lowest bit of each byte: there is an N.
constexpr std::uint64_t ambiguous(std::uint64_t a, std::uint64_t b) { return ((a | b) >> 2) & lowest_bits; }
// The same: other codes, or an N.
constexpr std::uint64_t unequal(std::uint64_t a, std::uint64_t b) { return ((((a ^ b) + 0x7F * lowest_bits) >> 7) & lowest_bits) | ambiguous(a, b); }

// Of `count` columns, those in which `is` sets the lowest bit.
template <class Is>
std::int32_t count(const std::uint8_t* a, const std::uint8_t* b, std::int32_t count, const Is& is) {
  std::int32_t i = 0;
  std::uint64_t sum = 0;
  for (; i + 8 <= count; i += 8) sum += (is(load(a + i), load(b + i)) * lowest_bits) >> 56;
  for (; i < count; ++i) sum += is(a[i], b[i]) & 1U;
  return static_cast<std::int32_t>(sum);
}

}  // namespace columns_detail

inline std::int32_t unequal_columns(const std::uint8_t* a, const std::uint8_t* b, std::int32_t columns) {
  return columns_detail::count(a, b, columns, columns_detail::unequal);
}
inline std::int32_t ambiguous_columns(const std::uint8_t* a, const std::uint8_t* b, std::int32_t columns) {
  return columns_detail::count(a, b, columns, columns_detail::ambiguous);
}
// Of codes that differ by 2 and of which none is ambiguous.
inline std::int32_t transition_columns(const std::uint8_t* a, const std::uint8_t* b, std::int32_t columns) {
  std::int32_t count = 0;
  for (std::int32_t i = 0; i < columns; ++i) count += (a[i] ^ b[i]) == 2 && a[i] < 4 && b[i] < 4 ? 1 : 0;
  return count;
}
inline bool has_ambiguous(const std::uint8_t* codes, std::int32_t count) {
  std::int32_t i = 0;
  std::uint64_t any = 0;
  for (; i + 8 <= count; i += 8) any |= columns_detail::load(codes + i);
  for (; i < count; ++i) any |= codes[i];
  return columns_detail::ambiguous(any, 0) != 0;
}
// Columns with equal bases at the beginning.
inline std::int32_t equal_columns_before(const std::uint8_t* a, const std::uint8_t* b, std::int32_t columns) {
  std::int32_t i = 0;
  for (; i + 8 <= columns; i += 8)
    if (const std::uint64_t other = columns_detail::unequal(columns_detail::load(a + i), columns_detail::load(b + i)); other != 0)
      return i + std::countr_zero(other) / 8;
  while (i < columns && a[i] == b[i] && a[i] < 4) ++i;
  return i;
}

}  // namespace sluice::base_alignment
