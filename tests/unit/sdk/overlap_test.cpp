// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/overlap/overlap_rows.hpp>
#include <sluice/overlap/primary_hits.hpp>
#include <sluice/testing.hpp>

using sluice::overlap::Masking;
using sluice::overlap::MaskRules;
using sluice::overlap::PrimaryHits;
using sluice::overlap::QueryInterval;

namespace {

// Ordinal of the primary hit that the last of the hits is secondary to, -1: it is primary.
int secondary_to(const MaskRules& rules, const std::vector<QueryInterval>& hits) {
  PrimaryHits primaries;
  PrimaryHits::Secondary last;
  for (const QueryInterval& hit : hits) last = primaries.add(rules, hit);
  return last.primary == PrimaryHits::none ? -1 : static_cast<int>(last.primary);
}

// A stage that gives the overlaps it was made for.
class OneOverlap {
 public:
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<OneOverlap>& d) {
    d.id("one_overlap").summary("gives one overlap").source("overlap");
    sluice::overlap::describe_overlap_columns(d);
  }
  OneOverlap(const sluice::Setup& setup, const Parameters&) : wants_matches_(setup.wanted("overlap_matches")) {}
  bool process(const sluice::Call&, sluice::Output& out) const {
    const sluice::overlap::OverlapRow row{1, 2, 3, 40, 5, 60, 7, 8, 9, true};
    out.set_rows(1);
    using sluice::overlap::Matches;
    sluice::overlap::write_overlap_columns(
        1, [&](std::size_t) { return row; }, wants_matches_ ? Matches::wanted : Matches::unwanted, out);
    return false;
  }

 private:
  bool wants_matches_;
};

}  // namespace

TEST_CASE("a hit is secondary to the best hit that covers more than half of the shorter of the two") {
  CHECK(secondary_to({}, {{0, 100}}) == -1);
  CHECK(secondary_to({}, {{0, 100}, {50, 150}}) == -1);  // half is not more than half
  CHECK(secondary_to({}, {{0, 100}, {49, 100}}) == 0);
  CHECK(secondary_to({}, {{0, 100}, {100, 200}, {110, 190}}) == 1);
  CHECK(secondary_to({.level = 0.9F}, {{0, 100}, {20, 110}}) == -1);
}

TEST_CASE("bases that no better hit covers keep a hit primary, unless the overlap alone decides") {
  // 60 of 100 common, less 40 of 100 that nobody else has.
  CHECK(secondary_to({}, {{0, 100}, {40, 140}}) == -1);
  CHECK(secondary_to({.masking = Masking::hard}, {{0, 100}, {40, 140}}) == 0);
  CHECK(secondary_to({.length = 9}, {{0, 100}, {10, 110}}) == -1);
  CHECK(secondary_to({.length = 10}, {{0, 100}, {10, 110}}) == 0);
}

TEST_CASE("what is uncovered is counted once, whatever order the better hits have") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<QueryInterval> hits;
    std::vector<bool> covered(100);
    PrimaryHits primaries;
    for (int n = 0; n < 6; ++n) {
      const auto begin = static_cast<std::int32_t>(random() % 80), end = begin + 1 + static_cast<std::int32_t>(random() % 20);
      const QueryInterval hit{begin, end};
      std::int32_t uncovered = 0;
      for (std::int32_t base = begin; base < end; ++base) uncovered += covered[static_cast<std::size_t>(base)] ? 0 : 1;
      // With this level every hit that is allowed to is secondary: the limit tells how many uncovered bases were counted.
      PrimaryHits most = primaries, least = primaries;
      const bool touches = uncovered < hit.bases();
      CHECK((most.add({.level = -2.0F, .length = uncovered}, hit).primary != PrimaryHits::none) == touches);
      CHECK(least.add({.level = -2.0F, .length = uncovered - 1}, hit).primary == PrimaryHits::none);
      if (primaries.add({.level = 2.0F}, hit).primary != PrimaryHits::none) continue;
      for (std::int32_t base = begin; base < end; ++base) covered[static_cast<std::size_t>(base)] = true;
    }
  }
}

TEST_CASE("parts of a mapping quality") {
  using namespace sluice::overlap;
  CHECK(unique_share(300, 100) == 0.75F);
  CHECK(chain_weight(50, 20, 1.0F) == doctest::Approx(0.5));
  CHECK(chain_weight(500, 3, 1.0F) == doctest::Approx(0.3));
  CHECK(rivals_penalty(0) == 0);
  CHECK(rivals_penalty(1) == 3);
  CHECK(rivals_penalty(9) == 10);
  CHECK(whole_quality(-5.0F) == 0);
  CHECK(whole_quality(59.9F) == 59);
  CHECK(whole_quality(1e30F) == 1000000);
}

TEST_CASE("overlaps have their columns") {
  const sluice::testing::Result result = sluice::testing::run_stage<OneOverlap>().run();
  REQUIRE(result.ok());
  const auto rows = result.batch().view();
  const std::vector<std::pair<const char*, std::int64_t>> expected = {{"query_index", 1},   {"target_index", 2},    {"query_start", 3},
                                                                      {"query_end", 40},    {"target_start", 5},    {"target_end", 60},
                                                                      {"overlap_index", 7}, {"target_overlaps", 8}, {"overlap_matches", 9}};
  for (const auto& [column, value] : expected) CHECK(rows.column<std::int64_t>(column)[0] == value);
  CHECK(rows.column<std::uint8_t>("is_reverse")[0] == 1);
}
