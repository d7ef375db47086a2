// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {
namespace {

// A segment of `length` As with CpGs whose Cs stand at the given offsets.
std::string segment_with_sites(std::size_t length, const std::vector<std::size_t>& sites) {
  std::string segment(length, 'A');
  for (const std::size_t site : sites) segment.replace(site, 2, "CG");
  return segment;
}

std::vector<SiteGroup> groups_of(std::string_view segment, std::string_view motif = "cpg") {
  std::vector<SiteGroup> groups;
  find_site_groups(segment, parse_motif(motif).forward, groups);
  return groups;
}

TEST_CASE("a model tells modified bases where a k-mer that can be has another level or spread") {
  const Motif cpg = parse_motif("cpg");
  std::vector<float> mean, stdv(125, 1.5F), log_stdv(125, 0.4F);
  for (std::size_t rank = 0; rank < 125; ++rank) {
    std::size_t code = 0;
    for (const std::size_t digit : {rank / 25, rank / 5 % 5, rank % 5}) code = code * 5 + (digit == 3 ? 1 : digit);
    mean.push_back(static_cast<float>(60 + code));
  }
  const KmerModelView model{3, Alphabet::methylation, mean, stdv, log_stdv};
  CHECK_FALSE(tells_modified_bases(model, cpg));
  mean[kmer_rank(Alphabet::methylation, "AMA")] += 1;  // no CpG
  CHECK_FALSE(tells_modified_bases(model, cpg));
  stdv[kmer_rank(Alphabet::methylation, "AMG")] += 1;
  CHECK(tells_modified_bases(model, cpg));
  CHECK(tells_modified_bases(model, parse_motif("GATC:1:a")));
}

TEST_CASE("a lone CpG is a group of one") {
  const auto groups = groups_of(segment_with_sites(100, {40}));
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].first_site == 40);
  CHECK(groups[0].last_site == 40);
  CHECK(groups[0].site_count == 1);
}

TEST_CASE("CpGs ten bases apart share a group, eleven apart they do not") {
  const auto together = groups_of(segment_with_sites(100, {40, 50, 60}));
  REQUIRE(together.size() == 1);
  CHECK(together[0].first_site == 40);
  CHECK(together[0].last_site == 60);
  CHECK(together[0].site_count == 3);
  CHECK(groups_of(segment_with_sites(100, {40, 51})).size() == 2);
}

TEST_CASE("a group that starts within 20 bases of the alignment start is left out") {
  CHECK(groups_of(segment_with_sites(100, {20})).empty());
  CHECK(groups_of(segment_with_sites(100, {21})).size() == 1);
}

TEST_CASE("a group that spans more than 200 bases is left out as a whole") {
  std::vector<std::size_t> sites;
  for (std::size_t site = 50; site <= 250; site += 10) sites.push_back(site);
  CHECK(groups_of(segment_with_sites(400, sites)).size() == 1);
  sites.push_back(252);
  CHECK(groups_of(segment_with_sites(400, sites)).empty());
}

TEST_CASE("segments without a CpG, of one base or empty have no groups") {
  CHECK(groups_of("").empty());
  CHECK(groups_of("C").empty());
  CHECK(groups_of(std::string(1000, 'C')).empty());
  CHECK(groups_of(std::string(50, 'A') + "C").empty());
}

TEST_CASE("the calling sequence has ten bases on either side") {
  const std::string segment = segment_with_sites(100, {40, 45});
  const auto groups = groups_of(segment);
  REQUIRE(groups.size() == 1);
  CHECK(calling_sequence(segment, groups[0]) == segment.substr(30, 26));
}

TEST_CASE("sequences are cut at the segment, and offsets outside it give nothing") {
  const std::string segment = segment_with_sites(46, {40});
  const auto groups = groups_of(segment);
  REQUIRE(groups.size() == 1);
  CHECK(calling_sequence(segment, groups[0]) == segment.substr(30));
  CHECK(calling_sequence(segment, {.first_site = 5, .last_site = 5, .site_count = 1}).empty());
  CHECK(calling_sequence(segment, {.first_site = 500, .last_site = 500, .site_count = 1}).empty());
  CHECK(calling_sequence(segment, {.first_site = 40, .last_site = 5, .site_count = 1}).empty());
}

