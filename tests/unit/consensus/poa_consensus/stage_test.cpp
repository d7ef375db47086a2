// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "unit/consensus/poa_consensus/noisy_copies.hpp"
#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::poa_consensus;
using sluice::testing::BatchBuilder;
using sluice::testing::ContractSample;
using sluice::testing::TestBatch;

namespace {

const sluice_plugin_info& plugin() { return *sluice::testing::load_plugin(SLUICE_PLUGIN_DIR "/poa_consensus.so"); }
auto stage(const char* id) { return sluice::testing::stage_of(plugin(), id); }

enum class Columns { plain, all };

TestBatch batch_of(std::vector<testing::MadeWindow> windows, Columns columns) {
  std::vector<std::string> names, sequences, qualities;
  std::vector<std::vector<std::int32_t>> lengths, begins, ends;
  for (testing::MadeWindow& window : windows) {
    window.view();
    names.push_back("w" + std::to_string(names.size()));
    sequences.push_back(window.joined);
    qualities.push_back(window.joined_qualities);
    lengths.push_back(window.lengths);
    begins.push_back(window.layer_begin);
    ends.push_back(window.layer_end);
  }
  BatchBuilder builder("window", static_cast<std::int64_t>(windows.size()));
  builder.text("window_name", names).text("sequences", sequences).list<std::int32_t>("sequence_length", lengths);
  if (columns == Columns::all)
    builder.text("sequence_qualities", qualities).list<std::int32_t>("layer_begin", begins).list<std::int32_t>("layer_end", ends);
  return builder.build();
}

}  // namespace

TEST_CASE("consensus and its writers keep the contract of all stages") {
  std::mt19937 random(1);
  std::vector<testing::MadeWindow> windows(3);
  windows[1].sequences = {""};
  windows[2].sequences = {"ACGT", "", "ACGT"};
  for (int i = 0; i < 60; ++i) windows.push_back(testing::make_window(random, 10 + random() % 80, 1 + random() % 9));
  const TestBatch plain = batch_of(windows, Columns::plain);
  for (std::size_t i = 3; i < windows.size(); ++i) {
    if (i % 2 == 0 && !windows[i].sequences[0].empty()) add_layers(random, windows[i]);
    if (i % 3 == 0) add_qualities(random, windows[i]);
  }
  const TestBatch all = batch_of(windows, Columns::all);
  for (const std::string algorithm : {"heaviest_bundle", "majority"}) {
    for (const std::string alignment : {"global", "local", "semi_global"}) {
      const ContractSample sample{.parameters = {{"algorithm", algorithm}, {"alignment", alignment}}, .batches = {plain, all}};
      for (const std::string& problem : sluice::testing::contract_problems(plugin(), {{"poa_consensus", sample}})) FAIL_CHECK(problem);
    }
  }
  const auto made = sluice::testing::run_stage(stage("poa_consensus"), plain).run();
  REQUIRE(made.ok());
  CHECK(made.failed.empty());
  const sluice::Batch view = made.batch().view();
  CHECK(view.text("consensus")[0].empty());
  CHECK(view.text("consensus")[2] == "ACGT");
  CHECK(view.text("msa")[2] == "ACGT\n----\nACGT\n");
  CHECK(view.column<std::uint8_t>("is_polished")[2] == 1);
  CHECK(view.list<std::int32_t>("consensus_coverage")[2].size() == 4);
  const ContractSample written{.batches = {made.batch()}};
  for (const char* id : {"consensus_writer", "msa_writer", "gfa_writer", "dot_writer"})
    for (const std::string& problem : sluice::testing::contract_problems(plugin(), {{id, written}})) FAIL_CHECK(problem);
  for (const char* id : {"consensus_writer", "msa_writer", "gfa_writer", "dot_writer"}) {
    CAPTURE(id);
    const auto writing_twice = sluice::testing::run_stage(stage(id), std::vector{made.batch(), made.batch()});
    CHECK(sluice::testing::resume_problems(writing_twice, {"x", "x.gz", "x.zst"}) == std::vector<std::string>{});
  }
  for (const ContractSample& sample :
       {ContractSample{.parameters = {{"second_gap_open", "-10"}, {"second_gap_extend", "-4"}, {"gap_extend", "-6"}}, .batches = {plain, all}},
        ContractSample{.parameters = {{"strands", "either"}, {"most_haplotypes", "3"}}, .batches = {plain, all}}})
    for (const std::string& problem : sluice::testing::contract_problems(plugin(), {{"poa_consensus", sample}})) FAIL_CHECK(problem);
  const auto writing = [&](const char* id) { return outcomes_of(sluice::testing::run_stage(stage(id), made.batch()).with({{"output", "x"}})); };
  CHECK(writing("consensus_writer").at("resolved").second == windows.size());
  CHECK(writing("consensus_writer").at("resolved").first > windows.size() / 2);
  CHECK(writing("consensus_writer").at("resolved").first < windows.size());
  CHECK(writing("msa_writer").at("aligned").second == windows.size());
}

TEST_CASE("a window whose matrix takes more than is kept leaves nothing behind") {
  std::mt19937 random(7);
  std::vector<testing::MadeWindow> small, huge{testing::make_window(random, 4000, 6)};
  for (int i = 0; i < 10; ++i) small.push_back(testing::make_window(random, 10 + random() % 300, 1 + random() % 9));
  for (const std::string alignment : {"global", "local"}) {
    const ContractSample sample{.parameters = {{"alignment", alignment}}, .batches = {batch_of(small, Columns::plain)}};
    CHECK(sluice::testing::kept_memory_problems(stage("poa_consensus"), sample, batch_of(huge, Columns::plain)) == std::vector<std::string>{});
  }
}

TEST_CASE("the reader of windows keeps the contract of all stages") {
  const sluice::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/windows.txt";
  std::ofstream file(path);
  for (int i = 0; i < 100; ++i) file << '>' << i << " 2 template\nACGTACGT\nacgt\n";
  file.close();
  const ContractSample sample{.parameters = {{"path", path}}};
  for (const std::string& problem : sluice::testing::contract_problems(plugin(), {{"window_reader", sample}})) FAIL_CHECK(problem);
}

TEST_CASE("bad windows fail with a reason, and others do not notice") {
  const TestBatch batch = BatchBuilder("window", 4)
                              .text("window_name", {"a", "b", "c", "d"})
                              .text("sequences", {"ACGTACG", "ACGT", "ACGTACGT", "ACGTACGTACGT"})
                              .list<std::int32_t>("sequence_length", {{4, 4}, {4}, {4, 4}, {4, 4, 4}})
                              .list<std::int32_t>("layer_begin", {{}, {}, {0, 3}, {0, 0, 0}})
                              .list<std::int32_t>("layer_end", {{}, {}, {3, 4}, {3, 3, 3}})
                              .build();
  const auto result = sluice::testing::run_stage(stage("poa_consensus"), batch).run();
  REQUIRE(result.ok());
  REQUIRE(result.failed.size() == 2);
  CHECK(result.failed[0].reason == "bad_sequences");
  CHECK(result.failed[1].reason == "bad_layers");
  CHECK(result.batch().view().text("consensus")[3] == "ACGT");
}
