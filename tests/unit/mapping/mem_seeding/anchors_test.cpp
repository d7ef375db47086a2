// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "mem_seeding/anchors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "mem_seeding/match_search.hpp"
#include "unit/mapping/mem_seeding/indexed_text.hpp"

using namespace sluice;
using namespace sluice::mem_seeding;
using fm_index::Strands;
using mem_seeding::testing::IndexedText;

namespace {

std::string reversed(const std::string& bases) {
  std::string result(bases.rbegin(), bases.rend());
  for (char& base : result) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
  return result;
}

Anchors anchors_of(const IndexedText& indexed, const std::string& read, const SearchOptions& options) {
  Anchors anchors;
  for (const Strand strand : {Strand::forward, Strand::reverse}) {
    if (strand == Strand::reverse && indexed.view.both_strands()) continue;
    PackedRead packed;
    pack_read(strand == Strand::forward ? read : reversed(read), packed);
    Matches found;
    const SearchTask task{&packed, &found};
    find_longest_left(indexed.view.tables, options, {&task, 1});
    add_anchors(indexed.view, found, strand, static_cast<std::int32_t>(read.size()), anchors);
  }
  finish_anchors(anchors);
  return anchors;
}

}  // namespace

TEST_CASE("anchors lie where contig and read are equal, in order, whichever strand the index holds") {
  std::mt19937 random(1);
  std::vector<std::string> contigs;
  for (const std::size_t length : {700U, 50U, 900U}) {
    std::string bases(length, 'A');
    for (char& base : bases) base = "ACGT"[random() % 4];
    contigs.push_back(bases);
  }
  const std::string read = contigs[2].substr(100, 600) + "ACGTTGCA" + reversed(contigs[0].substr(40, 300)) + contigs[1];
  const SearchOptions options{Definition::supermaximal, Occurrences::all, 15, 0};
  const IndexedText forward(contigs), both(contigs, Strands::both);
  for (const IndexedText* indexed : {&forward, &both}) {
    const Anchors anchors = anchors_of(*indexed, read, options);
    REQUIRE(anchors.anchors.size() >= 6);  // 600 and 300 bases take three and two
    std::uint64_t covered = 0, last = 0;
    for (const Anchors::Anchor& anchor : anchors.anchors) {
      CHECK(anchor.x >= last);
      last = anchor.x;
      const bool reverse = anchor.x >> 63 != 0;
      const std::size_t contig = anchor.x >> 32 & 0x7FFFFFFF;
      const std::size_t span = anchor.y >> 32, target = anchor.x & 0xFFFFFFFF, query = anchor.y & 0xFFFFFFFF;
      REQUIRE(contig < 3);
      REQUIRE(span <= 255);
      const std::string directed = reverse ? reversed(read) : read;
      CHECK(contigs[contig].substr(target + 1 - span, span) == directed.substr(query + 1 - span, span));
      covered += span;
      // The seed as it lies on the read.
      const std::uint64_t seed_end = reverse ? read.size() - 1 - query + span - 1 : query;
      CHECK(std::count(anchors.seeds.begin(), anchors.seeds.end(), std::uint64_t{span} << 32 | seed_end) == 1);
    }
    CHECK(covered >= 950);
    CHECK(std::is_sorted(anchors.seeds.begin(), anchors.seeds.end(),
                         [](std::uint64_t a, std::uint64_t b) { return (a & 0xFFFFFFFF) < (b & 0xFFFFFFFF); }));
    CHECK(anchors.repeat_length == 0);
  }
}

TEST_CASE("bases of matches that are too frequent are counted once") {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "ACGGATTCGA";
  const IndexedText indexed({text});
  const Anchors anchors = anchors_of(indexed, "TTTTTACGGATTCGAACGGATTCGATTTTT", {Definition::supermaximal, Occurrences::all, 12, 3});
  CHECK(anchors.anchors.empty());
  CHECK(anchors.seeds.empty());
  CHECK(anchors.repeat_length == 20);
}
