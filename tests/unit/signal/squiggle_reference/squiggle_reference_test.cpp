// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sluice/squiggle_reference.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "squiggle_reference/levels.hpp"

using namespace sluice;
using namespace sluice::squiggle_reference;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = testing::load_plugin(SLUICE_PLUGIN_DIR "/squiggle_reference.so");
  return *info;
}

// Levels that tell every k-mer from every other.
std::vector<float> model_levels(std::uint32_t k) {
  std::mt19937 random(k);
  std::vector<float> levels;
  for (std::size_t rank = 0; rank < kmer_count(Alphabet::nucleotide, k); ++rank)
    levels.push_back(60.0F + static_cast<float>(random() % 60000) / 1000);
  return levels;
}

TestBatch model(std::uint32_t k, const std::vector<float>& levels, const char* alphabet = "nucleotide") {
  return BatchBuilder("kmer", static_cast<std::int64_t>(levels.size()))
      .column<float>("level_mean", levels)
      .column<float>("level_stdv", levels)
      .column<float>("log_level_stdv", levels)
      .attribute("k", std::to_string(k))
      .attribute("alphabet", alphabet)
      .build();
}
TestBatch contigs(const std::vector<std::string>& bases) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < bases.size(); ++i) names.push_back("contig" + std::to_string(i));
  return BatchBuilder("contig", static_cast<std::int64_t>(bases.size())).text("name", names).text("bases", bases).attribute("path", "t.fa").build();
}
Result load(const std::vector<std::string>& bases, std::uint32_t k = 3) {
  return run_stage(testing::stage_of(plugin(), "squiggle_reference"))
      .resource("reference", contigs(bases))
      .resource("model", model(k, model_levels(k)))
      .threads(2)
      .run();
}

std::string reverse_complement(const std::string& bases) {
  std::string result(bases.rbegin(), bases.rend());
  for (char& base : result) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : base;
  return result;
}
std::string random_bases(std::size_t count, std::mt19937& random) {
  std::string bases;
  while (bases.size() < count) bases += "ACGT"[random() % 4];
  return bases;
}

// One strand's levels by the definition.
std::vector<std::int16_t> expected_levels(const std::string& bases, std::uint32_t k, const std::vector<float>& levels, double mean, double stdv) {
  std::vector<std::int16_t> result;
  for (std::size_t i = 0; i + k <= bases.size(); ++i) {
    const std::string kmer = bases.substr(i, k);
    if (kmer.find('N') != std::string::npos) {
      result.push_back(63);
      continue;
    }
    const double steps = std::round(16 * (static_cast<double>(levels[kmer_rank(Alphabet::nucleotide, kmer)]) - mean) / stdv);
    result.push_back(static_cast<std::int16_t>(std::min(63.0, std::max(-63.0, steps))));
  }
  return result;
}

}  // namespace

TEST_CASE("levels of DNA are z-scores over all contigs and both strands, in steps of 1/16") {
  std::mt19937 random(7);
  for (const std::uint32_t k : {1U, 2U, 5U, 6U}) {
    std::vector<std::string> bases = {random_bases(700, random), random_bases(k - 1, random), random_bases(k, random), random_bases(40, random)};
    bases[0][100] = 'N';
    const std::vector<float> levels = model_levels(k);
    double count = 0, sum = 0, squares = 0;
    for (const std::string& contig : bases)
      for (const std::string& strand : {contig, reverse_complement(contig)})
        for (std::size_t i = 0; i + k <= strand.size(); ++i) {
          if (strand.substr(i, k).find('N') != std::string::npos) continue;
          const double level = static_cast<double>(levels[kmer_rank(Alphabet::nucleotide, strand.substr(i, k))]);
          count += 1, sum += level, squares += level * level;
        }
    const double mean = sum / count, stdv = std::sqrt(squares / count - mean * mean);

    const Result result = load(bases, k);
    REQUIRE_MESSAGE(result.ok(), result.message);
    const Batch batch = result.batch().view();
    const SquiggleReferenceView view(batch);
    REQUIRE(view.targets() == 4);
    for (std::int64_t target = 0; target < 4; ++target) {
      const std::string& contig = bases[static_cast<std::size_t>(target)];
      CHECK(view[target].name == "contig" + std::to_string(target));
      const auto forward = expected_levels(contig, k, levels, mean, stdv),
                 reverse = expected_levels(reverse_complement(contig), k, levels, mean, stdv);
      REQUIRE(view[target].forward_level.size() == forward.size());
      REQUIRE(view[target].reverse_level.size() == reverse.size());
      for (std::size_t i = 0; i < forward.size(); ++i) {  // a step of leeway: the stage rounds in f32
        CHECK(std::abs(view[target].forward_level[i] - forward[i]) <= 1);
        CHECK(std::abs(view[target].reverse_level[i] - reverse[i]) <= 1);
      }
    }
    CHECK(batch.attribute("k") == std::to_string(k));
  }
}

