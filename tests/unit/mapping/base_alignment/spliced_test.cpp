// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/spliced.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/splicing/splice_sites.hpp"
#include "spliced_problems.hpp"
#include "unit/instruction_sets.hpp"

using namespace sluice::base_alignment;
using kernel_problems::Bases;
using kernel_problems::Pair;
using kernel_problems::random_pair;
using kernel_problems::sites_of;
using kernel_problems::spliced_scores;

namespace {

std::int64_t column(const Scores& scores, std::uint8_t a, std::uint8_t b) {
  if (a > 3 || b > 3) return scores.ambiguous == 0 && scores.transition == 0 ? -scores.gap_extend : -scores.ambiguous;
  return a == b ? scores.match : (a ^ b) == 2 && scores.transition > 0 ? -scores.transition : -scores.mismatch;
}
std::int64_t border(const Scores& scores, std::int64_t bases) {
  return bases == 0 ? 0 : -std::min<std::int64_t>(scores.gap_open + bases * scores.gap_extend, scores.gap_open_long);
}

// The recurrences over the whole matrix, a row a base of the target.
struct Matrix {
  std::vector<std::vector<std::int64_t>> best, deletion, intron;  // gaps: where they enter
};
Matrix whole_matrix(const Scores& scores, const Pair& pair, const SiteScores& sites, const SplicedStart* start = nullptr) {
  const std::size_t rows = pair.target.size() + 1, columns = pair.query.size() + 1;
  constexpr std::int64_t impossible = -(std::int64_t{1} << 40);
  std::vector<std::vector<std::int64_t>> best(rows, std::vector<std::int64_t>(columns)),
      deletion(rows, std::vector<std::int64_t>(columns, impossible)), intron = deletion, insertion = deletion;
  for (std::size_t i = 0; i < rows; ++i) best[i][0] = start != nullptr ? start->score[0] : border(scores, static_cast<std::int64_t>(i));
  for (std::size_t j = 0; j < columns; ++j) best[0][j] = start != nullptr ? start->score[j] : border(scores, static_cast<std::int64_t>(j));
  for (std::size_t i = 1; i < rows; ++i)
    for (std::size_t j = 1; j < columns; ++j) {
      deletion[i][j] = std::max(best[i - 1][j] - scores.gap_open, deletion[i - 1][j]) - scores.gap_extend;
      insertion[i][j] = std::max(best[i][j - 1] - scores.gap_open, insertion[i][j - 1]) - scores.gap_extend;
      const std::int64_t donor = i > 1 ? sites.donor[i - 2] : 0;
      intron[i][j] = std::max(best[i - 1][j] - scores.gap_open_long + donor, intron[i - 1][j]);
      if (i == 1 && start != nullptr) intron[i][j] = start->intron[j];
      best[i][j] = std::max({best[i - 1][j - 1] + column(scores, pair.target[i - 1], pair.query[j - 1]), deletion[i][j], insertion[i][j],
                             intron[i][j] + sites.acceptor[i - 1]});
    }
  return {best, deletion, intron};
}
std::vector<std::vector<std::int64_t>> matrix(const Scores& scores, const Pair& pair, const SiteScores& sites) {
  return whole_matrix(scores, pair, sites).best;
}

// Of a path from end to end.
std::int64_t path_score(const Scores& scores, const Pair& pair, const SiteScores& sites, const std::vector<std::uint32_t>& cigar) {
  std::size_t i = 0, j = 0;
  std::int64_t score = 0;
  for (const std::uint32_t operation : cigar) {
    const std::size_t bases = operation >> 4;
    const bool first = i == 0 && j == 0;
    switch (operation & 15U) {
      case 0:
        for (std::size_t n = 0; n < bases; ++n) score += column(scores, pair.target[i++], pair.query[j++]);
        break;
      case 1:
        score += first ? border(scores, static_cast<std::int64_t>(bases)) : -(scores.gap_open + static_cast<std::int64_t>(bases) * scores.gap_extend);
        j += bases;
        break;
      case 2:
        score -= scores.gap_open + static_cast<std::int64_t>(bases) * scores.gap_extend;
        i += bases;
        break;
      default:
        score -= scores.gap_open_long;
        if (!first) score += (i > 0 ? sites.donor[i - 1] : 0) + sites.acceptor[i + bases - 1];
        i += bases;
    }
  }
  CHECK(i == pair.target.size());
  CHECK(j == pair.query.size());
  return score;
}

Bases codes_of(std::string_view text) {
  Bases codes;
  for (const char base : text) codes.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(std::string_view("ACGT").find(base), 4)));
  return codes;
}

}  // namespace

