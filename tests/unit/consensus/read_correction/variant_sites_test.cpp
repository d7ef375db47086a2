// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/variant_sites.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "read_correction/consensus_vote.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

VariantSites sites_of(const std::vector<std::string>& sequences, std::string consensus) {
  std::string all;
  std::vector<std::int32_t> lengths;
  for (const std::string& sequence : sequences) {
    all += sequence;
    lengths.push_back(static_cast<std::int32_t>(sequence.size()));
  }
  ConsensusVote vote;
  vote.refine(all, lengths, {}, 2, consensus);
  VariantSites sites;
  vote.find_sites(lengths, consensus, sites);
  return sites;
}

// A read of which the molecule has allele `own` at all sites, and reads that overlap it: `same` of the same molecule, `others` of another one, which
// has the other allele everywhere. A letter is wrong (the other allele) or absent in a share of the cases.
struct MadeRead {
  std::string consensus, truth;
  ReadVariants variants;
  int wrong_before = 0;
};

MadeRead made_read(std::mt19937& random, std::size_t site_count, int same, int others, double wrong) {
  MadeRead made;
  made.consensus = simulated_reads::random_bases(50 * site_count, random);
  made.truth = made.consensus;
  const auto chance = [&](double share) { return std::uniform_real_distribution<>(0, 1)(random) < share; };
  for (std::size_t s = 0; s < site_count; ++s) {
    const std::size_t place = 50 * s + 7;
    const char own = "ACGT"[random() % 4];
    const char other = own == 'A' ? 'C' : 'A';
    made.truth[place] = own;
    made.consensus[place] = same + 1 > others ? own : other;
    std::string letters;
    std::vector<std::int64_t> layers;
    const auto letter_of = [&](char right, char false_one) { return chance(wrong) ? (chance(0.5) ? false_one : '-') : right; };
    letters += letter_of(own, other);
    for (int r = 0; r < same + others; ++r) {
      letters += r < same ? letter_of(own, other) : letter_of(other, own);
      layers.push_back(1000 - 3 * r);
    }
    made.wrong_before += made.consensus[place] != own ? 1 : 0;
    made.variants.add(place, letters, made.consensus[place], layers);
  }
  return made;
}

int differences(const std::string& a, const std::string& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a base that many sequences have otherwise is a site, with the letter of each") {
  const std::string one = "ACGTTGCAAGTC", other = "ACGTTGTAAGTC", gap = "ACGTTGAAGTC";
  const VariantSites sites = sites_of({one, other, one, other, gap, other, one, "", one}, one);
  CHECK(sites.places == std::vector<std::int32_t>{6});
  CHECK(sites.letters == "CTCT-TC-C");
}

TEST_CASE("few other letters, gaps and other letters at different places are no site") {
  const std::string one = "ACGTTGCAAGTC", other = "ACGTTGTAAGTC", gap = "ACGTTGAAGTC";
  CHECK(sites_of({one, one, one, one, one, one, one, other, other}, one).places.empty());
  CHECK(sites_of({one, one, one, one, one, one, gap, gap, gap, gap}, one).places.empty());
  CHECK(sites_of({one, one, one, one, one, one, other, other, "ACTTTGCAAGTC", "ACGTTGCAATTC"}, one).places.empty());
  CHECK(sites_of({}, one).places.empty());
  CHECK(sites_of({"", ""}, one).places.empty());
  // Of more sequences more have to have it.
  CHECK(least_support(9) == 3);
  CHECK(least_support(41) == 5);
  std::vector<std::string> many(40, one);
  std::fill_n(many.begin(), 4, other);
  CHECK(sites_of(many, one).places.empty());
  many[4] = other;
  CHECK(sites_of(many, one).places.size() == 1);
}

TEST_CASE("a read keeps the bases of its own haplotype, though its own letter may be wrong and most reads are of the other") {
  std::mt19937 random(9);
  int before = 0, after = 0, sites = 0;
  for (int round = 0; round < 200; ++round) {
    MadeRead made = made_read(random, 10 + random() % 30, 8, 12, 0.08);
    made.variants.decide(made.consensus);
    before += made.wrong_before;
    after += differences(made.consensus, made.truth);
    sites += static_cast<int>(made.variants.sites.size());
  }
  CHECK(before == sites);
  CHECK(after * 100 < sites);
}

TEST_CASE("a letter that errors have made a site is not kept: no reads are of another haplotype") {
  std::mt19937 random(10);
  // The read and four more have the error, at one place; elsewhere there is no site.
  ReadVariants variants;
  std::vector<std::int64_t> layers;
  for (int r = 0; r < 20; ++r) layers.push_back(r);
  variants.add(3, "TTTTTAAAAAAAAAAAAAAAA", 'A', layers);
  std::string bases = "CCCACCC";
  variants.decide(bases);
  CHECK(bases == "CCCACCC");
  // The same with two such places, which different reads share with it.
  variants.clear();
  variants.add(3, "TTTTTAAAAAAAAAAAAAAAA", 'A', layers);
  variants.add(5, "TAAAAAAAAAAAAAAAATTTT", 'C', layers);
  variants.decide(bases);
  CHECK(bases == "CCCACCC");
}

TEST_CASE("a read without sites, and one whose letters are all unknown, stay as they are") {
  ReadVariants variants;
  std::string bases = "ACGT";
  variants.decide(bases);
  const std::vector<std::int64_t> layers{1, 2};
  variants.add(0, "---", 'A', layers);
  variants.add(2, "-NG", 'G', layers);
  variants.decide(bases);
  CHECK(bases == "ACGT");
  CHECK(variants.sites.size() == 2);
  variants.clear();
  CHECK(variants.sites.empty());
}