TEST_CASE("pieces of a contig give the levels of the whole") {
  std::mt19937 random(3);
  const std::string bases = random_bases(500, random);
  const std::vector<float> levels = model_levels(6);
  const auto quantized = quantized_levels(levels, {90, 15});
  const std::size_t count = kmers_of(bases.size(), 6);
  for (const FirstEnd first_end : {FirstEnd::five_prime, FirstEnd::three_prime}) {
    std::vector<std::int16_t> forward(count), reverse(count), forward_pieces(count), reverse_pieces(count);
    write_levels(bases, 6, quantized, first_end, 0, count, forward, reverse);
    for (std::size_t begin = 0; begin < count; begin += 37)
      write_levels(bases, 6, quantized, first_end, begin, std::min(begin + 37, count), forward_pieces, reverse_pieces);
    CHECK(forward == forward_pieces);
    CHECK(reverse == reverse_pieces);
  }
}

TEST_CASE("k-mers of the pieces of a contig are those of the whole") {
  std::mt19937 random(4);
  std::string bases = random_bases(3000, random);
  bases[1000] = 'N';
  for (const Strands strands : {Strands::both, Strands::forward, Strands::reverse}) {
    KmerCounts whole(5), added(5);
    whole.add(bases, strands);
    for (std::size_t begin = 0, count = kmers_of(bases.size(), 5); begin < count; begin += 97) {
      KmerCounts piece(5);
      piece.add(std::string_view(bases).substr(begin, std::min<std::size_t>(97, count - begin) + 4), strands);
      added.add(piece);
    }
    CHECK(std::ranges::equal(whole.counts(), added.counts()));
  }
}

TEST_CASE("levels of RNA are those of the same k-mers, last first") {
  std::mt19937 random(4);
  const std::string bases = random_bases(300, random);
  const auto quantized = quantized_levels(model_levels(5), {90, 15});
  const std::size_t count = kmers_of(bases.size(), 5);
  std::vector<std::int16_t> forward(count), reverse(count), forward_of_rna(count), reverse_of_rna(count);
  write_levels(bases, 5, quantized, FirstEnd::five_prime, 0, count, forward, reverse);
  write_levels(bases, 5, quantized, FirstEnd::three_prime, 0, count, forward_of_rna, reverse_of_rna);
  CHECK(std::equal(forward.begin(), forward.end(), forward_of_rna.rbegin()));
  CHECK(std::equal(reverse.begin(), reverse.end(), reverse_of_rna.rbegin()));
}

TEST_CASE("a target of one k-mer, or of one base, takes the spread of the model") {
  for (const char* bases : {"ACG", "AAAAAAAA"}) {
    const Result result = load({bases});
    REQUIRE_MESSAGE(result.ok(), result.message);
    CHECK(SquiggleReferenceView(result.batch().view()).levels() > 0);
  }
}

TEST_CASE("a letter that is no base makes its k-mers unlike all others") {
  const Result result = load({"ACGTNACGT"});
  const Batch batch = result.batch().view();
  const auto forward = batch.list<std::int16_t>("forward_level")[0], reverse = batch.list<std::int16_t>("reverse_level")[0];
  for (const std::size_t i : {2, 3, 4}) {
    CHECK(forward[i] == squiggle_unknown_level);
    CHECK(reverse[i] == squiggle_unknown_level);
  }
  CHECK(forward[1] != squiggle_unknown_level);
}

TEST_CASE("what can't be a squiggle reference is refused") {
  CHECK(load({"AC", "A"}).message == "target 't.fa': its longest sequence has 2 bases, fewer than a k-mer of the model (3)");
  CHECK(load({""}).status == SLUICE_ERROR_INPUT);
  const auto with_model = [](const TestBatch& kmers) {
    return run_stage(testing::stage_of(plugin(), "squiggle_reference")).resource("reference", contigs({"ACGTACGT"})).resource("model", kmers).run();
  };
  CHECK(with_model(model(2, std::vector<float>(16, 80))).message == "all levels of the k-mer model are alike");
  CHECK(with_model(model(2, std::vector<float>(25, 80), "methylation")).message == "the model is a methylation model");
}

