// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Places above 2^31, up to the last that a row can have.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "mem_seeding/anchors.hpp"
#include "mem_seeding/match_search.hpp"
#include "unit/mapping/mem_seeding/far_text.hpp"

using namespace sluice;
using namespace sluice::mem_seeding;
using mem_seeding::testing::FarText;
using mem_seeding::testing::IndexedText;

namespace {

constexpr std::uint64_t behind_half = (std::uint64_t{1} << 31) - 1024, at_the_end = (std::uint64_t{1} << 32) - 8192;

std::string random_bases(std::mt19937& random, std::size_t length) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}

std::vector<std::string> contigs_of(std::mt19937& random) {
  const std::string unit = random_bases(random, 150);
  std::string repeats;
  for (int i = 0; i < 20; ++i) repeats += unit + random_bases(random, 10);
  return {random_bases(random, 64) + random_bases(random, 1500), repeats};
}

Matches found_in(const FmIndexView& view, const std::string& read, const SearchOptions& options) {
  PackedRead packed;
  pack_read(read, packed);
  Matches found;
  const SearchTask task{&packed, &found};
  if (options.definition == Definition::maximal)
    find_maximal(view.tables, text_parts(view), options, {&task, 1});
  else
    find_longest_left(view.tables, options, {&task, 1});
  return found;
}

}  // namespace

TEST_CASE("matches and anchors at places above 2^31 are those of the same text at its beginning") {
  std::mt19937 random(11);
  const IndexedText near(contigs_of(random));
  REQUIRE(near.view.tables.text_length < 8190);
  for (const std::uint64_t offset : {behind_half, at_the_end}) {
    const FarText far(near, offset);
    for (const Definition definition : {Definition::maximal, Definition::longest_left, Definition::supermaximal})
      for (int i = 0; i < 30; ++i) {
        std::string read = random_bases(random, 20) + near.text.substr(64 + random() % 4000, 400);
        for (char& base : read)
          if (random() % 40 == 0) base = "ACGT"[random() % 4];
        const SearchOptions options{definition, Occurrences::all, 12, 0};
        const Matches expected = found_in(near.view, read, options), found = found_in(far.view, read, options);
        REQUIRE(found.matches.size() == expected.matches.size());
        REQUIRE(found.places.size() == expected.places.size());
        for (std::size_t m = 0; m < found.matches.size(); ++m) {
          CHECK(found.matches[m].start == expected.matches[m].start);
          CHECK(found.matches[m].end == expected.matches[m].end);
          CHECK(found.matches[m].listed == expected.matches[m].listed);
        }
        for (std::size_t p = 0; p < found.places.size(); ++p) CHECK(found.places[p] == expected.places[p] + offset);

        Anchors near_anchors, far_anchors;
        add_anchors(near.view, expected, Strand::reverse, static_cast<std::int32_t>(read.size()), {}, near_anchors);
        add_anchors(far.view, found, Strand::reverse, static_cast<std::int32_t>(read.size()), {}, far_anchors);
        finish_anchors(near_anchors);
        finish_anchors(far_anchors);
        REQUIRE(far_anchors.anchors.size() == near_anchors.anchors.size());
        CHECK(far_anchors.seeds == near_anchors.seeds);
        for (std::size_t a = 0; a < far_anchors.anchors.size(); ++a) {
          CHECK(far_anchors.anchors[a].x == near_anchors.anchors[a].x + (std::uint64_t{far.added_contigs} << 32));
          CHECK(far_anchors.anchors[a].y == near_anchors.anchors[a].y);
        }
      }
  }
}
