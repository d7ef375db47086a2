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

enum class Joining : std::uint8_t { apart, joined };

Matches matches_of(const FmIndexView& view, const std::string& read, const SearchOptions& options) {
  PackedRead packed;
  pack_read(read, packed);
  Matches found;
  const SearchTask task{&packed, &found};
  find_longest_left(view.tables, options, {&task, 1});
  return found;
}

Anchors anchors_of(const FmIndexView& view, const std::string& read, const SearchOptions& options, Joining joining = Joining::apart) {
  const auto length = static_cast<std::int32_t>(read.size());
  const Matches forward = matches_of(view, read, options);
  const Matches reverse = view.both_strands() ? Matches{} : matches_of(view, reversed(read), options);
  StrandUses uses;
  if (joining == Joining::joined) join_strands(forward, reverse, length, options.max_occurrences, uses);
  Anchors anchors;
  add_anchors(view, forward, Strand::forward, length, uses.forward, anchors);
  add_anchors(view, reverse, Strand::reverse, length, uses.reverse, anchors);
  finish_anchors(anchors);
  return anchors;
}

bool same(const Anchors& a, const Anchors& b) {
  const auto equal = [](const Anchors::Anchor& one, const Anchors::Anchor& other) { return one.x == other.x && one.y == other.y; };
  return std::equal(a.anchors.begin(), a.anchors.end(), b.anchors.begin(), b.anchors.end(), equal) && a.seeds == b.seeds &&
         a.repeat_length == b.repeat_length;
}

// Whether a match of so many bases may touch the end of the text. In a text of both strands the strands meet there, so that it may be longer.
bool may_touch_end(const std::string& text, const std::string& read, std::size_t least) {
  const std::string last = text.substr(text.size() - least), meeting = last + reversed(last);
  for (std::size_t i = 0; i + least <= meeting.size(); ++i)
    if (read.find(meeting.substr(i, least)) != std::string::npos) return true;
  return false;
}

std::string random_bases(std::mt19937& random, std::size_t length) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
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
    const Anchors anchors = anchors_of(indexed->view, read, options);
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
  const Anchors anchors = anchors_of(indexed.view, "TTTTTACGGATTCGAACGGATTCGATTTTT", {Definition::supermaximal, Occurrences::all, 12, 3});
  CHECK(anchors.anchors.empty());
  CHECK(anchors.seeds.empty());
  CHECK(anchors.repeat_length == 20);
}

TEST_CASE("the strands' matches in a forward text, joined, are those in a text of both strands") {
  std::mt19937 random(5);
  std::size_t anchors = 0, repeat_length = 0, others = 0;
  for (int round = 0; round < 60; ++round) {
    // Pieces of a family on either strand, some of them many times.
    const std::string family = random_bases(random, 120);
    std::vector<std::string> contigs(1 + random() % 3);
    for (std::string& contig : contigs)
      for (int i = 0; i < 6; ++i) {
        const std::size_t from = random() % 80;
        const std::string piece = family.substr(from, 10 + random() % 40);
        contig += random_bases(random, random() % 60);
        contig += random() % 2 == 0 ? piece : reversed(piece);
      }
    contigs.back() += random_bases(random, 60);
    const IndexedText forward(contigs), both(contigs, Strands::both);
    for (int reads = 0; reads < 10; ++reads) {
      std::string read = random_bases(random, random() % 20);
      read += family.substr(random() % 30);
      for (char& base : read)
        if (random() % 30 == 0) base = "ACGT"[random() % 4];
      if (random() % 2 == 0) read = reversed(read);
      const SearchOptions options{Definition::supermaximal, Occurrences::all, 7 + static_cast<std::int32_t>(random() % 8), random() % 6};
      if (may_touch_end(contigs.back(), read, static_cast<std::size_t>(options.min_length))) continue;
      const Anchors expected = anchors_of(both.view, read, options);
      CHECK(same(anchors_of(forward.view, read, options, Joining::joined), expected));
      anchors += expected.anchors.size(), repeat_length += static_cast<std::size_t>(expected.repeat_length);
      others += same(anchors_of(forward.view, read, options), expected) ? 0 : 1;
    }
  }
  CHECK(anchors > 1000);
  CHECK(repeat_length > 1000);
  CHECK(others > 100);
}