TEST_CASE("alignments across introns score what the recurrences give, and so do their paths") {
  std::mt19937 random(3);
  SplicedRows rows;
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    const Scores& scores = spliced_scores[random() % spliced_scores.size()];
    Pair pair = random_pair(random, 1 + random() % 60, 1 + random() % 60);
    if (round % 2 == 0) {  // an intron
      const Bases intron = kernel_problems::random_bases(random, 10 + random() % 200, 4, 0);
      pair.target.insert(pair.target.begin() + static_cast<std::ptrdiff_t>(pair.target.size() / 2), intron.begin(), intron.end());
    }
    const SiteScores sites = sites_of(pair.target, static_cast<Sites>(random() % 3));
    const auto expected = matrix(scores, pair, sites);
    for (const TieOrder ties : {TieOrder::gap_right, TieOrder::gap_left}) {
      Problem problem = pair.problem(random, false);
      problem.ties = ties;
      problem.goal = Goal::ends;
      Alignment made;
      align_spliced_plainly(scores, problem, {sites.donor, sites.acceptor}, rows, made);
      CHECK(made.score == expected.back().back());
      if (ties == TieOrder::gap_left) std::reverse(made.cigar.begin(), made.cigar.end());
      CHECK(path_score(scores, pair, sites, made.cigar) == made.score);
      problem.goal = Goal::extension;
      problem.z_drop = problem.end_bonus = -1;
      Alignment extension;
      align_spliced_plainly(scores, problem, {sites.donor, sites.acceptor}, rows, extension);
      std::int64_t best = 0, at_end = expected[1].back();
      for (std::size_t i = 1; i < expected.size(); ++i) {
        best = std::max(best, *std::max_element(expected[i].begin() + 1, expected[i].end()));
        at_end = std::max(at_end, expected[i].back());
      }
      CHECK(extension.best == best);
      CHECK(extension.query_end_score == at_end);
      if (best > 0) CHECK(expected[static_cast<std::size_t>(extension.best_target) + 1][static_cast<std::size_t>(extension.best_query) + 1] == best);
    }
  }
}

TEST_CASE("every instruction set finds what the plain loops find") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(4);
    SplicedRows plain_rows, rows;
    for (int round = 0; round < 300; ++round) {
      CAPTURE(round);
      const Scores& scores = spliced_scores[random() % spliced_scores.size()];
      Pair pair = random_pair(random, 1 + random() % 200, 1 + random() % 200);
      const Bases intron = kernel_problems::random_bases(random, random() % 400, 4, 5);
      pair.target.insert(pair.target.begin() + static_cast<std::ptrdiff_t>(pair.target.size() / 2), intron.begin(), intron.end());
      const Direction direction = random() % 2 == 0 ? Direction::forward : Direction::backward;
      SiteScores sites = sites_of(pair.target, static_cast<Sites>(random() % 3), direction);
      if (round % 7 == 0) sites.donor[random() % sites.donor.size()] = static_cast<std::int8_t>(round % 2 == 0 ? 9 : 90);
      // Known junctions that are worth more than their introns cost: the border in front of the read's first base knows nothing of them.
      for (std::uint32_t known = round % 3 == 0 ? random() % 8 : 0; known > 0; --known) {
        sites.donor[random() % sites.donor.size()] = static_cast<std::int8_t>(5 + random() % 40);
        sites.acceptor[random() % sites.acceptor.size()] = static_cast<std::int8_t>(5 + random() % 40);
      }
      const Problem problem = pair.problem(random, false);
      Alignment expected, found;
      align_spliced_plainly(scores, problem, {sites.donor, sites.acceptor}, plain_rows, expected);
      align_spliced(scores, problem, {sites.donor, sites.acceptor}, rows, found);
      CHECK(found.best == expected.best);
      CHECK(found.best_target == expected.best_target);
      CHECK(found.best_query == expected.best_query);
      CHECK(found.query_end_score == expected.query_end_score);
      CHECK(found.query_end_target == expected.query_end_target);
      CHECK(found.score == expected.score);
      CHECK(found.dropped == expected.dropped);
      CHECK(found.reached_end == expected.reached_end);
      CHECK(found.cigar == expected.cigar);
    }
  });
}

