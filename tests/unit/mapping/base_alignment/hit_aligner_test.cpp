// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/hit_aligner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>

using namespace sluice::base_alignment;

namespace {

std::string text(const Path& path) {
  std::string result;
  for (const std::uint32_t operation : path.operations()) result += std::to_string(operation >> 4) + "MIDNSHP=X"[operation & 15U];
  return result;
}

Path path_of(std::initializer_list<std::pair<char, std::uint32_t>> operations) {
  Path path;
  for (const auto& [code, bases] : operations) path.add(code == 'I' ? insertion : code == 'D' ? deletion : match_or_mismatch, bases);
  return path;
}

std::string random_bases(std::mt19937& random, std::size_t count) {
  std::string bases;
  for (std::size_t i = 0; i < count; ++i) bases += "ACGT"[random() % 4];
  return bases;
}

std::string with_errors(std::mt19937& random, const std::string& bases, std::uint32_t percent) {
  std::string result;
  for (const char base : bases) {
    if (random() % 100 >= percent) {
      result += base;
      continue;
    }
    const std::uint32_t kind = random() % 3;
    if (kind != 0) result += "ACGT"[random() % 4];
    if (kind == 1) result += base;
  }
  return result;
}

// The best score of a global alignment by the recurrences of two affine gap costs, cell by cell.
std::int32_t best_score(const std::string& query, const std::string& target, const Scoring& s) {
  constexpr std::int32_t low = -1000000;
  const std::size_t n = query.size(), m = target.size();
  using Row = std::vector<std::int32_t>;
  std::vector<Row> h(n + 1, Row(m + 1, low)), i1 = h, i2 = h, d1 = h, d2 = h;
  h[0][0] = 0;
  for (std::size_t q = 0; q <= n; ++q)
    for (std::size_t t = 0; t <= m; ++t) {
      if (q > 0) {
        i1[q][t] = std::max(h[q - 1][t] - s.gap_open, i1[q - 1][t]) - s.gap_extend;
        i2[q][t] = std::max(h[q - 1][t] - s.long_gap_open, i2[q - 1][t]) - s.long_gap_extend;
      }
      if (t > 0) {
        d1[q][t] = std::max(h[q][t - 1] - s.gap_open, d1[q][t - 1]) - s.gap_extend;
        d2[q][t] = std::max(h[q][t - 1] - s.long_gap_open, d2[q][t - 1]) - s.long_gap_extend;
      }
      if (q > 0 && t > 0) h[q][t] = h[q - 1][t - 1] + (query[q - 1] == target[t - 1] ? s.match : -s.mismatch);
      h[q][t] = std::max({h[q][t], i1[q][t], i2[q][t], d1[q][t], d2[q][t]});
    }
  return h[n][m];
}

// Bases that a path takes of both sequences.
std::pair<std::size_t, std::size_t> taken(const Path& path) {
  std::size_t query = 0, target = 0;
  for (const std::uint32_t operation : path.operations()) {
    if ((operation & 15U) != deletion) query += operation >> 4;
    if ((operation & 15U) != insertion) target += operation >> 4;
  }
  return {query, target};
}

struct Anchors {
  std::vector<std::uint64_t> x, y;
};
// Every place where k bases agree on the diagonal that `query` has there, given the true place of each query base.
Anchors anchors_of(const std::string& query, const std::string& target, std::size_t k) {
  Anchors anchors;
  std::size_t from = 0;
  for (std::size_t q = 0; q + k <= query.size(); q += 5) {
    const std::size_t near = target.find(query.substr(q, k), from);
    if (near == std::string::npos) continue;
    from = near + 1;
    anchors.x.push_back(near + k - 1);
    anchors.y.push_back(std::uint64_t{k} << 32 | (q + k - 1));
  }
  return anchors;
}

}  // namespace

TEST_CASE("a gap moves to the left as far as nothing changes") {
  Path path = path_of({{'M', 5}, {'D', 1}, {'M', 3}});
  left_align(path, "ACAAATCG", "ACAAAATCG");
  CHECK(text(path) == "2M1D6M");
  path = path_of({{'M', 6}, {'I', 2}, {'M', 3}});
  left_align(path, "GATATATACGT", "GATATACGT");
  CHECK(text(path) == "1M2I8M");
  path = path_of({{'M', 4}, {'I', 1}, {'M', 4}});
  left_align(path, "ACGTCACGT", "ACGTACGT");
  CHECK(text(path) == "4M1I4M");
}

TEST_CASE("the tags of an alignment say what it is") {
  const Path path = path_of({{'M', 4}, {'I', 2}, {'M', 3}, {'D', 3}, {'M', 2}});
  const std::string query = "ACGTTTAAACC", target = "ACCTAAAGGGCC";
  std::string difference, mismatches;
  append_difference(difference, path, query, target);
  append_mismatched_reference(mismatches, path, query, target);
  CHECK(difference == ":2*cg:1+tt:3-ggg:2");
  CHECK(mismatches == "2C4^GGG2");
  const Summary summary = summarize(path, query, target, {});
  CHECK(summary.matches == 8);
  CHECK(summary.columns == 14);
  CHECK(summary.edit_distance == 6);
  CHECK(summary.score == 8 * 2 - 4 - 8 - 10);
  Path split = path;
  split_matches(split, query, target);
  CHECK(text(split) == "2=1X1=2I3=3D2=");
}

