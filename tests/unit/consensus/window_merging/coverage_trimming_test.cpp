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
