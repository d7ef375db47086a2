// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Numbers as the text that C's printf makes of them, byte for byte, at the speed that tables of gigabytes need: put_* write where they are told and
// return where they ended, append_* grow a string.

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace sluice {

// Bytes that put_integer() may need.
inline constexpr std::size_t integer_text_bytes = 20;
// Bytes that put_fixed() may need: sign, digits before the point, point, digits after it.
template <std::floating_point Number>
inline constexpr std::size_t fixed_text_bytes = 2 + std::numeric_limits<Number>::max_exponent10 + 1 + 9;
// Bytes that put_general() may need.
inline constexpr std::size_t general_text_bytes = 24;

namespace number_text {

inline constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::uint64_t power_of_ten(int exponent) { return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1); }

inline std::size_t digits(std::uint64_t value) {
  std::size_t count = 1;
  for (; value >= 10000; value /= 10000) count += 4;
  return count + (value >= 10 ? 1 : 0) + (value >= 100 ? 1 : 0) + (value >= 1000 ? 1 : 0);
}

// Fills [at, at + count) from its end.
template <std::unsigned_integral Value>
char* put_digits(char* at, Value value, std::size_t count) {
  char* const end = at + count;
  char* next = end;
  while (next - at >= 2) {
    next -= 2;
    std::memcpy(next, &digit_pairs[2 * static_cast<std::size_t>(value % 100)], 2);
    value /= 100;
  }
  if (next > at) *at = static_cast<char>('0' + value % 10);
  return end;
}

// Most numbers of a table fit into 32 bits, where a division by a constant is half as long.
inline char* put_unsigned(char* at, std::uint64_t value) {
  const std::size_t count = digits(value);
  if (value <= std::numeric_limits<std::uint32_t>::max()) return put_digits(at, static_cast<std::uint32_t>(value), count);
  return put_digits(at, value, count);
}

// Not a number, infinite, or so large that it has no binary digits behind the point.
template <int decimals, std::floating_point Number>
char* put_large_fixed(char* at, Number value) {
  if (std::signbit(value)) *at++ = '-';
  if (std::isnan(value)) return static_cast<char*>(std::memcpy(at, "nan", 3)) + 3;
  return std::to_chars(at, at + fixed_text_bytes<Number>, std::fabs(value), std::chars_format::fixed, decimals).ptr;
}

}  // namespace number_text

// %d and %ld.
template <std::integral Integer>
char* put_integer(char* at, Integer value) {
  if constexpr (std::signed_integral<Integer>) {
    if (value < 0) {
      *at++ = '-';
      return number_text::put_unsigned(at, std::uint64_t{0} - static_cast<std::uint64_t>(value));
    }
  }
  return number_text::put_unsigned(at, static_cast<std::uint64_t>(value));
}

// %.Nf: the exact binary value, rounded half to even; "nan", "-inf" and so on included. In integers as long as the value has binary digits behind the
// point (below 2^23 or 2^52), by std::to_chars beyond.
template <int decimals, std::floating_point Number>
char* put_fixed(char* at, Number value) {
  using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
  constexpr int mantissa_bits = std::numeric_limits<Number>::digits - 1;
  constexpr int exponent_bits = static_cast<int>(sizeof(Number)) * 8 - 1 - mantissa_bits;
  constexpr int bias = std::numeric_limits<Number>::max_exponent - 1 + mantissa_bits;
  constexpr std::uint64_t unit = number_text::power_of_ten(decimals);
  static_assert(decimals >= 1 && decimals <= 9 && mantissa_bits + 1 + std::bit_width(unit) < 64, "mantissa * 10^decimals is below 2^63");
  const auto bits = std::bit_cast<Bits>(value);
  const int biased = static_cast<int>((bits >> mantissa_bits) & ((Bits{1} << exponent_bits) - 1));
  const int shift = bias - biased;  // |value| = mantissa / 2^shift
  if (shift <= 0) return number_text::put_large_fixed<decimals>(at, value);
  const Bits mantissa = (bits & ((Bits{1} << mantissa_bits) - 1)) | (Bits{1} << mantissa_bits);
  const std::uint64_t scaled = std::uint64_t{mantissa} * unit;
  std::uint64_t rounded = 0;
  if (shift < 64) {  // else below half a unit of the last decimal, as are zero and subnormal numbers, which lack the mantissa's first bit
    rounded = scaled >> shift;
    const std::uint64_t rest = scaled & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    rounded += rest > half || (rest == half && (rounded & 1) != 0) ? 1 : 0;
  }
  *at = '-';
  at += bits >> (sizeof(Number) * 8 - 1);
  if (rounded <= std::numeric_limits<std::uint32_t>::max()) {
    const auto small = static_cast<std::uint32_t>(rounded);
    constexpr auto small_unit = static_cast<std::uint32_t>(unit);
    at = number_text::put_unsigned(at, small / small_unit);
    *at++ = '.';
    return number_text::put_digits(at, small % small_unit, decimals);
  }
  at = number_text::put_unsigned(at, rounded / unit);
  *at++ = '.';
  return number_text::put_digits(at, rounded % unit, decimals);
}

// %g: six significant digits.
inline char* put_general(char* at, double value) {
  constexpr int significant_digits = 6;
  return std::to_chars(at, at + general_text_bytes, value, std::chars_format::general, significant_digits).ptr;
}

template <std::integral Integer>
void append_integer(std::string& text, Integer value) {
  std::array<char, integer_text_bytes> characters;
  text.append(characters.data(), put_integer(characters.data(), value));
}

template <int decimals, std::floating_point Number>
void append_fixed(std::string& text, Number value) {
  std::array<char, fixed_text_bytes<Number>> characters;
  text.append(characters.data(), put_fixed<decimals>(characters.data(), value));
}

}  // namespace sluice
