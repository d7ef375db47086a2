// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "made_up_model.hpp"
#include "simulate_signal/simulate_read.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/simulate_signal.so");
  return *info;
}
TestBatch reference() {
  return BatchBuilder("contig", 2)
      .text("name", {"one", "two"})
      .text("bases", {simulate_signal::synthesize_contig(1, 0, 20000, 0.5, 1), simulate_signal::synthesize_contig(1, 1, 20000, 0.5, 1)})
      .build();
}
TestBatch model(Alphabet alphabet, std::uint32_t k = 5) {
  const simulate_signal::MadeUpModel made(alphabet, k);
  return BatchBuilder("kmer", static_cast<std::int64_t>(made.mean.size()))
      .column<float>("level_mean", made.mean)
      .column<float>("level_stdv", made.stdv)
      .column<float>("log_level_stdv", made.log_stdv)
      .attribute("k", std::to_string(k))
      .attribute("alphabet", alphabet == Alphabet::nucleotide ? "nucleotide" : "methylation")
      .build();
}
StageRun simulation() {
  return run_stage(stage_of(plugin(), "simulate_signal"))
      .with({{"reads", 30}, {"mean_length", 1000.0}})
      .resource("reference", reference())
      .resource("model", model(Alphabet::nucleotide))
      .resource("methylation_model", model(Alphabet::methylation));
}
std::string all_cells(const Result& result, const std::string& column) {
  std::string bytes;
  for (const TestBatch& batch : result.batches)
    for (const TestBatch::Column& c : batch.contents().columns)
      if (c.name == column)
        for (std::int64_t row = 0; row < batch.rows(); ++row) bytes += batch.cell(c, row);
  return bytes;
}

}  // namespace

TEST_CASE("the stages keep the contract of every stage") {
  const ContractSample sample{
      .parameters = {{"reads", 8}, {"mean_length", 600.0}},
      .resources = {{"reference", reference()}, {"model", model(Alphabet::nucleotide)}, {"methylation_model", model(Alphabet::methylation)}},
      .batches = {}};
  CHECK(contract_problems(plugin(), {{"simulate_signal", sample},
                                     {"synthetic_reference", {.parameters = {{"contigs", 3}, {"length", 500}}, .resources = {}, .batches = {}}}}) ==
        std::vector<std::string>{});
  CHECK(contract_problems(plugin(),
                          {{"synthetic_reference",
                            {.parameters = {{"length", 5000}, {"repeats", 0.4}, {"tandem_repeats", 0.1}}, .resources = {}, .batches = {}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("the bytes depend neither on threads nor on the size of batches") {
  const Result whole = simulation().run().expect_rows(30);
  const Result pieces = simulation().threads(4).target_work(1).run().expect_rows(30);
  CHECK(whole.batches.size() == 1);
  CHECK(pieces.batches.size() == 30);
  for (const char* column : {"read_id", "contig", "ref_start", "cigar", "bases", "qualities", "raw_signal", "truth_site", "truth_methylated",
                             "truth_frequency", "record_index"})
    CHECK(all_cells(whole, column) == all_cells(pieces, column));
}

TEST_CASE("without a methylation model nothing is methylated and there is no truth") {
  const Result result = run_stage(stage_of(plugin(), "simulate_signal"))
                            .with({{"reads", 5}})
                            .resource("reference", reference())
                            .resource("model", model(Alphabet::nucleotide))
                            .expect_rows(5);
  CHECK(all_cells(result, "truth_site").empty());
  CHECK(!all_cells(result, "raw_signal").empty());
}

TEST_CASE("models that do not fit and impossible parameters are refused with a remedy") {
  Result wrong_k = simulation().resource("methylation_model", model(Alphabet::methylation, 6)).run();
  CHECK(wrong_k.status == SLUICE_ERROR_USAGE);
  CHECK(wrong_k.message.find("k = 6") != std::string::npos);
  Result wrong_alphabet = simulation().resource("model", model(Alphabet::methylation)).run();
  CHECK(wrong_alphabet.status == SLUICE_ERROR_USAGE);
  Result no_contig = simulation().with({{"minimum_length", 50000}}).run();
  CHECK(no_contig.status == SLUICE_ERROR_USAGE);
  CHECK(!no_contig.remedy.empty());
  CHECK(simulation().with({{"substitution_share", 0.9}, {"insertion_share", 0.9}}).run().status == SLUICE_ERROR_USAGE);
}

TEST_CASE("no reads are no rows") { CHECK(simulation().with({{"reads", 0}}).run().rows() == 0); }

TEST_CASE("RNA has the signal of DNA turned around, and comes from the forward strand") {
  const auto run = [](const ParameterTexts& more, const std::string& pore) {
    ParameterTexts parameters = more;
    parameters.insert({{"reads", 30}, {"mean_length", 600.0}});
    const simulate_signal::MadeUpModel made(Alphabet::nucleotide, 5);
    return run_stage(stage_of(plugin(), "simulate_signal"))
        .with(parameters)
        .resource("reference", reference())
        .resource("model", BatchBuilder("kmer", static_cast<std::int64_t>(made.mean.size()))
                               .column<float>("level_mean", made.mean)
                               .column<float>("level_stdv", made.stdv)
                               .column<float>("log_level_stdv", made.log_stdv)
                               .attribute("k", "5")
                               .attribute("alphabet", "nucleotide")
                               .attribute("pore", pore)
                               .build())
        .expect_rows(30);
  };
  const Result dna = run({{"strands", "forward"}}, "r9"), rna = run({}, "rna004");
  for (const char* column : {"bases", "cigar", "ref_start", "is_reverse"}) CHECK(all_cells(dna, column) == all_cells(rna, column));
  for (std::size_t b = 0; b < dna.batches.size(); ++b) {
    const auto forwards = dna.batches[b].view().list<std::int16_t>("raw_signal"), backwards = rna.batches[b].view().list<std::int16_t>("raw_signal");
    for (std::int64_t row = 0; row < dna.batches[b].rows(); ++row)
      CHECK(std::vector<std::int16_t>(forwards[row].begin(), forwards[row].end()) ==
            std::vector<std::int16_t>(backwards[row].rbegin(), backwards[row].rend()));
  }
  CHECK(all_cells(run({{"molecule", "dna"}}, "rna004"), "raw_signal") == all_cells(run({}, "r9"), "raw_signal"));
  CHECK(all_cells(run({{"molecule", "rna"}}, ""), "raw_signal") == all_cells(rna, "raw_signal"));
}