TEST_CASE("groups of random segments cover every CpG once, in order") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string segment;
    for (int i = 0; i < 600; ++i) segment += "ACGT"[random() % 4];
    const auto groups = groups_of(segment);
    std::int64_t previous = 0;
    for (const SiteGroup& group : groups) {
      CHECK(calling_start(group) > kGroupFlank);
      CHECK(group.first_site > previous + (previous == 0 ? 0 : kGroupSeparation));
      std::int64_t sites = 0;
      std::int64_t latest = group.first_site;
      for (std::int64_t i = group.first_site; i <= group.last_site; ++i) {
        if (segment.compare(static_cast<std::size_t>(i), 2, "CG") != 0) continue;
        CHECK(i - latest <= kGroupSeparation);
        latest = i;
        ++sites;
      }
      CHECK(latest == group.last_site);
      CHECK(sites == group.site_count);
      previous = group.last_site;
    }
  }
}

TEST_CASE("a site of any motif is at its first base on the forward strand") {
  std::string segment(120, 'T');
  segment.replace(40, 4, "GATC");
  segment.replace(48, 4, "GATC");
  const auto dam = groups_of(segment, "dam");
  REQUIRE(dam.size() == 1);
  CHECK(dam[0].first_site == 40);
  CHECK(dam[0].last_site == 48);
  CHECK(dam[0].site_count == 2);
  CHECK(calling_sequence(segment, dam[0]) == segment.substr(30, 29));
  segment.replace(80, 5, "CCAGG");
  segment.replace(100, 5, "CCTGG");
  CHECK(groups_of(segment, "dcm").size() == 2);
  CHECK(groups_of(segment, "CCAGG:1:m").size() == 1);
}

TEST_CASE("a motif that is not its own reverse complement has sites of its own on each strand") {
  std::string segment(120, 'T');
  segment.replace(40, 5, "GAAGC");  // forward
  segment.replace(70, 5, "GCTTC");  // reverse
  const Motif motif = parse_motif("GAAGC:2:a");
  CHECK_FALSE(motif.is_palindrome());
  std::vector<SiteGroup> groups;
  find_site_groups(segment, motif.forward, groups);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].first_site == 40);
  find_site_groups(segment, motif.reverse, groups);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].first_site == 70);
}

TEST_CASE("a long motif is seen with five bases behind it, and groups reach as far") {
  const Motif motif = parse_motif("GAHTHCCATTYT:1:a");
  CHECK(group_reach(motif.forward) == 17);
  CHECK(group_reach(parse_motif("dcm").forward) == 10);
  std::string segment(150, 'C');
  for (const std::size_t site : {28U, 45U}) segment.replace(site, 12, "GAATACCATTTT");
  std::vector<SiteGroup> groups;
  find_site_groups(segment, motif.forward, groups);
  REQUIRE(groups.size() == 1);  // 28 is the first that is not too close to the start
  CHECK(groups[0].site_count == 2);
  CHECK(calling_sequence(segment, groups[0]) == segment.substr(18, 45));
  find_site_groups(segment.substr(1), motif.forward, groups);
  CHECK(groups.empty());
}

TEST_CASE("a site that the end of the segment cuts is none") {
  const std::string segment = std::string(40, 'T') + "GAT";
  CHECK(groups_of(segment, "dam").empty());
  CHECK(groups_of(segment + "C", "dam").size() == 1);
}

TEST_CASE("a reference is upper-cased and each ambiguity code becomes its first base") {
  std::string segment = "acgtACGTMRWSYKVHDBNmn";
  CHECK(normalise_reference(segment) == ReferenceStatus::ok);
  CHECK(segment == "ACGTACGTAAACCGAAACAAA");
  std::string bad = "ACX";
  CHECK(normalise_reference(bad) == ReferenceStatus::unknown_letter);
  std::string high = "AC\xFF";
  CHECK(normalise_reference(high) == ReferenceStatus::unknown_letter);
  CHECK(normalise_reference({}) == ReferenceStatus::ok);
}

}  // namespace
}  // namespace sluice::methylation_hmm
