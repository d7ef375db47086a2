// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gpu/simulated_chains.hpp"
#include "hit_selection/stage.cpp"  // the stage class has no header of its own
#include "unit/default_of.hpp"
#include "unit/mapping/hit_selection/tiny_index.hpp"

using namespace sluice::hit_selection;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

constexpr std::int32_t span = 15;

struct MadeAnchor {
  std::int32_t target_last, query_last;  // last bases, the latter on the strand of the chain
};

// Chains of one read, put together anchor by anchor.
struct MadeRead {
  std::string id = "read";
  std::int32_t length = 1000, repeat_length = 0;
  std::vector<std::uint64_t> seeds, x, y;
  std::vector<std::int32_t> score, count;

  MadeRead& chain(std::int32_t chain_score, std::uint64_t target, bool reverse, const std::vector<MadeAnchor>& anchors) {
    score.push_back(chain_score);
    count.push_back(static_cast<std::int32_t>(anchors.size()));
    for (const MadeAnchor& anchor : anchors) {
      x.push_back((reverse ? std::uint64_t{1} << 63 : 0) | target << 32 | static_cast<std::uint32_t>(anchor.target_last));
      y.push_back(std::uint64_t{span} << 32 | static_cast<std::uint32_t>(anchor.query_last));
    }
    return *this;
  }
  MadeRead& seed(std::int32_t last) {
    seeds.push_back(std::uint64_t{span} << 32 | static_cast<std::uint32_t>(last));
    return *this;
  }
  ReadChains view() const { return {id, length, repeat_length, seeds, score, count, {x, y}}; }
};

// Hits with nothing but what parents and selection ask for; ids in order.
Hit made_hit(std::int32_t id, std::int32_t score, std::int32_t begin, std::int32_t end, std::int32_t target = 0, bool reverse = false) {
  Hit hit;
  hit.id = id;
  hit.score = score;
  hit.anchors = score / 10;
  hit.query_start = begin;
  hit.query_end = end;
  hit.target = target;
  hit.reverse = reverse;
  return hit;
}

std::vector<std::int32_t> parents_of(const std::vector<Hit>& hits) {
  std::vector<std::int32_t> parents;
  for (const Hit& hit : hits) parents.push_back(hit.parent);
  return parents;
}
std::vector<std::int32_t> scores_of(const std::vector<Hit>& hits) {
  std::vector<std::int32_t> scores;
  for (const Hit& hit : hits) scores.push_back(hit.score);
  return scores;
}

const std::vector<std::int32_t> two_contigs = {5000, 700};
TestBatch contigs() { return tiny_index::of({{"one", 5000}, {"two", 700}}); }

}  // namespace

TEST_CASE("a hit spans from the first base of its first anchor to the last base of its last") {
  MadeRead read;
  read.chain(90, 0, false, {{114, 34}, {214, 136}, {300, 220}}).chain(80, 1, true, {{114, 34}, {124, 44}});
  HitOrder order;
  std::vector<Hit> hits;
  make_hits(read.view(), 11, ReadNames::hashed, order, hits);
  REQUIRE(hits.size() == 2);
  CHECK(scores_of(hits) == std::vector<std::int32_t>{90, 80});
  CHECK(hits[0].id == 0);
  CHECK(hits[1].id == 1);
  CHECK(hits[0].query_start == 20);
  CHECK(hits[0].query_end == 221);
  CHECK(hits[0].target_start == 100);
  CHECK(hits[0].target_end == 301);
  CHECK(!hits[0].reverse);
  CHECK(hits[1].reverse);
  CHECK(hits[1].target == 1);
  CHECK(hits[1].query_start == 1000 - 45);
  CHECK(hits[1].query_end == 1000 - 20);
  measure_block(read.view(), hits[0]);
  CHECK(hits[0].matches == 15 + 15 + 15);
  CHECK(hits[0].block == 15 + 102 + 86);
  measure_block(read.view(), hits[1]);
  CHECK(hits[1].matches == 15 + 10);
  CHECK(hits[1].block == 15 + 10);
}

