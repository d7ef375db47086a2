// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile.hpp"

#include <doctest/doctest.h>

#include "read_correction/overlap_selection.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

PileRead whole(const PackedBases& template_bases, const PackedBases& read) { return {&read, {0, template_bases.size(), 0, read.size()}}; }

}  // namespace

TEST_CASE("pieces of reads without errors are the truth of the piece") {
  std::mt19937 random(11);
  const std::string letters = simulated_reads::random_bases(2500, random);
  const PackedBases truth(letters), noisy(simulated_reads::noisy_copy(letters, 0.08, random));
  std::vector<PileRead> reads(5, whole(noisy, truth));
  PileCutter cutter({});
  cutter.cut(noisy, reads);
  REQUIRE(cutter.pieces().size() > 15);
  // The layers of one read, piece after piece, are the read: borders fit together.
  std::int32_t at = 0, place = 0;
  for (const Piece& piece : cutter.pieces()) {
    CHECK(piece.begin == place);
    CHECK(piece.end_layer - piece.first_layer == 5);
    for (const PieceLayer& layer : cutter.layers().subspan(piece.first_layer, 5)) CHECK(layer.begin == at);
    at = cutter.layers()[piece.first_layer].end;
    place = piece.end;
  }
  CHECK(place == noisy.size());
  CHECK(at > 2480);
}

TEST_CASE("overlaps are followed beyond their ends to the end of the template") {
  std::mt19937 random(12);
  const std::string bases = simulated_reads::random_bases(1000, random);
  const std::string before = simulated_reads::random_bases(140, random), behind = simulated_reads::random_bases(140, random);
  const PackedBases read(before + bases + behind);
  // The mapping ended 60 bases early at both ends.
  std::vector<PileRead> reads(3, {&read, {60, 940, 200, 1080}});
  PileCutter cutter({});
  cutter.cut(PackedBases(bases), reads);
  REQUIRE_FALSE(cutter.pieces().empty());
  CHECK(cutter.pieces().front().begin == 0);
  CHECK(cutter.pieces().back().end == 1000);
  CHECK(cutter.layers()[cutter.pieces().front().first_layer].begin == 140);
  CHECK(cutter.layers()[cutter.pieces().back().first_layer].end == 1140);
}

TEST_CASE("the most similar reads come first, and no more than max_layers") {
  std::mt19937 random(13);
  const std::string letters = simulated_reads::random_bases(1000, random);
  const PackedBases bases(letters), bad(simulated_reads::noisy_copy(letters, 0.2, random)), good(simulated_reads::noisy_copy(letters, 0.02, random));
  const std::vector<PileRead> reads = {whole(bases, bad), whole(bases, good), whole(bases, bases)};
  PileCutter cutter({.max_layers = 2});
  cutter.cut(bases, reads);
  for (const Piece& piece : cutter.pieces()) {
    REQUIRE(piece.end_layer - piece.first_layer == 2);
    CHECK(cutter.layers()[piece.first_layer].read == 2);
    CHECK(cutter.layers()[piece.first_layer + 1].read == 1);
  }
}

TEST_CASE("pieces with too few layers are not given; unrelated and empty reads are counted") {
  std::mt19937 random(14);
  const std::string letters = simulated_reads::random_bases(1000, random);
  const PackedBases bases(letters), half(letters.substr(0, 500)), empty, unknown("NNNNNNNNNNNNNNN");
  PileCutter cutter({});
  const std::vector<PileRead> reads = {whole(bases, bases), {&half, {0, 500, 0, 500}}, {&empty, {0, 1, 0, 0}}, {&unknown, {0, 15, 0, 15}}};
  cutter.cut(bases, reads);
  CHECK(cutter.unanchored() == 2);
  REQUIRE_FALSE(cutter.pieces().empty());
  CHECK(cutter.pieces().back().end <= 500);
  CHECK(cutter.pieces().back().end > 340);
  cutter.cut(empty, {});
  CHECK(cutter.pieces().empty());
  cutter.cut(PackedBases("ACGT"), reads);
  CHECK(cutter.pieces().empty());
}

TEST_CASE("overlaps are chosen by matches until each stretch is covered") {
  std::vector<PileOverlap> overlaps;
  const auto add = [&](std::int64_t read, std::int32_t begin, std::int32_t end, std::int32_t matches) {
    overlaps.push_back({.read = read, .template_begin = begin, .template_end = end, .read_begin = 0, .read_end = end - begin, .matches = matches});
  };
  add(1, 0, 1000, 500);
  add(2, 0, 1000, 900);
  add(3, 0, 1000, 800);
  add(4, 500, 2400, 700);
  add(5, 4000, 4900, 10);
  select_overlaps(5000, 2, overlaps);
  std::vector<std::int64_t> reads;
  for (const PileOverlap& overlap : overlaps) reads.push_back(overlap.read);
  CHECK(reads == std::vector<std::int64_t>{2, 3, 4, 5});
}

TEST_CASE("a read has one overlap with each part of the template") {
  std::vector<PileOverlap> overlaps = {
      {.read = 7, .template_begin = 0, .template_end = 1000, .read_begin = 0, .read_end = 1000, .matches = 300},
      {.read = 7, .template_begin = 100, .template_end = 900, .read_begin = 50, .read_end = 800, .matches = 400, .is_reverse = true},
      {.read = 7, .template_begin = 1500, .template_end = 2000, .read_begin = 1500, .read_end = 2000, .matches = 100}};
  select_overlaps(3000, 40, overlaps);
  REQUIRE(overlaps.size() == 2);
  CHECK(overlaps[0].matches == 400);
  CHECK(overlaps[1].matches == 100);
}

TEST_CASE("an overhang is what both reads have beside their overlap, in the template's orientation") {
  const PileOverlap forward = {.read = 0, .template_begin = 100, .template_end = 500, .read_begin = 0, .read_end = 400};
  CHECK(overhang(forward, 500, 1000) == 0);
  CHECK(overhang(forward, 700, 1000) == 200);
  const PileOverlap reverse = {.read = 0, .template_begin = 100, .template_end = 500, .read_begin = 0, .read_end = 400, .is_reverse = true};
  CHECK(overhang(reverse, 500, 1000) == 100);
  CHECK(overhang(reverse, 700, 1000) == 100);
}
