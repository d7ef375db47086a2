// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/synthetic_methylation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kmer_model/builtin_models.hpp"

using namespace sluice;

namespace {

struct Levels {
  explicit Levels(std::size_t count) : mean(count), stdv(count), log_stdv(count) {}
  std::vector<float> mean, stdv, log_stdv;
};

}  // namespace

TEST_CASE("only M before G, or in the last place, moves a synthetic level") {
  constexpr std::uint32_t k = 4;
  Levels nucleotide(kmer_count(Alphabet::nucleotide, k)), made(kmer_count(Alphabet::methylation, k));
  for (std::size_t i = 0; i < nucleotide.mean.size(); ++i) {
    nucleotide.mean[i] = 50.0F + static_cast<float>(i);
    nucleotide.stdv[i] = 2;
  }
  const KmerModelView view{k, Alphabet::nucleotide, nucleotide.mean, nucleotide.stdv, nucleotide.log_stdv};
  REQUIRE(kmer_model::synthesize_methylation(view, sluice::parse_motif("cpg"), made.mean, made.stdv, made.log_stdv));
  const auto level = [&](std::string_view kmer) { return made.mean[kmer_rank(Alphabet::methylation, kmer)]; };
  const auto plain = [&](std::string_view kmer) { return nucleotide.mean[kmer_rank(Alphabet::nucleotide, kmer)]; };
  CHECK(level("ACGT") == plain("ACGT"));
  CHECK(level("AMTT") == plain("ACTT"));
  for (const auto& [kmer, base] : {std::pair{"AMGT", "ACGT"}, std::pair{"MGTT", "CGTT"}, std::pair{"AATM", "AATC"}}) {
    const float shift = std::abs(level(kmer) - plain(base));
    CHECK(shift >= 1.5F);
    CHECK(shift <= 4.5F);
  }
  CHECK(made.stdv[0] == 2);
  CHECK(made.log_stdv[0] == doctest::Approx(std::log(2.0)));
}

TEST_CASE("a synthetic model of another motif moves the levels where its base can be modified") {
  constexpr std::uint32_t k = 4;
  Levels nucleotide(kmer_count(Alphabet::nucleotide, k)), made(kmer_count(Alphabet::methylation, k));
  for (std::size_t i = 0; i < nucleotide.mean.size(); ++i) nucleotide.mean[i] = 50.0F + static_cast<float>(i), nucleotide.stdv[i] = 2;
  const KmerModelView view{k, Alphabet::nucleotide, nucleotide.mean, nucleotide.stdv, nucleotide.log_stdv};
  REQUIRE(kmer_model::synthesize_methylation(view, sluice::parse_motif("dam"), made.mean, made.stdv, made.log_stdv));
  const auto difference = [&](std::string_view kmer, std::string_view base) {
    return std::abs(made.mean[kmer_rank(Alphabet::methylation, kmer)] - nucleotide.mean[kmer_rank(Alphabet::nucleotide, base)]);
  };
  CHECK(difference("GMTC", "GATC") >= 1.5F);
  CHECK(difference("MTCA", "ATCA") >= 1.5F);
  CHECK(difference("AAGM", "AAGA") >= 1.5F);
  CHECK(difference("GMGC", "GAGC") == 0);
  CHECK(difference("AMTC", "AATC") == 0);
}

TEST_CASE("arrays of another size are refused") {
  Levels nucleotide(kmer_count(Alphabet::nucleotide, 3)), made(kmer_count(Alphabet::methylation, 4));
  const KmerModelView view{3, Alphabet::nucleotide, nucleotide.mean, nucleotide.stdv, nucleotide.log_stdv};
  CHECK_FALSE(kmer_model::synthesize_methylation(view, sluice::parse_motif("cpg"), made.mean, made.stdv, made.log_stdv));
}

TEST_CASE("every pore has a nucleotide model, R9 also a methylation model") {
  for (const char* pore : {"r9", "r10", "rna_r9", "rna004"}) CHECK(!kmer_model::builtin_model_file(pore, Alphabet::nucleotide).empty());
  CHECK(!kmer_model::builtin_model_file("r9", Alphabet::methylation).empty());
  CHECK(kmer_model::builtin_model_file("r10", Alphabet::methylation).empty());
}

TEST_CASE("synthetic levels never change: what was simulated with them stays comparable") {
  Levels nucleotide(16), made(25);
  std::fill(nucleotide.mean.begin(), nucleotide.mean.end(), 100.0F);
  std::fill(nucleotide.stdv.begin(), nucleotide.stdv.end(), 1.5F);
  const KmerModelView view{2, Alphabet::nucleotide, nucleotide.mean, nucleotide.stdv, nucleotide.log_stdv};
  REQUIRE(kmer_model::synthesize_methylation(view, sluice::parse_motif("cpg"), made.mean, made.stdv, made.log_stdv));
  // Computed with whole numbers of any size, by the definition of the hash.
  for (const auto& [kmer, shift] :
       {std::pair{"MG", -1.932586669921875}, {"AM", 2.4204254150390625}, {"TM", -3.8302459716796875}, {"GM", -1.6094970703125}, {"MA", 0.0}})
    CHECK(made.mean[kmer_rank(Alphabet::methylation, kmer)] == static_cast<float>(100 + shift));
  KmerModelView none = view, long_one = view;
  none.k = 0;
  long_one.k = 13;
  CHECK(!kmer_model::synthesize_methylation(none, sluice::parse_motif("cpg"), made.mean, made.stdv, made.log_stdv));
  CHECK(!kmer_model::synthesize_methylation(long_one, sluice::parse_motif("cpg"), made.mean, made.stdv, made.log_stdv));
}
