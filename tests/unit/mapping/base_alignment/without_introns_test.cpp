// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/without_introns.hpp"

#include <doctest/doctest.h>

#include "spliced_problems.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

TEST_CASE("an alignment that is known to have no intron is that across introns, whatever sites count") {
  std::mt19937 random(31);
  MatrixRows rows;
  SplicedRows spliced_rows;
  int made = 0, with_gaps = 0, close = 0;
  for (int round = 0; round < 6000; ++round) {
    CAPTURE(round);
    const Scores& scores = spliced_scores[random() % spliced_scores.size()];
    const std::size_t length = 1 + random() % (round % 4 == 0 ? 300 : 60);
    Pair pair = random_pair(random, length, length + random() % 8);
    if (random() % 3 == 0) pair.target.erase(pair.target.begin() + static_cast<std::ptrdiff_t>(random() % pair.target.size()), pair.target.end());
    if (pair.target.empty()) continue;
    if (random() % 3 == 0)
      pair.query.insert(pair.query.begin() + static_cast<std::ptrdiff_t>(random() % pair.query.size()), random() % 40, std::uint8_t{2});
    Problem problem = pair.problem(random, false);
    problem.goal = Goal::ends;
    problem.ties = TieOrder::gap_right;
    Alignment found;
    if (!align_without_introns(scores, problem, rows, found)) continue;
    ++made;
    with_gaps += found.cigar.size() > 1 ? 1 : 0;
    close += found.score < highest_with_intron(scores, problem.query_length, problem.target_length) + 4 ? 1 : 0;
    for (const Sites way : {Sites::none, Sites::forward, Sites::reverse}) {
      const SiteScores sites = sites_of(pair.target, way);
      Alignment expected;
      align_spliced_plainly(scores, problem, {sites.donor, sites.acceptor}, spliced_rows, expected);
      CHECK(found.score == expected.score);
      CHECK(found.cigar == expected.cigar);
      CHECK(found.dropped == expected.dropped);
    }
  }
  CHECK(made > 1000);
  CHECK(with_gaps > 200);
  CHECK(close > 20);
}

TEST_CASE("no path with an intron scores more than is said") {
  std::mt19937 random(32);
  SplicedRows rows;
  int introns = 0;
  for (int round = 0; round < 4000; ++round) {
    const Scores& scores = spliced_scores[random() % spliced_scores.size()];
    const SplicedPair made = random_spliced_pair(random, 60, 40);
    const SiteScores sites{std::vector<std::int8_t>(made.pair.target.size(), 0), std::vector<std::int8_t>(made.pair.target.size(), 0)};
    Problem problem = made.problem(random);
    problem.goal = Goal::ends;
    Alignment found;
    align_spliced_plainly(scores, problem, {sites.donor, sites.acceptor}, rows, found);
    const bool has_intron = std::any_of(found.cigar.begin(), found.cigar.end(), [](std::uint32_t operation) { return (operation & 15U) == 3; });
    if (!has_intron) continue;
    ++introns;
    CHECK(found.score <= highest_with_intron(scores, problem.query_length, problem.target_length));
  }
  CHECK(introns > 300);
}