TEST_CASE("chains that somebody else has gone through give the hits of their anchors") {
  const std::vector<std::int32_t> targets = {100'000, 700, 5000};
  simulated::ChainMaker make(5, targets);
  SelectionScratch scratch;
  std::vector<Hit> wanted, got;
  std::size_t compared = 0, estimated = 0;
  for (int i = 0; i < 300; ++i) {
    const simulated::ChainedRead read = make.read(static_cast<std::int32_t>(100 + make.below(9000)), make.below(40), 1 + make.below(100));
    REQUIRE(problem_of(read.view(), targets).empty());
    if (read.count.empty()) continue;
    const std::vector<MeasuredChain> measured = simulated::measured(read);
    ReadChains other = read.view();
    other.measured = measured;
    other.mean_span = mean_span_of(read.seeds);
    other.anchors = {};
    other.seed_position = {};
    for (const Selection selection : {Selection::all, Selection::best}) {
      select_hits(read.view(), targets, {.selection = selection}, scratch, wanted);
      select_hits(other, targets, {.selection = selection}, scratch, got);
      REQUIRE(got.size() == wanted.size());
      for (std::size_t hit = 0; hit < got.size(); ++hit) CHECK(simulated::fields(got[hit]) == simulated::fields(wanted[hit]));
      for (const Hit& hit : wanted) estimated += hit.divergence > 0 ? 1 : 0;
      compared += wanted.size();
    }
  }
  CHECK(compared > 1000);
  CHECK(estimated > 100);
}

TEST_CASE("a k-mer that was longer on the read than the target's beginning starts at 0") {
  MadeRead read;
  read.chain(90, 0, false, {{10, 20}});
  HitOrder order;
  std::vector<Hit> hits;
  make_hits(read.view(), 11, ReadNames::hashed, order, hits);
  CHECK(hits[0].target_start == 0);
}

TEST_CASE("hits come by descending score whatever the number of chains, and ties are shuffled by the name unless it is ignored") {
  for (const int chains : {1, 2, 63, 64, 65, 700, 5000}) {
    MadeRead read;
    read.length = 100'000;
    std::mt19937 random(static_cast<unsigned>(chains));
    for (int i = 0; i < chains; ++i) {
      const auto at = static_cast<std::int32_t>(20 + random() % 4000);
      read.chain(static_cast<std::int32_t>(40 + random() % 50), 0, false, {{at, 30 + 2 * i}, {at + 5, 40 + 2 * i}, {at + 6, 41 + 2 * i}});
    }
    HitOrder order;
    std::vector<Hit> hits, other;
    make_hits(read.view(), 11, ReadNames::hashed, order, hits);
    CHECK(std::is_sorted(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; }));
    std::vector<bool> seen(static_cast<std::size_t>(chains));
    for (const Hit& hit : hits) {
      CHECK(!seen[static_cast<std::size_t>(hit.chain)]);
      seen[static_cast<std::size_t>(hit.chain)] = true;
      CHECK(hit.first_anchor == 3 * hit.chain);
    }
    CHECK(hits.size() == static_cast<std::size_t>(chains));
    const auto chain_of = [](const std::vector<Hit>& list) {
      std::vector<std::int32_t> numbers;
      for (const Hit& hit : list) numbers.push_back(hit.chain);
      return numbers;
    };
    make_hits(read.view(), 11, ReadNames::ignored, order, hits);
    read.id = "another";
    make_hits(read.view(), 11, ReadNames::ignored, order, other);
    CHECK(chain_of(hits) == chain_of(other));
    make_hits(read.view(), 11, ReadNames::hashed, order, other);
    if (chains > 100) CHECK(chain_of(hits) != chain_of(other));
  }
}