TEST_CASE("what leaves a column is what the recurrences give, behind the beginning or behind given scores") {
  sluice::testing::for_each_instruction_set([] {
    std::mt19937 random(6);
    SplicedRows rows;
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const Scores& scores = spliced_scores[random() % 4];
      Pair pair = random_pair(random, 1 + random() % (round % 20 == 0 ? 300 : 70), 1);
      pair.target = kernel_problems::random_bases(random, pair.query.size() + 4 + random() % 80, 4, 10);
      std::copy(pair.query.begin() + static_cast<std::ptrdiff_t>(random() % pair.query.size()), pair.query.end(), pair.target.begin() + 2);
      const SiteScores sites = sites_of(pair.target, static_cast<Sites>(random() % 3));
      const std::size_t read = pair.query.size();
      std::vector<std::int32_t> score{-scores.gap_open_long}, intron{-scores.gap_open_long};
      for (std::size_t j = 0; j < read; ++j) {
        score.push_back(score.back() + (random() % 3 == 0 ? -scores.gap_extend : scores.match));  // never below an insertion
        intron.push_back(score.back() - static_cast<std::int32_t>(random() % static_cast<unsigned>(scores.gap_open_long + 1)));
      }
      const SplicedStart start{score, intron};
      const bool starts = random() % 2 == 0;
      Problem problem = pair.problem(random, false);
      problem.goal = Goal::ends;
      problem.ties = TieOrder::gap_right;
      std::vector<SplicedEdge> edges(2);
      edges[0].column = static_cast<std::int32_t>(read + random() % 3);
      edges[1].column = static_cast<std::int32_t>(pair.target.size()) - 1;
      Alignment unused;
      const SiteColumns columns{sites.donor, sites.acceptor};
      if (starts)
        score_spliced_edges(scores, problem, columns, start, rows, edges);
      else
        align_spliced(scores, problem, columns, rows, unused, edges);
      // One base more, of which only what enters is asked.
      Pair longer = pair;
      longer.target.push_back(0);
      SiteScores longer_sites = sites;
      longer_sites.donor.push_back(0);
      longer_sites.acceptor.push_back(0);
      const Matrix expected = whole_matrix(scores, longer, longer_sites, starts ? &start : nullptr);
      for (const SplicedEdge& edge : edges) {
        if (edge.score.empty()) continue;  // plain loops do not say it
        REQUIRE(edge.score.size() == read + 1);
        const auto row = static_cast<std::size_t>(edge.column) + 1;
        for (std::size_t j = 1; j <= read; ++j) {
          CHECK(edge.score[j] == std::max(expected.best[row][j], expected.deletion[row + 1][j]));
          CHECK(edge.intron[j] == expected.intron[row + 1][j]);
        }
      }
    }
  });
}

TEST_CASE("a piece without bases, and costs that leave an intron no room, give nothing") {
  SplicedRows rows;
  const Bases some = {0, 1, 2, 3};
  const SiteScores sites = sites_of(some, Sites::none);
  Alignment made;
  align_spliced(spliced_scores[0], {.query = some.data(), .target = some.data(), .query_length = 4, .target_length = 0},
                {sites.donor, sites.acceptor}, rows, made);
  CHECK(made.cigar.empty());
  align_spliced({.gap_open_long = 5}, {.query = some.data(), .target = some.data(), .query_length = 4, .target_length = 4},
                {sites.donor, sites.acceptor}, rows, made);
  CHECK(made.cigar.empty());
  CHECK(made.score == Alignment::unreached);
}

TEST_CASE("ends of introns cost what their bases say, on both strands and in both directions") {
  struct Case {
    std::string_view text;
    int donor, acceptor;
  };
  // The donor behind the base in front of the intron, the acceptor at its last base; both introns have four bases between their ends' three.
  for (const Case& site :
       {Case{"CCGTAAAAATAGCCCC", 0, 0}, Case{"CCGTCAAAAAAGCCCC", -3, -3}, Case{"CCGCCAAAAAACCCCC", -5, -7}, Case{"CCATCAAAAATTCCCC", -7, -10}}) {
    const std::string text(site.text);
    CAPTURE(text);
    const Bases codes = codes_of(text);
    const std::size_t bases = codes.size(), before = 1, last = 11;
    const SiteScores forward = sites_of(codes, Sites::forward);
    CHECK(forward.donor[before] == site.donor);
    CHECK(forward.acceptor[last] == site.acceptor);
    // Of the reverse complement the intron begins with the acceptor.
    Bases other(codes.rbegin(), codes.rend());
    for (std::uint8_t& code : other) code = static_cast<std::uint8_t>(3 - code);
    const SiteScores reverse = sites_of(other, Sites::reverse);
    CHECK(reverse.acceptor[bases - 1 - before - 1] == site.donor);
    CHECK(reverse.donor[bases - 1 - last - 1] == site.acceptor);
    // From the end to the beginning, the same.
    const Bases backward(codes.rbegin(), codes.rend());
    const SiteScores from_end = sites_of(backward, Sites::forward, Direction::backward);
    CHECK(from_end.donor[bases - 1 - last - 1] == site.acceptor);
    CHECK(from_end.acceptor[bases - 1 - before - 1] == site.donor);
  }
  CHECK(sites_of(codes_of("CCGTAAAAATAGCCCC"), Sites::none).donor[1] == 0);
}
