// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Targets without what is cut out of them, against whole ones.

#include "base_alignment/splicing/cut_target.hpp"

#include <doctest/doctest.h>

#include "spliced_problems.hpp"

using namespace sluice::base_alignment;
using namespace kernel_problems;

namespace {

Bases with_errors(std::mt19937& random, const Bases& bases, std::uint32_t per_thousand) {
  Bases made;
  for (const std::uint8_t base : bases) {
    const std::uint32_t dice = random() % 1000;
    if (dice < per_thousand / 4) continue;
    made.push_back(dice < per_thousand / 2 ? static_cast<std::uint8_t>(random() % 4) : base);
    if (dice >= per_thousand / 2 && dice < per_thousand) made.push_back(static_cast<std::uint8_t>(random() % 4));
  }
  if (made.empty()) made.push_back(0);
  return made;
}
void write_over(Bases& bases, std::size_t at, const Bases& with) {
  std::copy_n(with.begin(), std::min(with.size(), bases.size() - at), bases.begin() + static_cast<std::ptrdiff_t>(at));
}

// Parts of the read lie in it, too, in some cases as exons.
Bases random_intron(std::mt19937& random, const Bases& read, std::uint32_t errors) {
  Bases intron = random_bases(random, 300 + random() % 2500, 4, random() % 10 == 0 ? 5 : 0);
  for (std::uint32_t copies = random() % 3; copies-- > 0;) {
    const std::size_t begin = random() % read.size(), bases = 1 + random() % (read.size() - begin), at = random() % intron.size();
    const Bases part(read.begin() + static_cast<std::ptrdiff_t>(begin), read.begin() + static_cast<std::ptrdiff_t>(begin + bases));
    write_over(intron, at, with_errors(random, part, errors));
    if (at > 3 && random() % 2 == 0) write_over(intron, at - 3, {1, 0, 2});
    if (at + bases + 3 < intron.size() && random() % 2 == 0) write_over(intron, at + bases, {2, 3, 0});
  }
  if (random() % 4 != 0) {
    write_over(intron, 0, {2, 3, 0});
    write_over(intron, intron.size() - 3, {1, 0, 2});
  }
  return intron;
}

}  // namespace

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
    const std::uint32_t errors = random() % 3 == 0 ? 0 : random() % 120;
    const Bases exons = random_bases(random, 20 + random() % 230, random() % 5 == 0 ? 2 : 4, random() % 10 == 0 ? 5 : 0);
    Bases target = exons;
    for (std::uint32_t introns = 1 + random() % 3; introns-- > 0;) {
      const std::size_t border = random() % 6 == 0 ? (random() % 2) * target.size() : random() % (target.size() + 1);
      const Bases intron = random_intron(random, exons, random() % 3 == 0 ? 150 : errors);
      target.insert(target.begin() + static_cast<std::ptrdiff_t>(border), intron.begin(), intron.end());
    }
    Bases query = with_errors(random, exons, errors);
    if (random() % 8 == 0) query.insert(query.begin() + static_cast<std::ptrdiff_t>(random() % query.size()), 40, std::uint8_t{1});
    if (random() % 8 == 0) query.erase(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(random() % query.size()));
    const Pair pair{query, target};
    Problem whole = pair.problem(random, false);
    whole.goal = Goal::ends;
    whole.ties = TieOrder::gap_right;
    const SitePiece piece{.codes = target, .sites = static_cast<Sites>(random() % 3)};
    find_cuts(scores, whole, scratch, cuts);
    if (!cuts.any()) continue;
    several += cuts.of_target.size() > 1 ? 1 : 0;
    ++cut_targets;
    SiteScores sites;
    score_sites({}, piece, {}, sites);
    cut_out({}, piece, cuts.of_target, shorter);
    REQUIRE(shorter.codes.size() == target.size() - static_cast<std::size_t>(cuts.bases()));
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
  MESSAGE(cut_targets, " ", proven, " ", hard, " ", several, " ", through_middle);
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