TEST_CASE("ties are shuffled by the hash that minimap2 shuffles them by") {
  // Wang's hash of 32 bits: its sums as multiplications modulo 2^32.
  const auto wang = [](std::uint32_t key) {
    key = key * (1U - (1U << 15U)) - 1U;
    key = (key ^ (key >> 10U)) * 9U;
    key ^= key >> 6U;
    key = key * (1U - (1U << 11U)) - 1U;
    return key ^ (key >> 16U);
  };
  // The one of 64 bits, in the same way.
  const auto wide = [](std::uint64_t key) {
    key = key * ((std::uint64_t{1} << 21U) - 1U) - 1U;
    key = (key ^ (key >> 24U)) * 265U;
    key = (key ^ (key >> 14U)) * 21U;
    key ^= key >> 28U;
    return key + (key << 31U);
  };
  MadeRead read;
  read.length = 100'000;
  for (int i = 0; i < 20; ++i) read.chain(77, 0, i % 2 == 1, {{1000 + 7 * i, 100 + 3 * i}});
  HitOrder order;
  std::vector<Hit> hits;
  for (const std::uint32_t seed : {11U, 12U}) {
    make_hits(read.view(), seed, ReadNames::hashed, order, hits);
    std::uint32_t name = 0;
    for (const char letter : std::string("read")) name = 31 * name + static_cast<std::uint32_t>(letter);
    const std::uint32_t of_read = wang(name ^ (wang(100'000) + wang(seed)));
    for (const Hit& hit : hits) {
      const auto chain = static_cast<std::size_t>(hit.chain);
      CHECK(hit.hash == static_cast<std::uint32_t>(wide((wide(read.x[chain]) + wide(read.y[chain])) ^ of_read)));
    }
    // Of equal scores and numbers of anchors the greatest comes first.
    CHECK(std::is_sorted(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return (a.hash ^ 1U) > (b.hash ^ 1U); }));
  }
}

TEST_CASE("the defaults are those of minimap2") {
  const sluice_stage_descriptor& stage = *sluice::testing::stage_of<MapSelection>().descriptor;
  const auto is = [&](const char* option, const std::string& value) { CHECK_MESSAGE(sluice::testing::default_of(stage, option) == value, option); };
  is("secondary_ratio", "0.8");
  is("best_count", "5");
  is("mask_level", "0.5");
  is("max_gap", "5000");
  is("min_chain_score", "40");
  is("seed", "11");
  is("all_chains", "false");
}

TEST_CASE("a hit under a better one is secondary, one beside it primary, one that covers enough alone stays primary") {
  SelectionScratch scratch;
  std::vector<Hit> hits = {made_hit(0, 900, 0, 1000), made_hit(1, 500, 100, 400), made_hit(2, 400, 950, 1500), made_hit(3, 300, 1000, 1500),
                           made_hit(4, 290, 900, 1300)};
  set_parents({}, scratch, hits);
  CHECK(parents_of(hits) == std::vector<std::int32_t>{0, 0, 2, 2, 2});
  CHECK(hits[0].second_score == 500);
  CHECK(hits[2].second_score == 300);
  CHECK(hits[0].rivals == 0);
  // 400 to 1300 of a read: two thirds lie under hit 0, one third alone: 600/900 - 300/1000 < 0.5.
  hits = {made_hit(0, 900, 0, 1000), made_hit(1, 500, 400, 1300)};
  set_parents({}, scratch, hits);
  CHECK(hits[1].parent == 1);
  set_parents({.masking = Masking::hard}, scratch, hits);
  CHECK(hits[1].parent == 0);
  hits = {made_hit(0, 900, 0, 1000), made_hit(1, 500, 100, 1010)};
  set_parents({}, scratch, hits);
  CHECK(hits[1].parent == 0);
  set_parents({.mask_length = 9}, scratch, hits);
  CHECK(hits[1].parent == 1);
}

TEST_CASE("a secondary hit with as many anchors is a rival") {
  SelectionScratch scratch;
  std::vector<Hit> hits = {made_hit(0, 900, 0, 1000), made_hit(1, 899, 0, 1000)};
  hits[1].anchors = hits[0].anchors;
  set_parents({}, scratch, hits);
  CHECK(hits[0].rivals == 1);
}

TEST_CASE("secondary hits are kept by score, up to best_count, unless they are their primary once more") {
  SelectionScratch scratch;
  std::vector<Hit> hits = {made_hit(0, 900, 0, 1000, 0), made_hit(1, 890, 0, 1000, 0), made_hit(2, 880, 0, 1000, 1), made_hit(3, 719, 0, 1000, 2),
                           made_hit(4, 700, 2000, 3000, 2)};
  for (Hit& hit : hits) hit.target_end = 1000;
  auto soft = hits;
  set_parents({}, scratch, soft);
  drop_secondary_hits({}, scratch, soft);
  CHECK(scores_of(soft) == std::vector<std::int32_t>{900, 880, 700});  // 890 has the primary's place, 719 is below 0.8 * 900
  CHECK(parents_of(soft) == std::vector<std::int32_t>{0, 0, 2});
  auto few = hits;
  set_parents({}, scratch, few);
  drop_secondary_hits({.best_count = 0}, scratch, few);
  CHECK(scores_of(few) == std::vector<std::int32_t>{900, 700});
  auto all = hits;
  set_parents({}, scratch, all);
  drop_secondary_hits({.secondary_ratio = 0}, scratch, all);
  CHECK(all.size() == hits.size());
}

TEST_CASE("a secondary hit on the other strand stays if its score is above four fifths of max_gap") {
  SelectionScratch scratch;
  std::vector<Hit> hits = {made_hit(0, 9000, 0, 10000, 0), made_hit(1, 4001, 0, 5000, 0, true), made_hit(2, 4000, 0, 5000, 0, true)};
  set_parents({}, scratch, hits);
  drop_secondary_hits({}, scratch, hits);
  CHECK(scores_of(hits) == std::vector<std::int32_t>{9000, 4001});
  CHECK(hits[1].strand_retained);
  hits[0].divergence = 0.02F;
  hits[1].divergence = 0.09F;
  drop_divergent_strands(sluice::overlap::Minimap2Release::v2_31, hits);
  CHECK(hits.size() == 2);
  hits[1].divergence = 0.11F;
  drop_divergent_strands(sluice::overlap::Minimap2Release::v2_31, hits);
  CHECK(hits.size() == 1);
}

TEST_CASE("the divergence counts the seeds without an anchor between the ends of the hit") {
  MadeRead read;
  read.length = 100;
  for (const int last : {20, 30, 40, 50, 60}) read.seed(last);
  read.chain(50, 0, false, {{220, 20}, {240, 40}, {250, 50}});
  read.chain(40, 0, true, {{220, 100 - 1 - (50 + 1 - span)}, {230, 100 - 1 - (40 + 1 - span)}, {240, 100 - 1 - (30 + 1 - span)}});
  HitOrder order;
  SelectionScratch scratch;
  std::vector<Hit> hits;
  make_hits(read.view(), 11, ReadNames::hashed, order, hits);
  estimate_divergence(read.view(), std::vector<std::int32_t>{5000}, scratch, hits);
  // 3 of the seeds at 20, 30, 40, 50, and one more expected on the right; query_start = 6 is within the mean span on the left.
  CHECK(hits[0].divergence == static_cast<float>(1 - std::pow(3.0 / 5.0, 1.0 / 15)));
  // The reverse hit meets 30, 40 and 50: one more expected on either side (query_start = 16).
  CHECK(hits[1].divergence == static_cast<float>(1 - std::pow(3.0 / 5.0, 1.0 / 15)));
  read.seeds.clear();
  make_hits(read.view(), 11, ReadNames::hashed, order, hits);
  estimate_divergence(read.view(), std::vector<std::int32_t>{5000}, scratch, hits);
  CHECK(hits[0].divergence == -1);
}

TEST_CASE("a read of one seed has a divergence, and a hit that meets all that are expected has none") {
  MadeRead one;
  one.length = 100;
  one.seed(20).chain(50, 0, false, {{220, 20}});
  HitOrder order;
  SelectionScratch scratch;
  std::vector<Hit> hits;
  make_hits(one.view(), 11, ReadNames::hashed, order, hits);
  estimate_divergence(one.view(), std::vector<std::int32_t>{5000}, scratch, hits);
  CHECK(hits[0].divergence == static_cast<float>(1 - std::pow(1.0 / 2.0, 1.0 / 15)));   // one more is expected on the right
  estimate_divergence(one.view(), std::vector<std::int32_t>{221 + 15}, scratch, hits);  // the target ends within the mean span
  CHECK(hits[0].divergence == 0);
  CHECK(mean_span_of(0, 0) == -1);
  CHECK(mean_span_of(7, 1) == 7);
}

TEST_CASE("the divergence is that of going through the seeds one after the other, in whatever order they are") {
  // As minimap2 does it; seed 0 of equal ones is found first, if there are any.
  const auto plain = [](const MadeRead& read, const Hit& hit, std::int32_t target_length) {
    const auto end_of = [](std::uint64_t seed) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(seed)); };
    std::vector<std::int32_t> wanted;
    for (std::int32_t i = 0; i < hit.anchors; ++i) {
      const auto last = end_of(read.y[static_cast<std::size_t>(hit.first_anchor + (hit.reverse ? hit.anchors - 1 - i : i))]);
      wanted.push_back(hit.reverse ? read.length - 1 - (last + 1 - span) : last);
    }
    const auto first = std::find_if(read.seeds.begin(), read.seeds.end(), [&](std::uint64_t seed) { return end_of(seed) == wanted[0]; });
    if (first == read.seeds.end()) return -1.0F;
    std::size_t met = 1;
    auto last = first;
    for (auto seed = first + 1; seed != read.seeds.end() && met < wanted.size(); ++seed)
      if (end_of(*seed) == wanted[met]) last = seed, ++met;
    std::int64_t expected = last - first + 1;
    if (hit.query_start > span && hit.target_start > span) ++expected;
    if (read.length - hit.query_start > span && target_length - hit.target_end > span) ++expected;
    const double share = static_cast<double>(met) / static_cast<double>(expected);
    return static_cast<std::int64_t>(met) >= expected ? 0.0F : static_cast<float>(1.0 - std::pow(share, 1.0 / static_cast<float>(span)));
  };
  std::mt19937 random(15);
  SelectionScratch scratch;
  HitOrder order;
  std::vector<Hit> hits;
  for (int round = 0; round < 400; ++round) {
    MadeRead read;
    read.length = 2000 + static_cast<std::int32_t>(random() % 3000);
    for (std::int32_t last = 20; last < read.length; last += 1 + static_cast<std::int32_t>(random() % 20)) read.seed(last);
    if (round % 4 == 1) read.seeds.resize(2 + random() % 6);                   // too few for a table
    if (round % 4 == 2) read.seeds.push_back(std::uint64_t{span} << 32 | 19);  // not in order; the bisection does not find it
    for (int chain = 0; chain < 6; ++chain) {
      const bool reverse = random() % 2 == 0;
      std::vector<MadeAnchor> anchors;
      std::int32_t on_target = 50;
      for (std::size_t seed = random() % read.seeds.size(); seed < read.seeds.size(); seed += 1 + random() % 5) {
        auto last = static_cast<std::int32_t>(static_cast<std::uint32_t>(read.seeds[seed]));
        if (last < 20) continue;
        if (random() % 40 == 0) last = std::min(last + 1, read.length - 1);  // may be no seed
        anchors.push_back({on_target += 5, reverse ? read.length - 1 - (last + 1 - span) : last});
      }
      if (reverse) std::reverse(anchors.begin(), anchors.end());
      if (reverse)
        for (std::size_t i = 0; i < anchors.size(); ++i) anchors[i].target_last = 55 + 5 * static_cast<std::int32_t>(i);
      if (!anchors.empty()) read.chain(50 + chain, 0, reverse, anchors);
    }
    if (read.score.empty()) continue;
    const std::vector<std::int32_t> targets = {50'000};
    REQUIRE(problem_of(read.view(), targets).empty());
    make_hits(read.view(), 11, ReadNames::hashed, order, hits);
    estimate_divergence(read.view(), targets, scratch, hits);
    for (const Hit& hit : hits) CHECK(hit.divergence == plain(read, hit, targets[0]));
  }
}

TEST_CASE("the mapping quality falls with a rival's score, few anchors and repeats") {
  const auto quality = [](std::int32_t score, std::int32_t second, std::int32_t anchors, std::int32_t repeats) {
    std::vector<Hit> hits = {made_hit(0, score, 0, 1000)};
    hits[0].parent = 0;
    hits[0].second_score = second;
    hits[0].anchors = anchors;
    set_mapping_quality(repeats, 40, hits);
    return int{hits[0].mapping_quality};
  };
  CHECK(quality(1000, 0, 100, 0) == 60);
  CHECK(quality(1000, 900, 100, 0) == 27);
  CHECK(quality(1000, 1000, 100, 0) == 0);
  CHECK(quality(50, 0, 3, 0) == 9);
  CHECK(quality(200, 0, 100, 1800) == 16);
  CHECK(quality(30, 0, 100, 0) == 0);  // below the score that a second hit is assumed to have
}

TEST_CASE("random chains: selected hits are a subset in order, primaries do not lie under each other, secondary ones have a primary") {
  std::mt19937 random(7);
  SelectionScratch scratch;
  std::vector<Hit> all, hits;
  for (int repeat = 0; repeat < 300; ++repeat) {
    MadeRead read;
    read.length = 20'000;
    for (int last = 20; last < read.length; last += 11) read.seed(last);
    const int chains = 1 + static_cast<int>(random() % 120);
    for (int i = 0; i < chains; ++i) {
      std::vector<MadeAnchor> anchors;
      auto target = static_cast<std::int32_t>(20 + random() % 2000);
      const bool reverse = random() % 2 == 0;
      // On the seeds, on either strand: read.length - 1 - (19993 + 1 - span) = 20.
      const auto step = static_cast<std::int32_t>(11 * (100 + random() % 1000));
      std::int32_t query = reverse ? 19'993 - step : 20 + step;
      const int count = 3 + static_cast<int>(random() % 60);
      for (int a = 0; a < count; ++a, target += 11, query += 11) anchors.push_back({target, query});
      read.chain(static_cast<std::int32_t>(40 + random() % 6000), 0, reverse, anchors);
    }
    REQUIRE(problem_of(read.view(), two_contigs).empty());
    select_hits(read.view(), two_contigs, {.selection = Selection::all}, scratch, all);
    CHECK(all.size() == static_cast<std::size_t>(chains));
    CHECK(std::none_of(all.begin(), all.end(), [](const Hit& hit) { return hit.primary() || hit.mapping_quality != 0; }));
    select_hits(read.view(), two_contigs, {}, scratch, hits);
    std::size_t next = 0;
    int secondary = 0;
    for (const Hit& hit : hits) {
      while (next < all.size() && all[next].chain != hit.chain) ++next;
      REQUIRE(next < all.size());
      CHECK(hit.query_start < hit.query_end);
      CHECK(hit.query_end <= read.length);
      secondary += hit.primary() ? 0 : 1;
      CHECK((hit.primary() || hit.mapping_quality == 0));
      CHECK(hit.divergence >= 0);
    }
    CHECK(secondary <= 5);
    CHECK(hits.front().primary());
  }
}

TEST_CASE("lists that do not fit together are named") {
  MadeRead read;
  read.chain(50, 0, false, {{220, 20}, {240, 40}});
  CHECK(problem_of(read.view(), two_contigs).empty());
  CHECK(!problem_of(read.view(), {}).empty());
  const auto broken = [&](auto&& change) {
    MadeRead other = read;
    change(other);
    return !problem_of(other.view(), two_contigs).empty();
  };
  CHECK(broken([](MadeRead& r) { r.score.pop_back(); }));
  CHECK(broken([](MadeRead& r) { r.score[0] = 0; }));
  CHECK(broken([](MadeRead& r) { r.count[0] = -1; }));
  CHECK(broken([](MadeRead& r) { r.count[0] = 1; }));
  CHECK(broken([](MadeRead& r) { r.y.pop_back(); }));
  CHECK(broken([](MadeRead& r) { r.x[1] |= std::uint64_t{1} << 63; }));
  CHECK(broken([](MadeRead& r) { r.x[1] += 5000; }));
  CHECK(broken([](MadeRead& r) { r.y[1] += 1000; }));
  CHECK(broken([](MadeRead& r) { r.y[0] = 20; }));
  CHECK(broken([](MadeRead& r) { r.y[0] -= 10; }));
  CHECK(broken([](MadeRead& r) { r.length = 0; }));
}

namespace {

TestBatch three_reads() {
  MadeRead a, c;
  a.seed(20).seed(40).chain(60, 0, false, {{220, 20}, {240, 40}, {260, 60}}).chain(50, 1, true, {{220, 20}, {240, 40}, {260, 60}});
  c.seed(20).chain(100, 1, false, {{320, 20}});
  return BatchBuilder("read", 3)
      .text("read_id", {"first", "second", "third"})
      .column<std::int32_t>("read_length", {1000, 200, 1000})
      .column<std::int32_t>("repeat_length", {0, 0, 17})
      .list<std::uint64_t>("seed_position", {a.seeds, {}, c.seeds})
      .list<std::int32_t>("chain_score", {a.score, {}, c.score})
      .list<std::int32_t>("chain_anchor_count", {a.count, {}, c.count})
      .list<std::uint64_t>("chain_anchor_x", {a.x, {}, c.x})
      .list<std::uint64_t>("chain_anchor_y", {a.y, {}, c.y})
      .build();
}

}  // namespace

TEST_CASE("the stage gives the hits of each read, and none where there are no chains") {
  const auto result = run_stage<MapSelection>(three_reads()).resource("index", contigs()).run();
  REQUIRE(result.ok());
  const sluice::Batch out = result.batch().view();
  CHECK(out.list<std::int32_t>("hit_target")[0].size() == 2);
  CHECK(out.list<std::int32_t>("hit_target")[1].empty());
  CHECK(out.list<std::int32_t>("hit_target")[2][0] == 1);
  CHECK(out.list<std::int32_t>("hit_score")[0][0] == 60);
  CHECK(out.list<std::uint8_t>("hit_is_primary")[0][1] == 1);
  CHECK(out.list<std::int32_t>("hit_chain")[0][1] == 1);
  CHECK(out.list<std::int32_t>("hit_second_score")[0][0] == 0);
  const auto all = run_stage<MapSelection>(three_reads()).resource("index", contigs()).with({{"all_chains", true}}).run();
  CHECK(all.batch().view().list<std::uint8_t>("hit_is_primary")[0][0] == 0);
  CHECK(all.batch().view().list<std::int32_t>("hit_second_score")[0][0] == -1);
}

TEST_CASE("the stage names the read whose chains are impossible") {
  const auto result = run_stage<MapSelection>(three_reads()).resource("index", tiny_index::of({{"one", 5000}})).run();
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message.find("read 'first'") != std::string::npos);
}

TEST_CASE("map_selection keeps the contract of all stages") {
  CHECK(sluice::testing::contract_problems(*sluice_plugin_init(nullptr, nullptr),
                                           {{"map_selection", {.resources = {{"index", contigs()}}, .batches = {three_reads(), three_reads()}}}}) ==
        std::vector<std::string>{});
}
