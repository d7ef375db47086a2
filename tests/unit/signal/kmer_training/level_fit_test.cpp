// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_training/level_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kmer_training/alphabet.hpp"
#include "simulate_signal/counter_random.hpp"
#include "simulate_signal/distributions.hpp"

namespace sluice::kmer_training {
namespace {

using simulate_signal::Purpose, simulate_signal::QuantileTable, simulate_signal::RandomStream;

TEST_CASE("a level's mean and standard deviation are found under outliers, and in units of reads of any var") {
  const QuantileTable normal = QuantileTable::normal();
  RandomStream random(5, 0, Purpose::noise);
  std::vector<Observation> observations;
  for (int i = 0; i < 20000; ++i) {
    const float var = i % 2 == 0 ? 0.5F : 2.0F;
    observations.push_back({80.0F + 1.5F * var * normal(random.next32()), 1 / var});
  }
  const LevelFit clean = fit_level(observations, 1.5F);
  CHECK(clean.mean == doctest::Approx(80).epsilon(0.001));
  std::vector<Observation> even;
  for (int i = 0; i < 20000; ++i) even.push_back({80.0F + 1.5F * normal(random.next32()), 1});
  CHECK(fit_level(even, 1.5F).stdv == doctest::Approx(1.5).epsilon(0.02));
  for (int i = 0; i < 1500; ++i) even.push_back({static_cast<float>(110 + 10 * random.uniform()), 1});
  const LevelFit dirty = fit_level(even, 1.5F);
  CHECK(dirty.mean == doctest::Approx(80).epsilon(0.002));
  CHECK(dirty.stdv == doctest::Approx(1.5).epsilon(0.1));
}

TEST_CASE("few observations: one, two, many that are equal, one that lies apart") {
  std::vector<Observation> one{{70, 1}};
  CHECK(fit_level(one, 2).mean == 70);
  CHECK(fit_level(one, 2).stdv == 0);
  CHECK(fit_level(one, 2).kept == 1);
  std::vector<Observation> two{{70, 1}, {72, 1}};
  CHECK(fit_level(two, 2).mean == 71);
  CHECK(fit_level(two, 2).kept == 2);
  CHECK(fit_level(two, 2).stdv == doctest::Approx(std::sqrt(2.0) / 0.9546));
  std::vector<Observation> equal(9, Observation{70, 1});
  equal.push_back({90, 1});
  CHECK(fit_level(equal, 2).mean == 70);
  CHECK(fit_level(equal, 2).kept == 9);
  std::vector<Observation> apart{{70, 1}, {71, 1}, {95, 1}};
  CHECK(fit_level(apart, 2).mean == 70.5);
  std::vector<Observation> wide{{70, 0.5F}, {70, 0.5F}};
  CHECK(fit_level(wide, 2).mean_square_var == 4);
}

TEST_CASE("levels come back to the units of the start") {
  const std::vector<float> start{80, 90, 100, 110, 95};
  std::vector<float> trained;
  for (const float level : start) trained.push_back((level - 7) / 1.25F);
  trained[4] = 500;  // no anchor
  const std::vector<Anchor> anchors{{0, 1}, {1, 5}, {2, 0.1}, {3, 1}};
  const Units units = to_start_units(start, trained, anchors);
  CHECK(units.factor == doctest::Approx(1.25));
  CHECK(units.offset == doctest::Approx(7));
  const Units none = to_start_units(start, trained, std::vector<Anchor>{{0, 1}});
  CHECK(none.factor == 1);
  CHECK(none.offset == 0);
  const std::vector<float> flat(5, 80.0F);
  CHECK(to_start_units(start, flat, anchors).factor == 1);
}

TEST_CASE("a methylation alphabet begins with every M as a C") {
  std::vector<float> mean(16), stdv(16, 1.5F), log_stdv(16, 0.25F);
  for (std::size_t rank = 0; rank < mean.size(); ++rank) mean[rank] = static_cast<float>(60 + rank);
  const KmerModelView nucleotide{2, Alphabet::nucleotide, mean, stdv, log_stdv};
  const Levels levels = levels_in(Alphabet::methylation, nucleotide, 'C');
  REQUIRE(levels.mean.size() == 25);
  for (std::size_t rank = 0; rank < 25; ++rank) {
    std::string kmer = spell(rank, Alphabet::methylation, 2);
    CHECK(kmer_rank(Alphabet::methylation, kmer) == rank);
    for (char& letter : kmer) letter = letter == 'M' ? 'C' : letter;
    CHECK(levels.mean[rank] == mean[kmer_rank(Alphabet::nucleotide, kmer)]);
  }
  CHECK(levels_in(Alphabet::nucleotide, levels.view(), 'C').k == 0);
  CHECK(levels_in(Alphabet::methylation, levels.view(), 'C').mean == levels.mean);
  CHECK(levels_in(Alphabet::nucleotide, {3, Alphabet::nucleotide, mean, stdv, log_stdv}, 'C').k == 0);
  CHECK(is_possible("AMG", parse_motif("cpg")));
  CHECK(is_possible("AAM", parse_motif("cpg")));
  CHECK_FALSE(is_possible("AMA", parse_motif("cpg")));
  CHECK_FALSE(is_possible("MMG", parse_motif("cpg")));
  const Motif dam = parse_motif("dam"), dcm = parse_motif("dcm");
  CHECK(is_possible("GMT", dam));
  CHECK(is_possible("MTC", dam));
  CHECK(is_possible("CAM", parse_motif("A:0:a")));
  CHECK_FALSE(is_possible("CMT", dam));
  CHECK_FALSE(is_possible("GMA", dam));
  CHECK(is_possible("CMAGG", dcm));
  CHECK(is_possible("CMTGG", dcm));
  CHECK_FALSE(is_possible("CMCGG", dcm));
}

}  // namespace
}  // namespace sluice::kmer_training
