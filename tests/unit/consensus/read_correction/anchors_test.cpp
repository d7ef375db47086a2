// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <array>
#include <map>
#include <sluice/sequence/packed_bases.hpp>

#include "read_correction/border_places.hpp"
#include "read_correction/piece_borders.hpp"
#include "read_correction/read_anchors.hpp"
#include "read_correction/template_kmers.hpp"
#include "unit/consensus/read_correction/plain_anchors.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

std::uint32_t code_of(std::string_view kmer) {
  PackedBases bases;
  bases.assign(kmer);
  return bases.kmer_at(0, kmer_mask(bases.size()));
}

std::vector<Anchor> anchors_of(std::string_view template_bases, std::string_view read, std::int32_t k = 11) {
  TemplateKmers kmers;
  kmers.build(PackedBases(template_bases), k);
  AnchorWorkspace workspace;
  std::vector<Anchor> anchors;
  find_anchors(kmers, PackedBases(read), {0, static_cast<std::int32_t>(template_bases.size()), 0, static_cast<std::int32_t>(read.size())}, 0,
               workspace, anchors);
  return anchors;
}

}  // namespace

TEST_CASE("the table knows all places of each k-mer, but not of frequent ones and none with other letters") {
  std::mt19937 random(4);
  for (const std::int32_t k : {1, 3, 5, 15}) {
    std::string bases = simulated_reads::random_bases(300, random);
    bases[100] = 'N';
    std::map<std::string, std::vector<std::int32_t>> places;
    for (std::size_t i = 0; i + static_cast<std::size_t>(k) <= bases.size(); ++i)
      if (const std::string kmer = bases.substr(i, static_cast<std::size_t>(k)); kmer.find('N') == std::string::npos)
        places[kmer].push_back(static_cast<std::int32_t>(i));
    TemplateKmers kmers;
    kmers.build(PackedBases(bases), k);
    for (const auto& [kmer, expected] : places) {
      std::vector<std::int32_t> found;
      for (std::int32_t at = kmers.first(code_of(kmer)); at != TemplateKmers::none; at = kmers.next(at)) found.push_back(at);
      if (expected.size() > TemplateKmers::max_occurrences)
        CHECK(found.empty());
      else
        CHECK(found == expected);
    }
  }
  TemplateKmers kmers;
  kmers.build(PackedBases(""), 11);
  CHECK(kmers.first(5) == TemplateKmers::none);
}

TEST_CASE("packed bases are the letters, and list the others") {
  std::mt19937 random(21);
  PackedBases packed;
  for (std::size_t length = 0; length < 300; ++length) {
    std::string bases = simulated_reads::random_bases(length, random);
    std::vector<std::int32_t> others;
    for (std::size_t i = 0; i < length; ++i)
      if (random() % 60 == 0) bases[i] = "Nnacgt*"[random() % 7], others.push_back(static_cast<std::int32_t>(i));
    packed.assign(bases);
    CHECK(packed.size() == static_cast<std::int32_t>(length));
    CHECK(packed.others() == others);
    std::string as_letters = bases, part;
    for (const std::int32_t other : others) as_letters[static_cast<std::size_t>(other)] = 'N';
    for (std::size_t begin = 0; begin <= length; begin += 1 + random() % 40) {
      const std::size_t end = begin + random() % (length - begin + 1);
      packed.letters(static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end), part);
      CHECK(part == as_letters.substr(begin, end - begin));
    }
    for (std::size_t place = 0; place < length; ++place)
      for (std::size_t i = place; i < std::min(length, place + PackedBases::word_bases); ++i)
        if (const auto base = std::string_view("ACTG").find(bases[i]); base != std::string_view::npos)
          REQUIRE((packed.word_at(static_cast<std::int32_t>(place)) >> 2 * (i - place) & 3U) == base);
  }
}

