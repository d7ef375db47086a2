// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/stretch_alignment.hpp"

#include <algorithm>
#include <bit>

namespace sluice::read_correction {
namespace {

constexpr std::size_t slot_of(char letter) { return static_cast<std::uint8_t>(letter) & 7U; }

// Bits 0, 2, 4 ... side by side.
constexpr std::uint64_t even_bits(std::uint64_t bits) {
  bits &= 0x5555555555555555U;
  bits = (bits | bits >> 1U) & 0x3333333333333333U;
  bits = (bits | bits >> 2U) & 0x0F0F0F0F0F0F0F0FU;
  bits = (bits | bits >> 4U) & 0x00FF00FF00FF00FFU;
  bits = (bits | bits >> 8U) & 0x0000FFFF0000FFFFU;
  return (bits | bits >> 16U) & 0xFFFFFFFFU;
}

}  // namespace

void StretchAlignment::clear_rows(std::size_t rows, std::size_t columns) {
  const std::size_t words = (std::max(rows, columns) + band) / 64 + 2;
  std::fill_n(rows_with_.begin(), words, std::array<std::uint64_t, 8>{});
}

std::int32_t StretchAlignment::align(std::string_view pattern, std::string_view text) {
  clear_rows(pattern.size(), text.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t bit = i + middle;
    rows_with_[bit / 64][slot_of(pattern[i])] |= std::uint64_t{1} << bit % 64;
  }
  const char* next = text.data();
  return fill_columns(pattern.size(), text.size(), [&next] { return slot_of(*next++); });
}

std::int32_t StretchAlignment::align(const Part& pattern, const Part& text) {
  static_assert(middle == PackedBases::word_bases);  // so that a word's rows are one half of 64
  clear_rows(static_cast<std::size_t>(pattern.letters), static_cast<std::size_t>(text.letters));
  for (std::int32_t at = 0; at < pattern.letters; at += PackedBases::word_bases) {
    const std::uint64_t bases = pattern.bases.word_at(pattern.begin + at);
    const std::uint64_t lower = even_bits(bases), upper = even_bits(bases >> 1U);
    const std::int32_t left = pattern.letters - at;
    const std::uint64_t all = left < PackedBases::word_bases ? (std::uint64_t{1} << left) - 1 : 0xFFFFFFFFU;
    const auto bit = static_cast<std::size_t>(at + middle);
    std::array<std::uint64_t, 8>& rows = rows_with_[bit / 64];
    rows[0] |= (all & ~lower & ~upper) << bit % 64;
    rows[1] |= (all & lower & ~upper) << bit % 64;
    rows[2] |= (all & ~lower & upper) << bit % 64;
    rows[3] |= (all & lower & upper) << bit % 64;
  }
  std::uint64_t bases = 0;
  std::int32_t next = 0;
  return fill_columns(static_cast<std::size_t>(pattern.letters), static_cast<std::size_t>(text.letters), [&]() -> std::size_t {
    if (next % PackedBases::word_bases == 0) bases = text.bases.word_at(text.begin + next);
    ++next;
    const std::size_t slot = bases & 3U;
    bases >>= 2U;
    return slot;
  });
}

template <class SlotOfNext>
std::int32_t StretchAlignment::fill_columns(std::size_t rows, std::size_t columns, SlotOfNext&& slot_of_next) {
  letters_ = static_cast<std::int32_t>(columns);
  end_bit_ = static_cast<std::int32_t>(rows) - letters_ + middle;
  std::uint64_t plus = ~std::uint64_t{0} << middle, minus = 0;
  std::uint64_t at_top = 0;  // differences on the band's first diagonal
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t slot = slot_of_next();
    const std::uint64_t equal = rows_with_[j / 64][slot] >> j % 64 | rows_with_[j / 64 + 1][slot] << 1U << (63 - j % 64);
    const std::uint64_t diagonal = (((equal & plus) + plus) ^ plus) | equal | minus;
    const std::uint64_t more_than_left = minus | ~(diagonal | plus);
    const std::uint64_t less_than_left = diagonal & plus;
    at_top += ~diagonal & 1U;
    const std::uint64_t next_diagonal = diagonal >> 1U;
    plus = less_than_left | ~(next_diagonal | more_than_left);
    minus = next_diagonal & more_than_left;
    columns_[j] = {more_than_left, plus << 1U};
  }
  const std::uint64_t above_end = (std::uint64_t{1} << end_bit_) - 1;
  return static_cast<std::int32_t>(at_top) + std::popcount(plus & above_end) - std::popcount(minus & above_end);
}

std::int32_t StretchAlignment::letters_before(std::int32_t row) const {
  std::int32_t at = letters_ + end_bit_ - middle, letters = letters_;
  std::uint64_t bit = std::uint64_t{1} << end_bit_;
  while (letters > 0) {
    const Column& column = columns_[static_cast<std::size_t>(letters) - 1];
    if ((column.more_than_left & bit) != 0) {
      bit <<= 1U;
      --letters;
      continue;
    }
    if (at == row) break;
    --at;
    if ((column.more_than_above & bit) != 0)
      bit >>= 1U;
    else
      --letters;
  }
  return letters;
}

}  // namespace sluice::read_correction
