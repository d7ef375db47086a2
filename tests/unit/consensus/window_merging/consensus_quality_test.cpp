// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/overlap/consensus_quality.hpp>
#include <vector>

using namespace sluice::overlap;

namespace {

std::string qualities(const std::vector<std::int32_t>& coverage, const std::vector<std::int32_t>& support) {
  std::string text;
  append_qualities(coverage, support, 0, coverage.size(), text);
  return text;
}

}  // namespace

TEST_CASE("a base that more sequences agree with has a higher quality, in printable letters") {
  for (const std::int32_t coverage : {0, 1, 2, 20, 1000}) {
    char before = 0;
    for (std::int32_t support = 0; support <= coverage; ++support) {
      const char now = qualities({coverage}, {support})[0];
      CHECK(now >= before);
      CHECK(now > '!');
      CHECK(now <= '~');
      before = now;
    }
  }
  CHECK(qualities({20}, {20})[0] > qualities({20}, {12})[0]);
  CHECK(qualities({20}, {20})[0] > qualities({5}, {5})[0]);
}

TEST_CASE("sequences with a gap count against a base") {
  const std::string text = qualities({20, 6, 20}, {20, 6, 20});
  CHECK(text[1] < text[0]);
  CHECK(text[1] < qualities({6, 6, 6}, {6, 6, 6})[1]);
}

TEST_CASE("a part of a consensus has the qualities that it has in the whole") {
  const std::vector<std::int32_t> coverage = {3, 9, 9, 4, 9, 2}, support = {3, 9, 8, 4, 5, 2};
  std::string part;
  append_qualities(coverage, support, 2, 5, part);
  CHECK(part == qualities(coverage, support).substr(2, 3));
}

TEST_CASE("qualities by hand: 10 without a majority, 2 more or less a sequence, between 2 and 45") {
  const auto quality = [](std::int32_t coverage, std::int32_t support) { return qualities({coverage}, {support})[0] - 33; };
  CHECK(quality(10, 5) == 10);
  CHECK(quality(10, 6) == 14);
  CHECK(quality(10, 10) == 30);
  CHECK(quality(17, 17) == 44);
  CHECK(quality(18, 18) == 45);
  CHECK(quality(10, 3) == 2);
  CHECK(quality(10, 0) == 2);
  // Sequences of four bases to either side count, those of the fifth do not.
  const std::vector<std::int32_t> beside = {9, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9};
  const std::string text = qualities(beside, std::vector<std::int32_t>(beside.size(), 3));
  CHECK(text[4] - 33 == 4);
  CHECK(text[5] - 33 == 16);
  CHECK(text[6] - 33 == 4);
}