TEST_CASE("a global alignment has the best score of all") {
  std::mt19937 random(5);
  PairAligner aligner{Scoring{}};
  Path path;
  for (int round = 0; round < 400; ++round) {
    const std::string target = random_bases(random, random() % 90);
    std::string query = random() % 4 == 0 ? random_bases(random, random() % 60) : with_errors(random, target, random() % 40);
    if (random() % 3 == 0 && query.size() > 40) query.erase(10, 28);
    CAPTURE(query);
    CAPTURE(target);
    REQUIRE(aligner.align(query, target, path));
    REQUIRE(taken(path) == std::pair(query.size(), target.size()));
    const std::int32_t best = best_score(query, target, aligner.scoring());
    CHECK(summarize(path, query, target, aligner.scoring()).score == best);
    left_align(path, query, target);
    CHECK(summarize(path, query, target, aligner.scoring()).score >= best);
    CHECK(taken(path) == std::pair(query.size(), target.size()));
  }
}

TEST_CASE("a read is aligned from its first base to its last, whatever lies around its place") {
  std::mt19937 random(11);
  HitAligner aligner{Scoring{}};
  HitAlignment alignment;
  std::vector<FixedPoint> points;
  for (int round = 0; round < 30; ++round) {
    const std::string target = random_bases(random, 3000 + random() % 4000);
    const std::size_t begin = 300 + random() % 500, length = 800 + random() % 1500;
    const std::string query = with_errors(random, target.substr(begin, length), 10);
    const Anchors anchors = anchors_of(query, target, 15);
    REQUIRE(anchors.x.size() > 3);
    choose_fixed_points(anchors.x, anchors.y, Compressed::no, points);
    REQUIRE(!points.empty());
    REQUIRE(aligner.align(query, target, points, alignment));
    CHECK(std::abs(alignment.target_begin - static_cast<int>(begin)) < 20);
    CHECK(std::abs(alignment.target_end - static_cast<int>(begin + length)) < 20);
    CHECK(alignment.query_begin < 20);
    CHECK(alignment.query_end > static_cast<int>(query.size()) - 20);
    const auto [query_bases, target_bases] = taken(alignment.path);
    CHECK(query_bases == static_cast<std::size_t>(alignment.query_end - alignment.query_begin));
    CHECK(target_bases == static_cast<std::size_t>(alignment.target_end - alignment.target_begin));
    const Summary summary = summarize(alignment.path, std::string_view(query).substr(static_cast<std::size_t>(alignment.query_begin)),
                                      std::string_view(target).substr(static_cast<std::size_t>(alignment.target_begin)), {});
    CHECK(summary.matches > 0.85 * summary.columns);
  }
}

TEST_CASE("a long gap stays one gap, and foreign ends are clipped") {
  std::mt19937 random(3);
  const std::string left = random_bases(random, 700), deleted = random_bases(random, 2500), right = random_bases(random, 700);
  const std::string target = left + deleted + right;
  const std::string query = random_bases(random, 400) + left + right + random_bases(random, 300);
  std::vector<FixedPoint> points;
  Anchors anchors;
  for (const std::size_t place : {20U, 300U, 600U, 3300U, 3600U, 3800U})
    for (const std::size_t step : {0U, 10U}) {
      const std::size_t t = place + step, q = 400 + (place < 700 ? t : t - 2500);
      anchors.x.push_back(t + 14);
      anchors.y.push_back(std::uint64_t{15} << 32 | (q + 14));
    }
  choose_fixed_points(anchors.x, anchors.y, Compressed::no, points);
  HitAligner aligner{Scoring{}};
  HitAlignment alignment;
  REQUIRE(aligner.align(query, target, points, alignment));
  CHECK(text(alignment.path).find("2500D") != std::string::npos);
  CHECK(alignment.path.operations().size() == 3);
  CHECK(std::abs(alignment.query_begin - 400) < 12);
  CHECK(std::abs(alignment.query_end - 1800) < 12);
}

TEST_CASE("unrelated stretches between good ones cost little time and stay in place") {
  std::mt19937 random(9);
  const std::string left = random_bases(random, 300), right = random_bases(random, 300);
  const std::string target = left + random_bases(random, 2900) + right, query = left + random_bases(random, 2800) + right;
  const std::vector<FixedPoint> points = {{100, 100}, {3300, 3200}};
  HitAligner aligner{Scoring{}};
  HitAlignment alignment;
  REQUIRE(aligner.align(query, target, points, alignment));
  CHECK(alignment.query_begin == 0);
  CHECK(alignment.query_end == static_cast<int>(query.size()));
  CHECK(taken(alignment.path) == std::pair(query.size(), target.size()));
}

TEST_CASE("chains without usable anchors align nothing") {
  HitAligner aligner{Scoring{}};
  HitAlignment alignment;
  CHECK_FALSE(aligner.align("ACGT", "ACGT", {}, alignment));
  const std::vector<FixedPoint> apart = {{2, 2}};
  CHECK_FALSE(aligner.align("AAAA", "TTTT", apart, alignment));
}
