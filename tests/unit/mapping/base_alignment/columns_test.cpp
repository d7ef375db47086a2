// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/columns.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace sluice::base_alignment;

TEST_CASE("columns counted eight at a time are those counted one by one") {
  std::mt19937 random(3);
  for (int round = 0; round < 20'000; ++round) {
    const auto length = static_cast<std::int32_t>(random() % 60);
    std::vector<std::uint8_t> a(static_cast<std::size_t>(length)), b(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<std::uint8_t>(random() % (round % 2 == 0 ? 4 : 5));
      b[i] = random() % 12 == 0 ? static_cast<std::uint8_t>(random() % 5) : a[i];
    }
    std::int32_t unequal = 0, ambiguous = 0, before = -1;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const bool has_n = a[i] > 3 || b[i] > 3, differs = has_n || a[i] != b[i];
      unequal += differs ? 1 : 0;
      ambiguous += has_n ? 1 : 0;
      if (differs && before < 0) before = static_cast<std::int32_t>(i);
    }
    REQUIRE(unequal_columns(a.data(), b.data(), length) == unequal);
    REQUIRE(ambiguous_columns(a.data(), b.data(), length) == ambiguous);
    REQUIRE(equal_columns_before(a.data(), b.data(), length) == (before < 0 ? length : before));
  }
}
