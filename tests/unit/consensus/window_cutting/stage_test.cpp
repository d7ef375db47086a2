// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }
TestBatch store(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("sluice_window_test." + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const TestBatch batch = StageRun(stage_of(plugin("sequence_store"), "sequence_store"), {}).with({{"path", path.string()}}).run().batch();
  std::filesystem::remove(path);  // the store keeps it open
  return batch;
}

constexpr std::uint32_t match(std::uint32_t length) { return length << 4U; }

// Two targets of 25 and 12 bases; overlaps without gaps. The second and third come in another order than in their file.
const std::string targets = ">t\nAAAAAAAAAACCCCCCCCCCGGGGG\n>u\nTTTTTTTTTTTT\n";
TestBatch overlaps() {
  return BatchBuilder("overlap", 5)
      .column<std::int64_t>("target_index", {0, 0, 0, 1, 1})
      .column<std::int64_t>("target_start", {0, 2, 12, 0, 1})
      .column<std::int64_t>("target_end", {20, 14, 25, 12, 11})
      .column<std::int64_t>("overlap_index", {0, 7, 3, 4, 5})
      .column<std::int64_t>("target_overlaps", {3, 3, 3, 2, 2})
      .text("query_bases", {"AAAAAAAAAACCCCCCCCCC", "AAAAAAAACCCC", "CCCCCCCCGGGGG", "TTTTTTTTTTTT", "TTTTTTTTTT"})
      .text("query_qualities", {"", "IIIIIIIIIIII", "!!!!!!!!IIIII", "IIIIIIIIIIII", ""})
      .list<std::uint32_t>("cigar", {{match(20)}, {match(12)}, {match(13)}, {match(12)}, {match(10)}})
      .build();
}

}  // namespace

TEST_CASE("windows with two layers and each target's last one are given") {
  const TestBatch store_of_targets = store(targets);
  const Result result = run_stage(stage_of(plugin("window_cutting"), "window_cutting"), overlaps())
                            .with({{"window_length", 10}})
                            .resource("targets", store_of_targets)
                            .run();
  CHECK(result.ok());
  CHECK(result.problems.empty());
  const Batch windows = result.batch().view();
  REQUIRE(windows.rows() == 5);
  const auto index = windows.column<std::int64_t>("window_index");
  CHECK(std::vector<std::int64_t>(index.begin(), index.end()) == std::vector<std::int64_t>{0, 1, 2, 0, 1});
  const auto sequences = windows.text("sequences");
  const auto qualities = windows.text("sequence_qualities");
  CHECK(sequences[0] ==
        "AAAAAAAAAA"
        "AAAAAAAAAA"
        "AAAAAAAA");
  CHECK(qualities[0] ==
        "!!!!!!!!!!"
        "\"\"\"\"\"\"\"\"\"\""
        "IIIIIIII");
  const auto begin = windows.list<std::int32_t>("layer_begin")[0];
  const auto end = windows.list<std::int32_t>("layer_end")[0];
  CHECK(std::vector<std::int32_t>(begin.begin(), begin.end()) == std::vector<std::int32_t>{0, 0, 2});
  CHECK(std::vector<std::int32_t>(end.begin(), end.end()) == std::vector<std::int32_t>{9, 9, 9});
  // The third overlap's part here has too low a quality.
  CHECK(sequences[1] ==
        "CCCCCCCCCC"
        "CCCCCCCCCC"
        "CCCC");
  CHECK(sequences[2] ==
        "GGGGG"
        "GGGGG");
  CHECK(windows.column<std::int64_t>("target_overlaps")[2] == 3);
  CHECK(sequences[3] ==
        "TTTTTTTTTT"
        "TTTTTTTTTT"
        "TTTTTTTTT");
  // One base of the last overlap is no layer.
  CHECK(sequences[4] ==
        "TT"
        "TT");
  CHECK(windows.text("window_name")[4] == "u");
}

TEST_CASE("layers are in the order of their file") {
  TestBatch store_of_targets = store(targets);
  const Result result = run_stage(stage_of(plugin("window_cutting"), "window_cutting"), overlaps())
                            .with({{"window_length", 10}, {"min_quality", 0}})
                            .resource("targets", store_of_targets)
                            .run();
  const auto begin = result.batch().view().list<std::int32_t>("layer_begin")[1];
  CHECK(std::vector<std::int32_t>(begin.begin(), begin.end()) == std::vector<std::int32_t>{0, 0, 2, 0});
}

TEST_CASE("an overlap that does not fit is counted and the others stay") {
  const TestBatch bad = BatchBuilder("overlap", 2)
                            .column<std::int64_t>("target_index", {0, 0})
                            .column<std::int64_t>("target_start", {0, 0})
                            .column<std::int64_t>("target_end", {20, 26})
                            .column<std::int64_t>("overlap_index", {0, 1})
                            .column<std::int64_t>("target_overlaps", {2, 2})
                            .text("query_bases", {"AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAA"})
                            .text("query_qualities", {"", ""})
                            .list<std::uint32_t>("cigar", {{match(20)}, {match(26)}})
                            .build();
  const Result result =
      run_stage(stage_of(plugin("window_cutting"), "window_cutting"), bad).with({{"window_length", 10}}).resource("targets", store(targets)).run();
  CHECK(result.ok());
  CHECK(result.accounts.at("bad_alignment").count == 2);
  CHECK(result.accounts.at("bad_alignment").names.size() == 2);
}

TEST_CASE("overlaps in another order are refused") {
  const TestBatch all = overlaps();
  const Result result = StageRun(stage_of(plugin("window_cutting"), "window_cutting"), {all.rows(3, 5), all.rows(0, 3).with_sequence(1)})
                            .with({{"window_length", 10}})
                            .resource("targets", store(targets))
                            .run();
  CHECK(!result.ok());
  CHECK(result.message.find("order of their targets") != std::string::npos);
}

TEST_CASE("window_cutting keeps the contract") {
  const ContractSample sample{.parameters = {{"window_length", 10}}, .resources = {{"targets", store(targets)}}, .batches = {overlaps()}};
  for (const std::string& problem : contract_problems(plugin("window_cutting"), {{"window_cutting", sample}})) FAIL_CHECK(problem);
}
