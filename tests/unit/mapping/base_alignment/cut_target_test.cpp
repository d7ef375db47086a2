// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Targets without what is cut out of them, against whole ones.

#include "base_alignment/splicing/cut_target.hpp"

#include <doctest/doctest.h>

#include "spliced_problems.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

TEST_CASE("an alignment to a target without its cuts is that to the whole one, or said to be unproven") {
  std::mt19937 random(21);
  SplicedRows rows;
  ShortTarget shorter;
  Cuts cuts;
  CutScratch scratch;
  int proven = 0, hard = 0, several = 0, through_middle = 0, cut_targets = 0;
  for (int round = 0; round < 2500; ++round) {
    CAPTURE(round);
    const Scores& scores = spliced_scores[random() % 4];
    const Pair pair = random_long_pair(random);
    Problem whole = pair.problem(random, false);
    whole.goal = Goal::ends;
    whole.ties = TieOrder::gap_right;
    const SitePiece piece{.codes = pair.target, .sites = static_cast<Sites>(random() % 3)};
    find_cuts(scores, whole, scratch, cuts);
    if (!cuts.any()) continue;
    several += cuts.of_target.size() > 1 ? 1 : 0;
    ++cut_targets;
    SiteScores sites;
    score_sites({}, piece, {}, sites);
    cut_out({}, piece, cuts.of_target, shorter);
    REQUIRE(shorter.codes.size() == pair.target.size() - static_cast<std::size_t>(cuts.bases()));
    Problem problem = whole;
    problem.target = shorter.codes.data();
    problem.target_length -= cuts.bases();
    Alignment expected, found;
    align_spliced(scores, whole, {sites.donor, sites.acceptor}, rows, expected);
    want_edges(cuts, scratch);
    align_spliced(scores, problem, {shorter.sites.donor, shorter.sites.acceptor}, rows, found, scratch.edges);
    const bool goes_over = put_back(cuts.of_target, found.cigar);
    const std::int32_t highest = highest_through_cuts(scores, whole, cuts, shorter, rows, scratch);
    CHECK(highest <= highest_with_two_introns(scores, whole));
    CHECK(expected.score <= std::max(highest, found.score));
    const bool is_right = goes_over && found.score > highest;
    hard += is_right && found.score <= highest_with_two_introns(scores, whole) ? 1 : 0;
    proven += is_right ? 1 : 0;
    through_middle += found.score < expected.score ? 1 : 0;
    if (!is_right) continue;
    CHECK(found.score == expected.score);
    CHECK(found.cigar == expected.cigar);
  }
  CHECK(cut_targets > 1000);
  CHECK(proven > 500);
  CHECK(hard > 100);
  CHECK(through_middle > 20);
}

TEST_CASE("only long targets of alignments from end to end are cut, where the read has no words") {
  const Scores& scores = spliced_scores[0];
  const Bases bases(5000, 1), read(200, 2);
  Problem problem{.query = read.data(), .target = bases.data(), .query_length = 200, .target_length = 5000};
  CutScratch scratch;
  Cuts cuts;
  const auto cut_bases = [&] {
    find_cuts(scores, problem, scratch, cuts);
    return cuts.bases();
  };
  CHECK(cut_bases() > 4000);
  problem.target_length = 600;
  CHECK(cut_bases() == 0);
  problem.target_length = 5000;
  problem.goal = Goal::extension;
  CHECK(cut_bases() == 0);
  problem.goal = Goal::ends;
  problem.ties = TieOrder::gap_left;
  CHECK(cut_bases() == 0);
  // A target of the read's words.
  problem.ties = TieOrder::gap_right;
  problem.query = bases.data();
  CHECK(cut_bases() == 0);
}
