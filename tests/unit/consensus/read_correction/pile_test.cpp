// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/pile.hpp"

#include <doctest/doctest.h>

#include "read_correction/overlap_selection.hpp"
#include "read_correction/pile_identity.hpp"
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

TEST_CASE("of noisy reads overlaps end far before the reads do") {
  std::mt19937 random(15);
  const std::string bases = simulated_reads::random_bases(3000, random);
  const PackedBases read(bases);
  std::vector<PileRead> reads(3, {&read, {1000, 2000, 1000, 2000}});
  PileCutter cutter({});
  cutter.cut(read, reads);
  REQUIRE_FALSE(cutter.pieces().empty());
  CHECK(cutter.pieces().front().begin == 0);
  CHECK(cutter.pieces().back().end == 3000);
  // No further than 1,000 bases, and 100 behind the last anchor.
  reads.assign(3, {&read, {1300, 1700, 1300, 1700}});
  cutter.cut(read, reads);
  REQUIRE_FALSE(cutter.pieces().empty());
  CHECK(cutter.pieces().front().begin >= 200);
  CHECK(cutter.pieces().front().begin < 300);
}

TEST_CASE("how a pile is cut") {
  CHECK_FALSE(OverlapIdentity{}.is_noisy());
  CHECK_FALSE(OverlapIdentity{25, 100}.is_noisy());
  CHECK(OverlapIdentity{251, 1000}.is_noisy());
  CHECK(choose_cut(false, {}, {}) == PileCut{.k = 11, .piece_length = 100, .differences_pct = 35});
  CHECK(choose_cut(true, {}, {}) == PileCut{.k = 8, .piece_length = 300, .differences_pct = 50});
  CHECK(choose_cut(true, 12, {}) == PileCut{.k = 12, .piece_length = 300, .differences_pct = 50});
  CHECK(choose_cut(false, {}, 70) == PileCut{.k = 11, .piece_length = 70, .differences_pct = 35});
  const auto looked_at = [](std::size_t all) {
    std::vector<std::size_t> reads;
    for (std::size_t i = 0; i < IdentityMeasure::reads; ++i) reads.push_back(IdentityMeasure::chosen(i, all));
    return reads;
  };
  CHECK(looked_at(1) == std::vector<std::size_t>{0, 0, 0, 0, 0, 0});
  CHECK(looked_at(8) == std::vector<std::size_t>{0, 1, 2, 4, 5, 6});
  CHECK(looked_at(60) == std::vector<std::size_t>{0, 10, 20, 30, 40, 50});
}

TEST_CASE("the identity of an overlap is that of a stretch in its middle, between two anchors") {
  std::mt19937 random(16);
  const std::string letters = simulated_reads::random_bases(4200, random);
  std::string other = letters;
  for (std::size_t i = 0; i < other.size(); i += 100) other[i] = other[i] == 'A' ? 'C' : 'A';
  const PackedBases bases(letters), read(other);
  std::vector<Anchor> anchors;
  for (std::int32_t i = 0; i < 30; ++i) anchors.push_back({100 * i + 5, 100 * i + 5, 9});
  IdentityMeasure measure;
  const auto measured = [&](const OverlapPlace& place, std::span<const Anchor> by) {
    OverlapIdentity sum{1, 10};
    measure.add(bases, read, place, by, sum);
    return std::pair(sum.differences - 1, sum.letters - 10);
  };
  using Sum = std::pair<std::int64_t, std::int64_t>;
  CHECK(measured({0, 3000, 0, 3000}, anchors) == Sum{9, 891});        // from 1,014 to 1,905
  CHECK(measured({1000, 1200, 1000, 1200}, anchors) == Sum{9, 891});  // from 614
  CHECK(measured({0, 20, 0, 20}, anchors) == Sum{5, 500});            // from 5 to the first one behind 410
  CHECK(measured({4000, 4200, 4000, 4200}, anchors) == Sum{0, 0});    // there is none
  CHECK(measured({0, 3000, 0, 3000}, {}) == Sum{0, 0});
  CHECK(measured({0, 3000, 0, 3000}, std::vector<Anchor>{{0, 0, 3000}}) == Sum{8, 800});
  CHECK(measured({0, 3000, 0, 3000}, std::vector<Anchor>{{5, 5, 9}, {3014, 3014, 9}}) == Sum{30, 3000});
  CHECK(measured({0, 3000, 0, 3000}, std::vector<Anchor>{{5, 5, 9}, {3015, 3015, 9}}) == Sum{0, 0});
}

TEST_CASE("noisy piles are cut into longer pieces, unless their length is given") {
  std::mt19937 random(17);
  const std::string letters = simulated_reads::random_bases(6000, random);
  const auto pieces = [&](double errors, const PileParameters& parameters) {
    const PackedBases noisy(simulated_reads::noisy_copy(letters, errors, random));
    std::vector<PackedBases> bases;
    for (int i = 0; i < 6; ++i) bases.emplace_back(simulated_reads::noisy_copy(letters, errors, random));
    std::vector<PileRead> reads;
    for (const PackedBases& read : bases) reads.push_back(whole(noisy, read));
    PileCutter cutter(parameters);
    cutter.cut(noisy, reads);
    CHECK(cutter.identity().letters > 6 * 700);
    CHECK(cutter.identity().is_noisy() == (errors > 0.15));
    return cutter.pieces().size();
  };
  CHECK(pieces(0.08, {}) > 50);
  CHECK(pieces(0.2, {}) < 25);
  CHECK(pieces(0.2, {}) > 15);
  CHECK(pieces(0.2, {.piece_length = 100}) > 50);
  CHECK(pieces(0.08, {.piece_length = 300}) < 25);
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
