// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/local.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernel_problems.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

namespace {

// Long gaps within both, so that insertions cross stripes, and one inserted piece stands beside a deleted one.
Pair with_long_gaps(std::mt19937& random, std::size_t length) {
  Pair pair = random_pair(random, length, length);
  const auto cut = [&](Bases& bases) {
    if (bases.size() < 4) return;
    const std::size_t from = random() % (bases.size() / 2), count = random() % (bases.size() / 2);
    bases.erase(bases.begin() + static_cast<std::ptrdiff_t>(from), bases.begin() + static_cast<std::ptrdiff_t>(from + count));
  };
  if (random() % 2 == 0) cut(pair.query);
  if (random() % 2 == 0) cut(pair.target);
  return pair;
}

void check(const Scores& scores, const Pair& pair, LocalRows& rows) {
  for (const Padding padding : {Padding::passes, Padding::costs}) {
    const LocalEnd expected = align_locally_plainly(scores, pair.query, pair.target, padding);
    const LocalEnd found = align_locally(scores, pair.query, pair.target, padding, rows);
    CHECK(found.score == expected.score);
    CHECK(found.query == expected.query);
    CHECK(found.target == expected.target);
    if (padding == Padding::costs && expected.score > 0) CHECK(found.query < static_cast<std::int32_t>(pair.query.size()));
    for (const std::int32_t wanted : {expected.score - 1, expected.score, expected.score + 1, 80, 0})
      CHECK_MESSAGE(aligns_locally(scores, pair.query, pair.target, wanted, rows) == (expected.score >= wanted), "wanted: " << wanted);
  }
}

}  // namespace

TEST_CASE("local alignments are those of the plain loops, with every instruction set") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(11);
    LocalRows rows;
    for (int round = 0; round < 400; ++round) {
      const Scores& scores = all_score_sets[random() % all_score_sets.size()];
      CAPTURE(round);
      check(scores, random_pair(random, 1 + random() % 150, 1 + random() % 150), rows);
      check(scores, with_long_gaps(random, 20 + random() % 600), rows);
    }
  });
}

TEST_CASE("local alignments shorter than their stripes, and longer than any of the vectors") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(12);
    LocalRows rows;
    for (std::size_t length = 1; length < 20; ++length) check({}, random_pair(random, length, 30), rows);
    for (const std::size_t length : {63U, 64U, 65U, 127U, 129U, 3001U}) check({}, random_pair(random, length, length), rows);
  });
}

TEST_CASE("scores of local alignments end at 32,767") {
  sluice::testing::for_each_instruction_set([] {
    LocalRows rows;
    const Bases same(500, 2);
    check({.match = 100}, {same, same}, rows);
    check({.match = 40000}, {same, same}, rows);
  });
}

TEST_CASE("a local alignment of unlike sequences, and of nothing but N") {
  sluice::testing::for_each_instruction_set([] {
    LocalRows rows;
    const Bases a(100, 0), c(90, 1), n(95, 4);
    for (const Scores& scores : all_score_sets) {
      check(scores, {a, c}, rows);
      check(scores, {a, n}, rows);
      check(scores, {n, n}, rows);
    }
  });
}
