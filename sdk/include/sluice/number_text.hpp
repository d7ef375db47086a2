// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Numbers as the text that C's printf makes of them, byte for byte, at the speed that tables of gigabytes need. put_* write where they are told and
// return where the text ends; bytes behind that may have been written too. append_* grow a string.

#include <algorithm>
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
#include <type_traits>

namespace sluice {

// Bytes that put_integer() may write: a word at a time, so it needs some more than the text.
inline constexpr std::size_t integer_text_bytes = 20;
// Bytes that put_fixed() may write: sign, digits before the point, point, digits after it, a word more.
template <std::floating_point Number>
inline constexpr std::size_t fixed_text_bytes = 2 + std::numeric_limits<Number>::max_exponent10 + 1 + 7 + 8;
// Bytes that put_general() may need.
inline constexpr std::size_t general_text_bytes = 24;

namespace number_text {

static_assert(std::endian::native == std::endian::little, "digits are computed in the bytes of a word, the first one in its lowest byte");

constexpr std::uint64_t power_of_ten(int exponent) { return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1); }

inline constexpr std::uint32_t eight_digits_end = 100'000'000;

// The eight decimal digits of a number below 10^8, the first one in the lowest byte. Pairs of digits are split beside each other: first four of
// eight, then two of four, then one of two, by products that are exact for such small numbers.
constexpr std::uint64_t eight_digits(std::uint32_t value) {
  const std::uint64_t fours = value / 10000 | static_cast<std::uint64_t>(value % 10000) << 32;
  const std::uint64_t hundreds = (fours * 10486) >> 20 & 0x0000007F'0000007F;
  const std::uint64_t twos = hundreds + ((fours - 100 * hundreds) << 16);
  const std::uint64_t tens = (twos * 103) >> 10 & 0x000F000F'000F000F;
  return tens + ((twos - 10 * tens) << 8);
}

// Writes the first `count` of eight digits without the zeros that they begin with, but the last one in any case. May write eight bytes.
inline char* put_whole(char* at, std::uint64_t digits, unsigned count) {
  const unsigned zeros = std::min(static_cast<unsigned>(std::countr_zero(digits | std::uint64_t{1} << 63)) / 8, count - 1);
  const std::uint64_t text = (digits | 0x30303030'30303030) >> (8 * zeros);
  std::memcpy(at, &text, sizeof text);
  return at + (count - zeros);
}

// Without branches up to 10^8, where most numbers of a table are: lengths of numbers are hard to predict.
inline char* put_unsigned(char* at, std::uint64_t value) {
  if (value < eight_digits_end) return put_whole(at, eight_digits(static_cast<std::uint32_t>(value)), 8);
  return std::to_chars(at, at + 20, value).ptr;
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
  static_assert(decimals >= 1 && decimals <= 7 && mantissa_bits + 1 + std::bit_width(unit) < 64, "mantissa * 10^decimals is below 2^63");
  const auto bits = std::bit_cast<Bits>(value);
  const int biased = static_cast<int>((bits >> mantissa_bits) & ((Bits{1} << exponent_bits) - 1));
  const int shift = bias - biased;  // |value| = mantissa / 2^shift
  if (shift <= 0) return number_text::put_large_fixed<decimals>(at, value);
  const Bits mantissa = (bits & ((Bits{1} << mantissa_bits) - 1)) | (Bits{1} << mantissa_bits);
  const std::uint64_t scaled = std::uint64_t{mantissa} * unit;
  std::uint64_t rounded = 0;
  if (shift < 64) {  // else below half a unit of the last decimal, as are zero and subnormal numbers, which lack the mantissa's first bit
    const std::uint64_t below_half = (std::uint64_t{1} << (shift - 1)) - 1;
    rounded = (scaled + below_half + (scaled >> shift & 1)) >> shift;
  }
  *at = '-';
  at += bits >> (sizeof(Number) * 8 - 1);
  if (rounded < number_text::eight_digits_end) {
    const std::uint64_t digits = number_text::eight_digits(static_cast<std::uint32_t>(rounded));
    at = number_text::put_whole(at, digits, 8 - decimals);
    const std::uint64_t behind_point = '.' | (digits | 0x30303030'30303030) >> (8 * (8 - decimals)) << 8;
    std::memcpy(at, &behind_point, sizeof behind_point);
    return at + 1 + decimals;
  }
  at = number_text::put_unsigned(at, rounded / unit);
  *at++ = '.';
  std::uint64_t fraction = rounded % unit;
  for (char* digit = at + decimals; digit > at; fraction /= 10) *--digit = static_cast<char>('0' + fraction % 10);
  return at + decimals;
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
