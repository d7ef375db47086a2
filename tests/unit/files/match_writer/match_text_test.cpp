// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "match_writer/match_text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/mapping/mem_seeding/indexed_text.hpp"

using namespace sluice;
using namespace sluice::match_writer;
using fm_index::Strands;
using mem_seeding::testing::IndexedText;

namespace {

struct Read {
  std::vector<std::uint8_t> reverse;
  std::vector<std::int32_t> start, end;
  std::vector<std::uint32_t> count, places, place;
  ReadMatches view() const { return {"r1", 30, reverse, start, end, count, places, place}; }
};

std::string lines(const Read& read, const IndexedText& indexed, Format format, Places places = Places::text) {
  REQUIRE(fits(read.view(), indexed.view));
  std::string text = "before\n";
  append_lines(read.view(), indexed.view, format, places, text);
  CHECK(text.starts_with("before\n"));
  return text.substr(7);
}

const std::vector<std::string> contigs = {"ACGTTGCAAC", "GGTTTACCCA"};

}  // namespace

TEST_CASE("the table names text places, or contigs and strands") {
  const IndexedText forward(contigs), both(contigs, Strands::both);
  const Read read{{0, 0, 1}, {0, 5, 2}, {4, 12, 9}, {2, 40, 1}, {2, 0, 1}, {12, 3, 10}};
  CHECK(lines(read, forward, Format::table) == "r1\t+\t0\t3\t2\t12,3\nr1\t+\t5\t11\t40\t*\nr1\t-\t2\t8\t1\t10\n");
  CHECK(lines(read, forward, Format::table, Places::contig) ==
        "r1\t+\t0\t3\t2\tcontig1:+:2,contig0:+:3\nr1\t+\t5\t11\t40\t*\nr1\t-\t2\t8\t1\tcontig1:-:0\n");
  const Read on_both{{0}, {1}, {5}, {2}, {2}, {22, 2}};
  CHECK(lines(on_both, both, Format::table) == "r1\t.\t1\t4\t2\t22,2\n");
  CHECK(lines(on_both, both, Format::table, Places::contig) == "r1\t.\t1\t4\t2\tcontig1:-:4,contig0:+:2\n");
}

TEST_CASE("fastmap lines are those of bwa 0.7.17") {
  const IndexedText both(contigs, Strands::both);
  const Read read{{0, 0}, {0, 5}, {4, 12}, {2, 40}, {2, 0}, {12, 22}};
  CHECK(lines(read, both, Format::fastmap) == "SQ\tr1\t30\nEM\t0\t4\t2\tcontig1:+3\tcontig1:-5\nEM\t5\t12\t40\t*\n\n//\n");
  CHECK(lines({}, both, Format::fastmap) == "SQ\tr1\t30\n//\n");
}

TEST_CASE("mummer lines are those of mummer 3.23") {
  const Read read{{0, 1}, {0, 2}, {4, 9}, {2, 1}, {2, 1}, {0, 3, 2}};
  CHECK(lines(read, IndexedText({contigs[0]}), Format::mummer) ==
        "> r1\n       1         1         4\n       4         1         4\n> r1 Reverse\n       3         3         7\n");
  const Read elsewhere{{0}, {0}, {4}, {1}, {1}, {12}};
  CHECK(lines(elsewhere, IndexedText(contigs), Format::mummer) == "> r1\n  contig1         3         1         4\n> r1 Reverse\n");
}

TEST_CASE("matches that can't be in the index do not fit") {
  const IndexedText forward(contigs);
  const Read good{{0, 1}, {0, 2}, {4, 9}, {2, 1}, {2, 1}, {0, 3, 2}};
  CHECK(fits(good.view(), forward.view));
  const auto broken = [&](auto&& change) {
    Read read = good;
    change(read);
    return !fits(read.view(), forward.view);
  };
  CHECK(broken([](Read& read) { read.place[2] = 14; }));
  CHECK(broken([](Read& read) { read.place.pop_back(); }));
  CHECK(broken([](Read& read) { read.place.push_back(0); }));
  CHECK(broken([](Read& read) { read.end[0] = 0; }));
  CHECK(broken([](Read& read) { read.end[0] = 31; }));
  CHECK(broken([](Read& read) { read.start[0] = -1; }));
  CHECK(broken([](Read& read) { read.places[0] = 4000000000U; }));
  CHECK(broken([](Read& read) { read.reverse = {1, 0}; }));
  CHECK(broken([](Read& read) { read.count.pop_back(); }));
  CHECK(broken([](Read& read) { read.reverse.pop_back(); }));
  CHECK(broken([](Read& read) { read.end.pop_back(); }));
  CHECK(broken([](Read& read) { read.places.pop_back(); }));
  CHECK(broken([](Read& read) { read.start[1] = read.end[1]; }));
  CHECK(broken([](Read& read) { read.places[1] = 2; }));
  ReadMatches negative = good.view();
  negative.read_length = -1;
  CHECK(!fits(negative, forward.view));
  // The last bases of the read, and of the text of 20.
  CHECK(!broken([](Read& read) { read.place[2] = 13; }));
  CHECK(!broken([](Read& read) { read.start[1] = 23, read.end[1] = 30; }));
  CHECK(!broken([](Read& read) { read.reverse = {1, 1}; }));
}