TEST_CASE("a part of a store's packed bases, turned to a strand, is the packed part") {
  std::mt19937 random(23);
  PackedBases part;
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string bases = simulated_reads::random_bases(length, random);
    std::vector<std::uint64_t> stored(sluice::packed_words(length));
    REQUIRE(sluice::pack_bases(bases.data(), length, stored.data()));
    for (int times = 0; times < 20; ++times) {
      const std::size_t begin = random() % (length + 1), end = begin + random() % (length - begin + 1);
      for (const Strand strand : {Strand::forward, Strand::reverse}) {
        std::string expected = bases.substr(begin, end - begin), letters;
        to_strand(strand, expected.data(), expected.size());
        part.assign(stored.data(), begin, end, strand);
        CHECK(part.size() == static_cast<std::int32_t>(expected.size()));
        CHECK(part.others().empty());
        part.letters(0, part.size(), letters);
        CHECK(letters == expected);
      }
    }
  }
}

TEST_CASE("candidates are the k-mers that the filter may have, on every instruction set; few others are") {
  std::mt19937 random(22);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const std::int32_t k : {1, 5, 11, 15}) {
      for (const std::size_t length : {0, 1, 10, 11, 63, 64, 65, 74, 75, 128, 1000, 4000}) {
        const std::string bases = simulated_reads::random_bases(length, random);
        std::string letters = simulated_reads::random_bases(length, random);
        letters.replace(length / 4, length / 2, bases.substr(0, length / 2));
        for (std::size_t i = 0; i < length; ++i)
          if (random() % 200 == 0) letters[i] = 'N';
        KmerBits bits;
        bits.reset(length);
        PackedBases packed;
        packed.assign(bases);
        for (std::int32_t place = 0; place + k <= packed.size(); ++place) bits.add(packed.kmer_at(place, kmer_mask(k)));
        packed.assign(letters);
        std::vector<std::uint64_t> candidates;
        find_candidates(bits.view(), packed, k, candidates);
        std::size_t wrong = 0, seeming = 0;
        for (std::size_t place = 0; place < candidates.size() * 64; ++place) {
          const bool is_kmer =
              place + static_cast<std::size_t>(k) <= length && letters.substr(place, static_cast<std::size_t>(k)).find('N') == std::string::npos;
          const bool expected = is_kmer && bits.view().may_have(packed.kmer_at(static_cast<std::int32_t>(place), kmer_mask(k)));
          wrong += expected == ((candidates[place / 64] >> place % 64 & 1U) != 0) ? 0 : 1;
          if (is_kmer && bases.find(letters.substr(place, static_cast<std::size_t>(k))) != std::string::npos)
            wrong += expected ? 0 : 1;
          else
            seeming += expected ? 1 : 0;
        }
        CHECK(wrong == 0);
        CHECK(seeming < 5 + length / 20);
        CHECK(candidates.back() == 0);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("a read equal to the template is one anchor") {
  std::mt19937 random(5);
  const std::string bases = simulated_reads::random_bases(2000, random);
  CHECK(anchors_of(bases, bases) == std::vector<Anchor>{{0, 0, 2000}});
}

TEST_CASE(
    "anchors are those that looking up each k-mer gives, also among repeats, other letters and at the edges of the band, on every instruction set") {
  std::mt19937 random(11);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  TemplateKmers kmers;
  AnchorWorkspace workspace;
  std::vector<Anchor> anchors;
  for (int round = 0; round < 800; ++round) {
    std::string bases = simulated_reads::random_bases(1 + random() % 1500, random);
    // Copies of a stretch within the template, and what k-mers are not made of.
    for (auto copies = random() % 6; copies > 0 && bases.size() > 200; --copies)
      bases.insert(random() % bases.size(), bases.substr(random() % (bases.size() - 100), 20 + random() % 60));
    for (auto others = random() % 3; others > 0; --others) bases[random() % bases.size()] = 'N';
    std::string read = simulated_reads::noisy_copy(bases, std::array{0.0, 0.02, 0.1, 0.25}[random() % 4], random);
    if (random() % 4 == 0 && read.size() > 300) read.erase(random() % 100, 50 + random() % 150);
    if (random() % 4 == 0 && !read.empty()) read[random() % read.size()] = 'N';
    const auto length = static_cast<std::int32_t>(bases.size()), letters = static_cast<std::int32_t>(read.size());
    OverlapPlace place{0, length, 0, letters};
    if (random() % 2 == 0 && length > 20 && letters > 20) {
      place.template_begin = static_cast<std::int32_t>(random() % 10);
      place.template_end -= static_cast<std::int32_t>(random() % 10);
      place.read_begin = static_cast<std::int32_t>(random() % 10);
      place.read_end -= static_cast<std::int32_t>(random() % 10);
    }
    // A steep line, or a flat one.
    if (random() % 8 == 0) place.read_end = place.read_begin + std::max(letters / 4, 1);
    if (random() % 8 == 0) place.template_end = place.template_begin + std::max(length / 4, 1);
    const std::int32_t k = std::array{5, 8, 11, 13, 14, 15}[random() % 6];
    const std::int32_t reach = std::array{0, 5, 100}[random() % 3];
    kmers.build(PackedBases(bases), k);
    const auto expected = plain_anchors::anchors(bases, read, k, place, reach);
    for (const std::int64_t target : targets) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      find_anchors(kmers, PackedBases(read), place, reach, workspace, anchors);
      CHECK(anchors == expected);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("anchors are shared letters in the same order, and cover most of what has no errors") {
  std::mt19937 random(6);
  for (int round = 0; round < 30; ++round) {
    const std::string bases = simulated_reads::random_bases(3000, random);
    const std::string read = simulated_reads::noisy_copy(bases, 0.1, random);
    const auto anchors = anchors_of(bases, read);
    std::int32_t letters = 0;
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      CHECK(anchors[i].length >= 4);
      CHECK(bases.compare(static_cast<std::size_t>(anchors[i].template_begin), static_cast<std::size_t>(anchors[i].length), read,
                          static_cast<std::size_t>(anchors[i].read_begin), static_cast<std::size_t>(anchors[i].length)) == 0);
      if (i > 0) CHECK(anchors[i].template_begin >= anchors[i - 1].template_end());
      if (i > 0) CHECK(anchors[i].read_begin >= anchors[i - 1].read_end());
      letters += anchors[i].length;
    }
    CHECK(letters > 1200);  // 0.9^11 of the k-mers are without errors
  }
}

TEST_CASE("unrelated reads, short ones and reads of other letters have few anchors or none") {
  std::mt19937 random(7);
  const std::string bases = simulated_reads::random_bases(2000, random);
  CHECK(anchors_of(bases, "").empty());
  CHECK(anchors_of(bases, bases.substr(0, 5)).empty());
  CHECK(anchors_of(bases, std::string(500, 'N')).empty());
  CHECK(anchors_of("", bases).empty());
  std::int32_t letters = 0;
  for (const Anchor& anchor : anchors_of(bases, simulated_reads::random_bases(2000, random))) letters += anchor.length;
  CHECK(letters < 60);
}

TEST_CASE("anchors support the places inside them but for the margin") {
  AnchorSupport support;
  support.reset(12);
  const std::vector<Anchor> anchors = {{1, 5, 6}, {8, 12, 3}};
  support.add(anchors, 2);
  support.add(anchors, 0);
  const auto counts = support.finish();
  CHECK(std::vector<std::int32_t>(counts.begin(), counts.end()) == std::vector<std::int32_t>{0, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0});
}

TEST_CASE("borders lie at the best supported places and leave pieces of half to one and a half lengths") {
  std::mt19937 random(8);
  std::vector<std::int32_t> borders;
  for (int round = 0; round < 200; ++round) {
    const auto length = static_cast<std::int32_t>(random() % 1200);
    const auto piece = static_cast<std::int32_t>(10 + random() % 100);
    std::vector<std::int32_t> support(static_cast<std::size_t>(length) + 1);
    for (auto& value : support) value = static_cast<std::int32_t>(random() % 20);
    choose_borders(support, piece, borders);
    CHECK(borders.front() == 0);
    CHECK(borders.back() == length);
    for (std::size_t i = 1; i < borders.size(); ++i) {
      const std::int32_t bases = borders[i] - borders[i - 1];
      CHECK(bases <= piece + piece / 2);
      if (borders.size() > 2) CHECK(bases >= piece / 2);
      if (i + 1 == borders.size()) continue;
      const std::int32_t last = std::min(length - piece / 2, borders[i - 1] + piece + piece / 2);
      for (std::int32_t place = borders[i - 1] + piece / 2; place <= last; ++place)
        CHECK(support[static_cast<std::size_t>(place)] <= support[static_cast<std::size_t>(borders[i])]);
    }
  }
}

TEST_CASE("borders are found on a read where its bases belong, between anchors and beyond them") {
  std::mt19937 random(9);
  const std::string bases = simulated_reads::random_bases(1000, random);
  // One base more at 300, ten fewer at 600; no anchors within 40 bases of the ends and between 280 and 640.
  std::string read = bases;
  read.erase(600, 10);
  read.insert(300, 1, bases[300] == 'A' ? 'C' : 'A');
  const std::vector<Anchor> anchors = {{40, 40, 240}, {640, 631, 320}};
  BorderWorkspace workspace;
  std::vector<std::int32_t> places;
  find_border_places(std::vector<std::int32_t>{0, 20, 100, 280, 290, 320, 500, 640, 960, 970, 1000}, PackedBases(bases), PackedBases(read), anchors,
                     35, workspace, places);
  CHECK(places == std::vector<std::int32_t>{0, 20, 100, 280, 290, 321, 501, 631, 951, 961, 991});
}

TEST_CASE("how much a read may differ where a border is looked for") {
  std::mt19937 random(18);
  const std::string bases = simulated_reads::random_bases(300, random);
  std::string read = bases;
  for (std::size_t i = 100; i < 200; ++i)
    if (i % 5 < 2) read[i] = read[i] == 'A' ? 'C' : 'A';
  const std::vector<Anchor> anchors = {{0, 0, 100}, {200, 200, 100}};
  BorderWorkspace workspace;
  std::vector<std::int32_t> places;
  // Some 37 of 100 letters, as some of those that were replaced find another one.
  for (const auto& [differences_pct, place] : {std::pair(25, -1), std::pair(45, 150)}) {
    find_border_places(std::vector<std::int32_t>{150}, PackedBases(bases), PackedBases(read), anchors, differences_pct, workspace, places);
    CHECK(places.front() == place);
  }
}

TEST_CASE("borders that a read does not reach, or where it is another sequence, are unknown") {
  std::mt19937 random(10);
  const std::string bases = simulated_reads::random_bases(1000, random);
  std::string read = bases.substr(200, 500);
  const std::string other = simulated_reads::random_bases(100, random);
  read.replace(200, 100, other);
  const std::vector<Anchor> anchors = {{210, 10, 190}, {500, 300, 190}};
  BorderWorkspace workspace;
  std::vector<std::int32_t> places;
  find_border_places(std::vector<std::int32_t>{0, 150, 200, 300, 450, 600, 700, 710, 1000}, PackedBases(bases), PackedBases(read), anchors, 35,
                     workspace, places);
  CHECK(places == std::vector<std::int32_t>{-1, -1, 0, 100, -1, 400, 500, -1, -1});
  find_border_places(std::vector<std::int32_t>{0, 1000}, PackedBases(bases), PackedBases(read), {}, 35, workspace, places);
  CHECK(places == std::vector<std::int32_t>{-1, -1});
}