TEST_CASE("targets of DNA are both strands, of RNA one, and they say their pore and size") {
  const auto of_pore = [](const std::string& pore, const std::string& strands, const TestBatch& reference) {
    const TestBatch kmers = BatchBuilder("kmer", 16)
                                .column<float>("level_mean", model_levels(2))
                                .column<float>("level_stdv", model_levels(2))
                                .column<float>("log_level_stdv", model_levels(2))
                                .attribute("k", "2")
                                .attribute("alphabet", "nucleotide")
                                .attribute("pore", pore)
                                .build();
    return run_stage(testing::stage_of(plugin(), "squiggle_reference"))
        .resource("reference", reference)
        .resource("model", kmers)
        .with({{"strands", strands}})
        .run();
  };
  // Levels of the forward and the reverse strand of each contig.
  using Sizes = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto sizes_of = [](const Result& result) {
    const Batch batch = result.batch().view();
    Sizes sizes;
    for (std::int64_t row = 0; row < batch.rows(); ++row)
      sizes.emplace_back(batch.list<std::int16_t>("forward_level")[row].size(), batch.list<std::int16_t>("reverse_level")[row].size());
    return sizes;
  };
  const TestBatch transcripts = contigs({"ACGTACGT", "A"});
  for (const char* pore : {"rna_r9", "rna004"}) {
    const Result rna = of_pore(pore, "auto", transcripts);
    CHECK(rna.batch().view().attribute("pore") == pore);
    CHECK(sizes_of(rna) == Sizes{{7, 0}, {0, 0}});
    CHECK(SquiggleReferenceView(rna.batch().view()).first_end() == FirstEnd::three_prime);
    CHECK(sizes_of(of_pore(pore, "both", transcripts)) == Sizes{{7, 7}, {0, 0}});
  }
  const Result dna = of_pore("r10", "auto", transcripts);
  CHECK(dna.batch().view().attribute("pore") == "r10");
  CHECK(dna.batch().view().attribute("bases") == "9");
  CHECK(sizes_of(dna) == Sizes{{7, 7}, {0, 0}});
  CHECK(SquiggleReferenceView(dna.batch().view()).first_end() == FirstEnd::five_prime);
  CHECK(sizes_of(of_pore("r10", "forward", transcripts)) == Sizes{{7, 0}, {0, 0}});
  // Regions that name a strand.
  const TestBatch regions = BatchBuilder("contig", 3)
                                .text("name", {"a", "b", "c"})
                                .text("bases", {"ACGTACGT", "ACGTAC", "ACGT"})
                                .column<std::uint8_t>("region_strand", {0, 1, 2})
                                .attribute("path", "t.bed")
                                .build();
  CHECK(sizes_of(of_pore("rna004", "auto", regions)) == Sizes{{7, 0}, {5, 0}, {0, 3}});
  CHECK(sizes_of(of_pore("rna004", "both", regions)) == Sizes{{7, 7}, {5, 5}, {3, 3}});
  CHECK(sizes_of(of_pore("r9", "auto", regions)) == Sizes{{7, 7}, {5, 5}, {3, 3}});
  CHECK(load({"ACGTA"}).batch().view().attribute("pore").empty());
}

TEST_CASE("levels are weighed by how often their k-mers come, or all alike where none comes") {
  const std::vector<float> levels = {60, 70};
  const LevelScaling weighed = level_scaling(levels, std::vector<std::uint64_t>{1, 3});
  CHECK(weighed.shift == 67.5F);
  CHECK(weighed.scale == doctest::Approx(std::sqrt((1 * 7.5 * 7.5 + 3 * 2.5 * 2.5) / 4)));
  const LevelScaling one = level_scaling(levels, std::vector<std::uint64_t>{0, 3});
  CHECK(one.shift == 70);
  CHECK(one.scale == 0);
  const LevelScaling alike = level_scaling(levels, std::vector<std::uint64_t>{0, 0});
  CHECK(alike.shift == 65);
  CHECK(alike.scale == 5);
}

TEST_CASE("current is rounded to the nearest step and clipped") {
  CHECK(squiggle_quantized(90, 90, 10) == 0);
  CHECK(squiggle_quantized(100, 90, 10) == 16);
  CHECK(squiggle_quantized(80, 90, 10) == -16);
  CHECK(squiggle_quantized(90.3125F, 90, 10) == 1);  // half a step: away from zero
  CHECK(squiggle_quantized(89.6875F, 90, 10) == -1);
  CHECK(squiggle_quantized(1e30F, 90, 10) == 63);
  CHECK(squiggle_quantized(-1e30F, 90, 10) == -63);
  CHECK(squiggle_quantized(std::nanf(""), 90, 10) == 63);
}

TEST_CASE("the stage keeps the contract") {
  testing::ContractSample sample;
  sample.resources.emplace("reference", contigs({"ACGTTGCANNACG", "AC"}));
  sample.resources.emplace("model", model(3, model_levels(3)));
  for (const std::string& problem : testing::contract_problems(plugin(), {{"squiggle_reference", sample}})) FAIL_CHECK(problem);
}
