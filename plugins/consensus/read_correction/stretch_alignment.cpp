// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/stretch_alignment.hpp"

#include <algorithm>
#include <bit>

namespace sluice::read_correction {
namespace {

constexpr std::size_t slot_of(char letter) { return static_cast<std::uint8_t>(letter) & 7U; }

}  // namespace

void StretchAlignment::list_rows(std::string_view pattern, std::size_t columns) {
  const std::size_t words = (std::max(pattern.size(), columns) + band) / 64 + 2;
  std::fill_n(rows_with_.begin(), words, std::array<std::uint64_t, 8>{});
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t bit = i + middle;
    rows_with_[bit / 64][slot_of(pattern[i])] |= std::uint64_t{1} << bit % 64;
  }
}

std::int32_t StretchAlignment::align(std::string_view pattern, std::string_view text) {
  list_rows(pattern, text.size());
  letters_ = static_cast<std::int32_t>(text.size());
  end_bit_ = static_cast<std::int32_t>(pattern.size()) - letters_ + middle;
  std::uint64_t plus = ~std::uint64_t{0} << middle, minus = 0;
  std::uint64_t at_top = 0;  // differences on the band's first diagonal
  for (std::size_t j = 0; j < text.size(); ++j) {
    const std::size_t slot = slot_of(text[j]);
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
