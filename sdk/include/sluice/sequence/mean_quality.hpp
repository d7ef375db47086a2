// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The mean quality of a read as basecallers give it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

// -10 log10 of the mean probability of an error; `qualities` are Phred + 33, from '!' to '~'; what is beyond counts as the
// nearest of them. Of none: 0.
inline double mean_quality(std::string_view qualities) {
  constexpr int qualities_possible = 94;  // '!' to '~'
  static const std::array<double, qualities_possible> probability_of = [] {
    std::array<double, qualities_possible> table{};
    for (int quality = 0; quality < qualities_possible; ++quality) table[static_cast<std::size_t>(quality)] = std::pow(10.0, -quality / 10.0);
    return table;
  }();
  if (qualities.empty()) return 0;
  // Counted first: a sum of thousands of doubles would take the time of as many additions that wait for each other.
  std::array<std::uint32_t, 256> counts{};
  for (const char quality : qualities) ++counts[static_cast<unsigned char>(quality)];
  double errors = 0;
  for (int letter = 0; letter < 256; ++letter) {
    const int quality = std::clamp(letter - '!', 0, qualities_possible - 1);
    errors += static_cast<double>(counts[static_cast<std::size_t>(letter)]) * probability_of[static_cast<std::size_t>(quality)];
  }
  return std::max(0.0, -10 * std::log10(errors / static_cast<double>(qualities.size())));
}

}  // namespace sluice
