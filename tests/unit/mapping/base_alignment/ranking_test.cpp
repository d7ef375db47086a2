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
  AlignedHit made;
  made.query_start = begin;
  made.query_end = end;
  made.target_start = target_start;
  made.target_end = target_start + length;
  made.matches = length * 9 / 10;
  made.columns = length;
  made.score = made.best_score = score;
  made.chain_score = made.whole_chain_score = chain_score;
  made.anchors = 50;
  made.cigar = {static_cast<std::uint32_t>(length) << 4};
  return made;
}

std::vector<AlignedHit> ranked(std::vector<AlignedHit> hits, std::int32_t repeat_length = 0) {
  const AlignmentSettings settings;
  RankingScratch scratch;
  sort_by_score(hits);
  set_parents(settings, scratch, hits);
  drop_secondary_hits(settings, scratch, hits);
  set_mapping_quality(settings, repeat_length, hits);
  return hits;
}

}  // namespace

TEST_CASE("a secondary hit with the better alignment becomes primary") {
  const auto hits = ranked({hit(0, 1000, 5000, 1200, 600), hit(0, 1000, 90000, 1500, 590)});
  REQUIRE(hits.size() == 2);
  CHECK(hits[0].target_start == 90000);
  CHECK(hits[0].primary());
  CHECK(hits[0].leads);
  CHECK(hits[0].mapping_quality > 0);
  CHECK_FALSE(hits[1].primary());
  CHECK(hits[1].mapping_quality == 0);
}

TEST_CASE("of equal scores the higher hash comes first, and of equal hashes the later hit; none is sure") {
  auto first = hit(0, 1000, 5000, 1500, 600), second = hit(0, 1000, 90000, 1500, 600);
  CHECK(ranked({first, second})[0].target_start == 90000);
  first.hash = 7;
  const auto hits = ranked({first, second});
  CHECK(hits[0].target_start == 5000);
  CHECK(hits[0].mapping_quality == 0);
  CHECK_FALSE(hits[1].primary());
}

TEST_CASE("hits of different parts of a read are primary both") {
  const auto hits = ranked({hit(0, 1000, 5000, 1200, 600), hit(1000, 2000, 90000, 1500, 600), hit(900, 2050, 300000, 800, 590)});
  REQUIRE(hits.size() == 3);
  CHECK(hits[0].primary());
  CHECK(hits[1].primary());
  CHECK_FALSE(hits[2].primary());
  CHECK(std::count_if(hits.begin(), hits.end(), [](const AlignedHit& h) { return h.leads; }) == 1);
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
}

TEST_CASE("an inversion is as sure as the less sure of its neighbours on the target") {
  auto left = hit(0, 1000, 5000, 1500, 600), right = hit(1600, 2600, 6600, 300, 70), inside = hit(1000, 1600, 6000, 400, 0);
  inside.inversion = true;
  const auto hits = ranked({left, right, inside});
  const auto quality_at = [&](std::int32_t place) {
    return std::find_if(hits.begin(), hits.end(), [&](const AlignedHit& h) { return h.target_start == place; })->mapping_quality;
  };
  CHECK(quality_at(6600) < quality_at(5000));
  CHECK(quality_at(6000) == quality_at(6600));
}

TEST_CASE("weak hits are dropped, and with all chains kept none is primary") {
  AlignmentSettings settings;
  auto few = hit(0, 1000, 0, 1000, 300), low = hit(0, 1000, 0, 79, 300), clipped = hit(400, 600, 0, 300, 100);
  few.anchors = 2;
  std::vector<AlignedHit> hits = {few, low, clipped, hit(0, 1000, 0, 80, 300)};
  drop_weak(settings, 1000, hits);
  REQUIRE(hits.size() == 2);
  settings.max_clip_ratio = 0.3F;
  drop_weak(settings, 1000, hits);
  CHECK(hits.size() == 1);
}

TEST_CASE("equally good places are scored anew by the differences that the best one has") {
  std::vector<AlignedHit> hits = {hit(0, 1000, 5000, 1000, 600), hit(0, 1000, 90000, 950, 600)};
  hits[1].matches = 880;
  REQUIRE(adjust_scores({}, 1000, hits));
  CHECK(hits[0].best_score == static_cast<int>(2 * (900 - 0.5 / (1.0 - 0.9) * 100) + .499));
  CHECK(hits[1].best_score == static_cast<int>(2 * (880 - 0.5 / (1.0 - 0.9) * 120) + .499));
  CHECK_FALSE(adjust_scores({}, 499, hits));
  hits.pop_back();
  CHECK_FALSE(adjust_scores({}, 1000, hits));
}

TEST_CASE("a secondary hit is compared with its primary one; 2.24 compares it with the hit that has moved there") {
  // The second hit has the first's place and is dropped, so the third moves up, and the fourth to the third's place. The fifth is secondary to the
  // third and has its place.
  const std::vector<AlignedHit> made = {hit(0, 1000, 5000, 1500, 600), hit(0, 1000, 5000, 1400, 590), hit(2000, 3000, 90000, 1300, 500),
                                        hit(2000, 3000, 20000, 1200, 490), hit(2000, 3000, 90000, 1100, 480)};
  const auto places = [&](sluice::overlap::Minimap2Release release) {
    AlignmentSettings settings;
    settings.release = release;
    RankingScratch scratch;
    std::vector<AlignedHit> hits = made;
    set_parents(settings, scratch, hits);
    drop_secondary_hits(settings, scratch, hits);
    std::vector<std::int32_t> starts;
    for (const AlignedHit& h : hits) starts.push_back(h.target_start);
    return starts;
  };
  CHECK(places(sluice::overlap::Minimap2Release::v2_31) == std::vector<std::int32_t>{5000, 90000, 20000});
  CHECK(places(sluice::overlap::Minimap2Release::v2_24) == std::vector<std::int32_t>{5000, 90000, 20000, 90000});
}

TEST_CASE("whatever the hits, the best is primary and every secondary one overlaps a better primary one") {
  std::mt19937 random(21);
  for (int round = 0; round < 2000; ++round) {
    std::vector<AlignedHit> hits(random() % 8);
    for (AlignedHit& h : hits) {
      const auto begin = static_cast<std::int32_t>(random() % 3000);
      h = hit(begin, begin + 1 + static_cast<std::int32_t>(random() % 3000), static_cast<std::int32_t>(random() % 3),
              static_cast<std::int32_t>(random() % 50), static_cast<std::int32_t>(random() % 300));
    }
    hits = ranked(hits, static_cast<std::int32_t>(random() % 1000));
    for (const AlignedHit& h : hits) {
      CHECK(h.mapping_quality <= 60);
      if (h.primary()) continue;
      CHECK(h.mapping_quality == 0);
      CHECK(std::any_of(hits.begin(), hits.end(), [&](const AlignedHit& best) {
        return best.primary() && best.best_score >= h.best_score && best.query_start < h.query_end && best.query_end > h.query_start;
      }));
    }
    if (!hits.empty()) CHECK(hits[0].primary());
  }
}
