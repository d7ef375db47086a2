// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/coverage_trimming.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sluice::window_merging;

TEST_CASE("ends below half of the layers are cut off") {
  const KeptBases kept = trim_by_coverage(std::vector<std::int32_t>{1, 2, 3, 1, 3, 2, 0}, 5);
  CHECK(kept.begin == 1);
  CHECK(kept.end == 6);
  CHECK(!kept.is_untrimmed);
}

TEST_CASE("a window stays whole where fewer than two bases would be left") {
  for (const std::vector<std::int32_t>& coverage : {std::vector<std::int32_t>{1, 1, 1}, {1, 4, 1}, {}}) {
    const KeptBases kept = trim_by_coverage(coverage, 8);
    CHECK(kept.begin == 0);
    CHECK(kept.end == coverage.size());
    CHECK(kept.is_untrimmed);
  }
}

TEST_CASE("two bases are enough to be left, and half of an odd number of layers is rounded down") {
  const auto kept = [](const std::vector<std::int32_t>& coverage, std::int64_t layers) {
    const KeptBases bases = trim_by_coverage(coverage, layers);
    return std::vector<std::size_t>{bases.begin, bases.end, bases.is_untrimmed ? 1U : 0U};
  };
  CHECK(kept({1, 4, 4, 1}, 8) == std::vector<std::size_t>{1, 3, 0});
  CHECK(kept({1, 4, 3, 1}, 8) == std::vector<std::size_t>{0, 4, 1});
  CHECK(kept({1, 2, 2, 1}, 5) == std::vector<std::size_t>{1, 3, 0});
  CHECK(kept({1, 2, 2, 1}, 6) == std::vector<std::size_t>{0, 4, 1});
  CHECK(kept({1, 1, 1}, 1) == std::vector<std::size_t>{0, 3, 0});
}
