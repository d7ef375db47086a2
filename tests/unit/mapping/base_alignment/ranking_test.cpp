// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/ranking.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace sluice::base_alignment;

namespace {

// A hit of the read's bases [begin, end) with 10 % differences.
AlignedHit hit(std::int32_t begin, std::int32_t end, std::int32_t target_start, std::int32_t score, std::int32_t chain_score) {
  const std::int32_t length = end - begin;
  return {.query_start = begin,
          .query_end = end,
          .target = 0,
          .target_start = target_start,
          .target_end = target_start + length,
          .matches = length * 9 / 10,
          .columns = length,
          .score = score,
          .chain_score = chain_score,
          .anchors = 50};
}

std::vector<AlignedHit> ranked(std::vector<AlignedHit> hits, std::int32_t repeat_length = 0) {
  RankingScratch scratch;
  rank_alignments({}, repeat_length, scratch, hits);
  return hits;
}

}  // namespace

TEST_CASE("a secondary hit with the better alignment becomes primary") {
  const auto hits = ranked({hit(0, 1000, 5000, 1200, 600), hit(0, 1000, 90000, 1500, 590)});
  CHECK(!hits[0].is_primary);
  CHECK(hits[0].mapping_quality == 0);
  CHECK(hits[1].is_primary);
  CHECK(hits[1].mapping_quality > 0);
}

TEST_CASE("hits of equal score stay in the order of their chains, and none is sure") {
  const auto hits = ranked({hit(0, 1000, 5000, 1500, 600), hit(0, 1000, 90000, 1500, 600)});
  CHECK(hits[0].is_primary);
  CHECK(!hits[1].is_primary);
  CHECK(hits[0].mapping_quality == 0);
}

TEST_CASE("hits of different parts of a read are primary both") {
  const auto hits = ranked({hit(0, 1000, 5000, 1200, 600), hit(1000, 2000, 90000, 1500, 600), hit(900, 2050, 300000, 800, 300)});
  CHECK(hits[0].is_primary);
  CHECK(hits[1].is_primary);
  CHECK(!hits[2].is_primary);
}

TEST_CASE("the mapping quality is that of minimap2's formulas") {
  // Alone: the chain's rival is taken to have a score of 40.
  const float alone = 0.9F * 40 * (1 - 40.0F / 50) * std::log(200.0F / 2) * 0.5F;
  CHECK(ranked({hit(0, 1000, 5000, 200, 50)})[0].mapping_quality == static_cast<int>(alone));
  // The less, the more of the read lies in repeats.
  CHECK(ranked({hit(0, 1000, 5000, 200, 50)}, 50)[0].mapping_quality == static_cast<int>(alone / 2));
  // With a rival, which has as many anchors and counts as one.
  const float second = 1000.0F * 500 / 1500 / 600;
  const float with_rival = 0.9F * 40 * (1 - second * second) * std::log(1500.0F / 2);
  const auto by_difference = static_cast<int>(6.02F * 0.9F * 0.9F * 500 / 2 + 0.499F);
  const int expected = std::min(static_cast<int>(with_rival), by_difference) - static_cast<int>(4.343F * std::log(2.0F) + 0.499F);
  CHECK(ranked({hit(0, 1000, 5000, 1500, 600), hit(0, 1000, 90000, 1000, 500)})[0].mapping_quality == std::min(expected, 60));
  // Two chains that have grown into one alignment are no rivals by its score.
  CHECK(ranked({hit(0, 1000, 5000, 1500, 600), hit(0, 1000, 5000, 1500, 100)})[0].mapping_quality > 30);
}

TEST_CASE("whatever the hits, the best is primary and every secondary one overlaps a better primary one") {
  std::mt19937 random(21);
  for (int round = 0; round < 2000; ++round) {
    std::vector<AlignedHit> hits(random() % 8);
    for (AlignedHit& h : hits) {
      const auto begin = static_cast<std::int32_t>(random() % 3000);
      h = hit(begin, begin + 1 + static_cast<std::int32_t>(random() % 3000), static_cast<std::int32_t>(random() % 3),
              static_cast<std::int32_t>(random() % 50), static_cast<std::int32_t>(random() % 300));
      h.score -= 5;  // alignments of nothing but differences
    }
    hits = ranked(hits, static_cast<std::int32_t>(random() % 1000));
    for (const AlignedHit& h : hits) {
      CHECK(h.mapping_quality <= 60);
      if (h.is_primary) continue;
      CHECK(h.mapping_quality == 0);
      CHECK(std::any_of(hits.begin(), hits.end(), [&](const AlignedHit& best) {
        return best.is_primary && best.score >= h.score && best.query_start < h.query_end && best.query_end > h.query_start;
      }));
    }
    if (!hits.empty()) {
      const auto best = std::max_element(hits.begin(), hits.end(), [](const AlignedHit& a, const AlignedHit& b) { return a.score < b.score; });
      CHECK(best->is_primary);
    }
  }
}
