// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Ends and seeds of chains against the description of the method (minimap2 2.24), which is written down here with numbers of its own.
#include "base_alignment/chain_ends.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

using namespace sluice::base_alignment;

namespace {

constexpr std::uint64_t join_bit = std::uint64_t{1} << 40, ignore_bit = std::uint64_t{1} << 41, self_bit = std::uint64_t{1} << 43;

struct Place {
  std::int64_t x, y, span;
};
Place place_of(const Anchor& anchor) {
  return {static_cast<std::int64_t>(anchor.x & 0xFFFFFFFF), static_cast<std::int64_t>(anchor.y & 0xFFFFFFFF),
          static_cast<std::int64_t>(anchor.y >> 32 & 0xFF)};
}
Anchor anchor_of(const Place& at) {
  return {static_cast<std::uint64_t>(at.x), static_cast<std::uint64_t>(at.span) << 32 | static_cast<std::uint64_t>(at.y)};
}

// Steps of which one in three has a gap of up to so many bases, often one that takes the one before back.
std::vector<Anchor> made_up_chain(std::mt19937& random, std::size_t count, std::uint32_t largest_gap) {
  std::vector<Anchor> anchors;
  Place at{5000 + static_cast<std::int64_t>(random() % 100), 3000 + static_cast<std::int64_t>(random() % 100), 15};
  std::int64_t last_gap = 0;
  for (std::size_t i = 0; i < count; ++i) {
    anchors.push_back(anchor_of(at));
    const auto step = static_cast<std::int64_t>(1 + random() % (random() % 8 == 0 ? 400 : 60));
    std::int64_t gap = random() % 3 == 0 ? static_cast<std::int64_t>(random() % (1 + random() % largest_gap)) : 0;
    if (random() % 2 == 0) gap = -gap;
    if (random() % 3 == 0) gap = -last_gap;
    if (gap != 0) last_gap = gap;
    at.x += step + std::max<std::int64_t>(gap, 0);
    at.y += step + std::max<std::int64_t>(-gap, 0);
    at.span = 15 + random() % 5;
  }
  return anchors;
}

AlignedHit whole(const std::vector<Anchor>& anchors) {
  AlignedHit hit;
  hit.anchors = static_cast<std::int32_t>(anchors.size());
  measure_chain(anchors, 100'000, hit);
  return hit;
}

std::pair<std::int64_t, std::int64_t> described_ends(const std::vector<Anchor>& a, std::int64_t matches, std::int64_t bw, std::int64_t min_score) {
  const auto count = static_cast<std::int64_t>(a.size());
  if (count < 3) return {0, count};
  const auto at = [&](std::int64_t i) { return place_of(a[static_cast<std::size_t>(i)]); };
  const auto walk = [&](std::int64_t first, std::int64_t step, std::int64_t stop, auto&& cut) {
    std::int64_t covered = at(first).span, way = covered;
    for (std::int64_t i = first + step; i != stop; i += step) {
      const Place left = at(std::min(i, i - step)), right = at(std::max(i, i - step));
      const std::int64_t dx = right.x - left.x, dy = right.y - left.y, least = std::min(dx, dy), most = std::max(dx, dy);
      if (most - least > way / 2) cut(i);
      way += least;
      covered += std::min(least, right.span);
      if (way >= 2 * bw || (covered >= 2 * min_score && covered >= bw) || covered >= matches / 2) return;
    }
  };
  std::int64_t first = 0, end = count;
  walk(0, 1, count - 1, [&](std::int64_t i) { first = i; });
  walk(count - 1, -1, first, [&](std::int64_t i) { end = i + 1; });
  return {first, end - first};
}

void described_seeds(std::vector<Anchor>& a, std::int64_t max_gap) {
  const std::int64_t far = max_gap / 2;
  const auto at = [&](std::size_t i) { return place_of(a[i]); };
  const auto g = [&](std::size_t j) { return (at(j).y - at(j - 1).y) - (at(j).x - at(j - 1).x); };
  const auto above = [&](std::int64_t least) {
    std::vector<std::size_t> k;
    for (std::size_t j = 1; j < a.size(); ++j)
      if (std::abs(g(j)) > least) k.push_back(j);
    return k;
  };
  if (const std::vector<std::size_t> k = above(10); k.size() >= 2) {
    std::int64_t best = 0, begin = -1, end = -1;
    const auto n = static_cast<std::int64_t>(k.size());
    const auto of = [&](std::int64_t i) { return k[static_cast<std::size_t>(i)]; };
    for (std::int64_t i = 0;; ++i) {
      if (i == n || i >= end) {
        if (end > 0)
          for (std::size_t j = of(begin); j < of(end); ++j) a[j].y |= ignore_bit;
        best = 0, begin = end = -1;
        if (i == n) break;
      }
      std::int64_t inserted = std::max<std::int64_t>(g(of(i)), 0), deleted = std::max<std::int64_t>(-g(of(i)), 0), most = 0, last = -1;
      const Place from = at(of(i) - 1);
      for (std::int64_t l = i + 1; l <= std::min(n - 1, i + 10); ++l) {
        if (at(of(l)).y - from.y > far || at(of(l)).x - from.x > far) break;
        inserted += std::max<std::int64_t>(g(of(l)), 0);
        deleted += std::max<std::int64_t>(-g(of(l)), 0);
        const std::int64_t both = inserted + deleted - std::abs(inserted - deleted);
        if (both > most) most = both, last = l;
      }
      if (most > 40 && most > best) best = most, begin = i, end = last;
    }
  }
  if (const std::vector<std::size_t> k = above(30); k.size() >= 2) {
    for (std::size_t i = 0; i < k.size();) {
      Place from = at(k[i]);
      std::int64_t before = std::abs(g(k[i]));
      std::size_t l = i + 1;
      for (; l < k.size(); ++l) {
        const Place here = at(k[l]), previous = at(k[l] - 1);
        if (here.y - from.y > far || here.x - from.x > far) break;
        const std::int64_t behind = std::abs(g(k[l]));
        if (std::min(previous.x + previous.span - from.x, previous.y + previous.span - from.y) > before + behind) break;
        from = here, before = behind;
      }
      if (l > i + 1) {
        for (std::size_t j = k[i]; j < k[l - 1]; ++j) a[j].y |= ignore_bit;
        a[k[l - 1]].y |= join_bit;
      }
      i = l;
    }
  }
}

}  // namespace

TEST_CASE("settings that nobody gives are those of minimap2 2.24, map-ont") {
  const AlignmentSettings s;
  CHECK(s.scores.match == 2);
  CHECK(s.scores.mismatch == 4);
  CHECK(s.scores.ambiguous == 1);
  CHECK(s.scores.gap_open == 4);
  CHECK(s.scores.gap_extend == 2);
  CHECK(s.scores.gap_open_long == 24);
  CHECK(s.scores.gap_extend_long == 1);
  CHECK(s.z_drop == 400);
  CHECK(s.z_drop_inversion == 200);
  CHECK(s.end_bonus == -1);
  CHECK(s.min_score == 80);
  CHECK(s.min_fill_length == 200);
  CHECK(s.max_cells == 100'000'000);
  CHECK(s.max_clip_ratio == 1.0F);
  CHECK(s.bw == 500);
  CHECK(s.bw_long == 20000);
  CHECK(s.max_gap == 5000);
  CHECK(s.min_chain_score == 40);
  CHECK(s.min_count == 3);
  CHECK(s.best_count == 5);
  CHECK(s.secondary_ratio == 0.8F);
}

TEST_CASE("doubtful ends of a chain are cut where the description cuts them") {
  std::mt19937 random(41);
  int cut = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Anchor> anchors = made_up_chain(random, random() % 60 + 1, 1 + random() % 300);
    AlignmentSettings settings;
    settings.bw = round % 2 == 0 ? 500 : 30 + static_cast<std::int32_t>(random() % 200);
    settings.min_chain_score = round % 3 == 0 ? 40 : 10 + static_cast<std::int32_t>(random() % 100);
    const AlignedHit hit = whole(anchors);
    const auto [first, count] = described_ends(anchors, hit.matches, settings.bw, settings.min_chain_score);
    const AnchorRange range = trim_ends(anchors, hit, settings);
    CHECK(range.first == first);
    CHECK(range.count == count);
    cut += count < static_cast<std::int64_t>(anchors.size()) ? 1 : 0;
  }
  CHECK(cut > 300);
}

