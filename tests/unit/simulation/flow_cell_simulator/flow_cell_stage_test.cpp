// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/failure.hpp>
#include <sluice/testing/contract.hpp>
#include <string>

#include "flow_cell_simulator/stage.cpp"  // the stage class has no header of its own

using namespace sluice;
using namespace sluice::flow_cell_simulator;
using namespace sluice::testing;

namespace {

TestBatch reads(std::int64_t count, std::int64_t samples) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int16_t>> signal;
  for (std::int64_t i = 0; i < count; ++i) {
    names.push_back("r" + std::to_string(i));
    signal.emplace_back(static_cast<std::size_t>(samples + i), static_cast<std::int16_t>(i));
  }
  const auto all = [&](double value) { return std::vector<double>(static_cast<std::size_t>(count), value); };
  BatchBuilder builder("read", count);
  builder.text("read_id", names).list<std::int16_t>("raw_signal", signal);
  builder.column<double>("digitisation", all(8192)).column<double>("range", all(1400)).column<double>("offset", all(3));
  builder.column<double>("sampling_rate", all(4000));
  return builder.build();
}

}  // namespace

TEST_CASE("flow_cell keeps the contract of stages") {
  ContractSample sample;
  sample.batches = {reads(5, 500)};
  sample.parameters = {{"speed", 0.0}, {"channels", 3}};
  for (const std::string& problem : contract_problems<FlowCell>(sample)) FAIL_CHECK(problem);
}

TEST_CASE("Without feedback every sample of every read passes, whatever the cut of the input") {
  for (const std::int64_t cut : {1, 7, 40}) {
    std::vector<TestBatch> batches;
    const TestBatch whole = reads(40, 3000);
    for (std::int64_t row = 0; row < 40; row += cut)
      batches.push_back(whole.rows(row, std::min<std::int64_t>(row + cut, 40)).with_sequence(batches.size()));
    const Result result = run_stage<FlowCell>(batches).with({{"speed", 0.0}, {"channels", 4}}).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    std::map<std::string, std::size_t> samples;
    for (const TestBatch& batch : result.batches) {
      const auto signal = batch.view().list<std::int16_t>("raw_signal");
      for (std::int64_t row = 0; row < batch.rows(); ++row) samples[std::string(batch.view().text("read_id")[row])] += signal[row].size();
    }
    REQUIRE(samples.size() == 40);
    for (std::size_t i = 0; i < 40; ++i) CHECK(samples.at("r" + std::to_string(i)) == 3000 + i);
    CHECK(result.counters.at("reads") == 40);
    CHECK(result.counters.at("ended_undecided") == 40);
  }
}

TEST_CASE("Parameters that can't work are refused") {
  const Result endless = run_stage<FlowCell>(reads(1, 10)).with({{"repeat", true}}).run();
  CHECK(endless.status == SLUICE_ERROR_USAGE);
  const Result unlabelled = run_stage<FlowCell>(reads(1, 10)).with({{"labels", "/nowhere/labels.tsv"}}).run();
  CHECK(unlabelled.status == SLUICE_ERROR_INPUT);
  CHECK(unlabelled.message.find("/nowhere/labels.tsv") != std::string::npos);
}

TEST_CASE("A flow cell of one second takes one second, or a tenth at ten times the speed") {
  for (const double speed : {1.0, 10.0}) {
    const auto start = std::chrono::steady_clock::now();
    const Result result = run_stage<FlowCell>(reads(200, 3000)).with({{"speed", speed}, {"channels", 4}, {"duration_seconds", 1.0}}).run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    REQUIRE_MESSAGE(result.ok(), result.message);
    CHECK(seconds > 0.95 / speed);
    CHECK(result.counters.at("flow_cell_seconds") <= 1.0);
  }
}

TEST_CASE("Labels name the targets, by a column or by being there") {
  const ReadLabels all("a\nb\tsomething\n\nc\r\n", "", "table");
  CHECK(all.targets() == 3);
  CHECK(all.is_target("c"));
  CHECK_FALSE(all.is_target("d"));
  const ReadLabels column("read_id\tlength\ttarget\na\t5\t1\nb\t5\t0\nc\t5\tlambda\nd\t5\t\ne\t5\tother\n", "target", "table");
  CHECK(column.targets() == 2);
  CHECK(column.is_target("c"));
  CHECK_FALSE(column.is_target("e"));
  const ReadLabels of_calibration("read_id\tlabel\na\ttarget\nb\tother\n", "", "table"), bare("a\ttarget\nb\tother\n", "", "table");
  CHECK(of_calibration.targets() == 1);
  CHECK(of_calibration.is_target("a"));
  CHECK(bare.targets() == 1);
  CHECK(bare.is_target("a"));
  CHECK_THROWS_WITH(ReadLabels("read_id\tx\n", "target", "table.tsv"), doctest::Contains("'table.tsv' have no column 'target'"));
  CHECK_THROWS_WITH(ReadLabels("read_id\ttarget\na\n", "target", "table.tsv"), doctest::Contains("line 2"));
}

TEST_CASE("Labels that name none of the reads are warned of, and those from Windows name theirs") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/labels";
  const auto played = [&](const std::string& labels) {
    std::ofstream(path) << labels;
    return run_stage<FlowCell>(reads(3, 500)).with({{"labels", path}, {"speed", 0.0}, {"channels", 2}}).run();
  };
  CHECK(played("r1,target\n").logged("none of the 1 targets of labels"));
  const Result windows = played("\xef\xbb\xbfr1\r\n");
  CHECK_FALSE(windows.logged("none of"));
  CHECK(windows.counters.at("target_reads") == 1);
  const Result packed = played("\x1f\x8b\x08");
  CHECK(packed.status == SLUICE_ERROR_INPUT);
  CHECK(packed.message.find("is compressed") != std::string::npos);
  CHECK(played("\xff\xfer").message.find("is UTF-16") != std::string::npos);
}

TEST_CASE("Conditions of channels that the flow cell does not have are warned of") {
  const auto conditions = [](const std::vector<std::int32_t>& channels) {
    return BatchBuilder("read_until_condition", 2)
        .text("name", {"control", "enrich"})
        .column<std::uint8_t>("select", {2, 0})
        .column<std::int32_t>("minimum_chunks", {1, 1})
        .column<std::int32_t>("maximum_chunks", {0, 0})
        .text("targets", {"", ""})
        .list<std::uint8_t>("actions", {{1, 1, 1, 1}, {1, 2, 1, 1}})
        .list<std::int32_t>("channel_condition", {channels, {}})
        .build();
  };
  const auto played = [&](const std::vector<std::int32_t>& channels) {
    return run_stage<FlowCell>(reads(3, 500)).with({{"speed", 0.0}, {"channels", 2}}).resource("conditions", conditions(channels)).run();
  };
  CHECK(played({1, 1, 0}).logged("conditions name channels up to 3, and this flow cell has 2"));
  CHECK_FALSE(played({1, 0}).logged("conditions name"));
}
