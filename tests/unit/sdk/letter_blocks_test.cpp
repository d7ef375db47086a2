// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <sluice/sequence/bases.hpp>
#include <sluice/sequence/letter_blocks.hpp>
#include <string>

namespace {

// All characters, over and over, from a different one on for each size.
std::string characters(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + size);
  return text;
}
template <class OfOne>
std::string each(std::string text, OfOne&& of_one) {
  std::transform(text.begin(), text.end(), text.begin(), of_one);
  return text;
}

}  // namespace

TEST_CASE("letters changed many at a time are those changed one at a time, whatever their number") {
  for (std::size_t size = 0; size < 600; ++size) {
    const std::string text = characters(size);
    std::string upper = text, complements = text, four = text, codes = text, reversed = text;
    sluice::to_normal_letters(upper.data(), size);
    CHECK(upper == each(text, [](char letter) { return sluice::upper_case(letter) == 'U' ? 'T' : sluice::upper_case(letter); }));
    sluice::to_complements(complements.data(), size);
    CHECK(complements == each(text, sluice::complement_of));
    sluice::to_four_bases_or_n(four.data(), size);
    CHECK(four == each(text, [](char letter) { return letter >= 'A' && letter <= 'Z' ? "ACGTN"[sluice::nucleotide_code(letter)] : 'N'; }));
    sluice::to_nucleotide_codes(codes.data(), size);
    CHECK(codes == each(text, [](char letter) { return static_cast<char>(sluice::nucleotide_code(letter)); }));
    sluice::reverse_letters(reversed.data(), size);
    CHECK(reversed == std::string(text.rbegin(), text.rend()));
  }
}