TEST_CASE("seeds are left out, and gaps joined, where the description does it") {
  std::mt19937 random(43);
  int left_out_seeds = 0, joins = 0;
  Jumps jumps;
  for (int round = 0; round < 4000; ++round) {
    std::vector<Anchor> anchors = made_up_chain(random, random() % 90 + 1, 5 + random() % 150), expected = anchors;
    const auto max_gap = static_cast<std::int32_t>(round % 2 == 0 ? 5000 : 100 + random() % 2000);
    described_seeds(expected, max_gap);
    flag_bad_seeds(anchors, max_gap, jumps);
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      REQUIRE(anchors[i].y == expected[i].y);
      left_out_seeds += (anchors[i].y & ignore_bit) != 0 ? 1 : 0;
      joins += (anchors[i].y & join_bit) != 0 ? 1 : 0;
    }
  }
  CHECK(left_out_seeds > 1000);
  CHECK(joins > 1000);
}

TEST_CASE("an alignment reaches as far as its score pays for gaps, and not beyond the fourth anchor of the next chain") {
  // A chain of ten anchors behind and before others, on a contig and a read with room.
  std::vector<Anchor> anchors;
  for (int i = 0; i < 6; ++i) anchors.push_back(anchor_of({20'000 + 30 * i, 1000 + 30 * i, 15}));
  for (int i = 0; i < 10; ++i) anchors.push_back(anchor_of({30'000 + 20 * i, 9000 + 20 * i, 15}));
  for (int i = 0; i < 5; ++i) anchors.push_back(anchor_of({31'000 + 30 * i, 9900 + 30 * i, 15}));
  AlignedHit hit;
  hit.first_anchor = 6;
  hit.anchors = 10;
  measure_chain(anchors, 40'000, hit);
  const Point begin{29'993, 8993}, end{30'173, 9173};
  AlignmentSettings settings;
  const Reach reach = reach_of(anchors, hit, begin, end, {1'000'000, 40'000}, settings);
  // 5,000 bases to the left (max_gap), on the target as well: 5,000 + (10,000 - 4) / 2, but no more than max_gap.
  CHECK(reach.query_begin == 8993 - 5000);
  CHECK(reach.target_begin == 29'993 - 5000);
  // To the right the fourth anchor of the next chain, last base 31,090 and 9,990: max(31,091 - 30,181, 9,991 - 9,181) = 910.
  CHECK(reach.query_end == 9181 + 910);
  CHECK(reach.target_end == 30'181 + 910);

  settings.max_gap = 300;
  const Reach near = reach_of(anchors, hit, begin, end, {1'000'000, 40'000}, settings);
  CHECK(near.query_begin == 8693);
  CHECK(near.target_begin == 29'693);
  CHECK(near.query_end == 9473);
  CHECK(near.target_end == 30'473);

  // 60 bases of the read are left: 60 * 2 - 4 pays for 58 bases of gaps.
  settings.max_gap = 5000;
  const Reach at_end = reach_of(std::span(anchors).first(16), hit, begin, end, {1'000'000, 9173 + 60}, settings);
  CHECK(at_end.query_end == 9233);
  CHECK(at_end.target_end == 30'173 + 60 + 58);

  // Of a read against itself no further than the diagonal is away.
  anchors[6].y |= self_bit;
  const Reach of_self = reach_of(anchors, hit, begin, end, {1'000'000, 40'000}, settings);
  CHECK(of_self.query_begin == std::max(8993 - 5000, hit.query_start - std::abs(hit.query_start - hit.target_start)));
}
