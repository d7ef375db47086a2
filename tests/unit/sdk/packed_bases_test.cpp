// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sluice/sequence/bases.hpp>
#include <sluice/sequence/packed_bases.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string random_letters(std::size_t size, std::string_view of, std::mt19937& random) {
  std::string letters(size, 'A');
  for (char& letter : letters) letter = of[random() % of.size()];
  return letters;
}
std::string reverse_complement(std::string text) {
  std::reverse(text.begin(), text.end());
  std::transform(text.begin(), text.end(), text.begin(), sluice::complement_of);
  return text;
}

}  // namespace

TEST_CASE("packed bases are the letters in upper case, from any place on and on both strands") {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 140; ++size) {
    const std::string letters = random_letters(size, "ACGTacgt", random);
    std::string upper = letters;
    std::transform(upper.begin(), upper.end(), upper.begin(), sluice::upper_case);
    std::vector<std::uint64_t> words(sluice::packed_words(size), ~std::uint64_t{0});
    REQUIRE(sluice::pack_bases(letters.data(), size, words.data()));
    for (std::size_t begin = 0; begin <= size; ++begin)
      for (std::size_t end = begin; end <= size; ++end) {
        std::string forward(end - begin + 1, '?'), reverse = forward;
        sluice::unpack_bases(words.data(), begin, end, forward.data());
        sluice::unpack_reverse_complement(words.data(), begin, end, reverse.data());
        const std::string part = upper.substr(begin, end - begin);
        REQUIRE(forward == part + "?");  // nothing behind it is written
        REQUIRE(reverse == reverse_complement(part) + "?");
      }
  }
}

TEST_CASE("sequences with any other letter are not packed") {
  std::mt19937 random(2);
  for (int character = 0; character < 256; ++character) {
    const auto letter = static_cast<char>(character);
    for (const std::size_t size : {1, 8, 31, 45, 100}) {
      std::string letters = random_letters(size, "ACGT", random);
      letters[random() % size] = letter;
      std::vector<std::uint64_t> words(sluice::packed_words(size));
      CHECK(sluice::pack_bases(letters.data(), size, words.data()) == (std::string_view("ACGTacgt").find(letter) != std::string_view::npos));
    }
  }
}
