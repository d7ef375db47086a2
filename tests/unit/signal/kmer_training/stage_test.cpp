// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/signal/kmer_training/made_reads.hpp"

using namespace sluice::testing;
using namespace sluice::kmer_training;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/kmer_training.so");
  return *info;
}

TestBatch model(const Levels& levels) {
  return BatchBuilder("kmer", static_cast<std::int64_t>(levels.mean.size()))
      .column<float>("level_mean", levels.mean)
      .column<float>("level_stdv", levels.stdv)
      .column<float>("log_level_stdv", levels.log_stdv)
      .attribute("k", std::to_string(levels.k))
      .attribute("alphabet", "nucleotide")
      .build();
}

std::vector<TestBatch> reads(const Levels& pore, std::int64_t count, std::size_t at_once) {
  const std::vector<MadeRead> made = made_reads(pore, count, 29);
  std::vector<TestBatch> batches;
  for (std::size_t first = 0; first < made.size(); first += at_once) {
    std::vector<std::string> ids, bases;
    std::vector<std::vector<float>> events;
    for (std::size_t i = first; i < std::min(first + at_once, made.size()); ++i) {
      ids.push_back("r" + std::to_string(i));
      bases.push_back(made[i].bases);
      events.push_back(made[i].event_mean);
    }
    batches.push_back(BatchBuilder("read", static_cast<std::int64_t>(ids.size()))
                          .text("read_id", ids)
                          .text("bases", bases)
                          .list<float>("event_mean", events)
                          .build());
  }
  return batches;
}

}  // namespace

TEST_CASE("training goes on behind an interruption, and over parts of the reads, with the same model") {
  const Levels pore = random_pore(4, 27), start = rough(pore, 1, 28);
  const StageRun run =
      run_stage(stage_of(plugin(), "kmer_training"), reads(pore, 12, 4)).resource("model", model(start)).with({{"rounds", 2}, {"max_var", 20}});
  const Result whole = run.run();
  REQUIRE(whole.ok());
  REQUIRE(whole.counters.at("k-mers trained") > 0);
  CHECK(resume_problems(run) == std::vector<std::string>{});
}

TEST_CASE("a run says how many k-mers were seen, and warns where none with M was") {
  const Levels pore = random_pore(4, 27);
  const StageRun run = run_stage(stage_of(plugin(), "kmer_training"), reads(pore, 6, 3)).resource("model", model(pore));
  const Result plain = StageRun(run).with({{"rounds", 1}}).run();
  REQUIRE(plain.ok());
  CHECK(plain.logged("k-mers that were seen: 2"));
  CHECK(plain.logged(" of 256; the others have the level that these make expected"));
  const Result without_m = StageRun(run).with({{"rounds", 1}, {"alphabet", "methylation"}}).run();
  REQUIRE(without_m.ok());
  CHECK(without_m.logged(" of 256 without M, 0 of "));
  CHECK(without_m.logged("no k-mer with M was seen, so that M is what it was in the first model"));
  CHECK(without_m.counters.at("k-mers with M trained") == 0);
}

TEST_CASE("parts that have more than max_bases together are refused") {
  const Levels pore = random_pore(4, 27);
  const std::vector<TestBatch> batches = reads(pore, 4, 2);
  std::size_t bases = 0;
  for (const std::int64_t row : {0, 1}) bases += batches[0].view().text("bases")[row].size();
  const StageRun run = run_stage(stage_of(plugin(), "kmer_training"), batches)
                           .resource("model", model(pore))
                           .with({{"rounds", 1}, {"max_bases", std::max<std::size_t>(bases, batches[1].view().text("bases")[0].size() + 1)}});
  std::vector<SavedInstance> first, second;
  REQUIRE(StageRun(run).only_inputs(0, 1).saves_to(&first).run().ok());
  REQUIRE(StageRun(run).only_inputs(1, 2).saves_to(&second).run().ok());
  CHECK(StageRun(run).only_inputs(2, 2).resumes({first.back(), second.back()}).run().status == SLUICE_ERROR_USAGE);
  CHECK(StageRun(run).only_inputs(1, 2).resumes({first.back()}).run().ok());
}

TEST_CASE("a model is written on behind an interruption") {
  const TestBatch rows = BatchBuilder("kmer", 2)
                             .text("kmer", {"A", "C"})
                             .column<float>("level_mean", {80, 90})
                             .column<float>("level_stdv", {1, 2})
                             .column<std::int64_t>("observations", {5, 6})
                             .build();
  CHECK(resume_problems(run_stage(stage_of(plugin(), "kmer_model_writer"), std::vector{rows, rows}).with({{"output", "m"}})) ==
        std::vector<std::string>{});
}
