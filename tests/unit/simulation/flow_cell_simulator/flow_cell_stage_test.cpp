// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sluice/failure.hpp>
#include <sluice/testing/contract.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <string>
#include <utility>
#include <vector>

#include "flow_cell_simulator/stage.cpp"  // the stage class has no header of its own
#include "unit/default_of.hpp"

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

// Reads of these names and lengths, 4096 samples a second: with chunks of 256 samples all times are sums of powers of two.
TestBatch reads_of(const std::vector<std::pair<std::string, std::size_t>>& given) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int16_t>> signal;
  for (const auto& [name, samples] : given) {
    names.push_back(name);
    signal.emplace_back(samples, std::int16_t{1});
  }
  const auto all = [&](double value) { return std::vector<double>(given.size(), value); };
  BatchBuilder builder("read", static_cast<std::int64_t>(given.size()));
  builder.text("read_id", names).list<std::int16_t>("raw_signal", signal);
  builder.column<double>("digitisation", all(8192)).column<double>("range", all(1400)).column<double>("offset", all(3));
  builder.column<double>("sampling_rate", all(4096));
  return builder.build();
}
const ParameterTexts one_pore = {{"speed", 0.0}, {"channels", 1}, {"chunk_samples", 256}, {"capture_seconds", 0}, {"bases_per_second", 512}};

// Decisions by the first letter of a read's name: a accept, r reject, f the row has failed, any other waits.
TestBatch decided_by_name(const TestBatch& chunks) {
  std::vector<std::uint8_t> decisions;
  BatchBuilder answer("read", chunks.rows());
  for (std::int64_t row = 0; row < chunks.rows(); ++row) {
    const char letter = chunks.view().text("read_id")[row][0];
    decisions.push_back(letter == 'a' ? 1 : letter == 'r' ? 2 : 0);
    if (letter == 'f') answer.failed(row);
  }
  return answer.column<std::uint8_t>("decision", decisions).build();
}
std::vector<std::string> messages(const Result& result) {
  std::vector<std::string> text;
  for (const LogLine& line : result.log) text.push_back(line.message);
  return text;
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
  const ReadLabels other_first("b\tother\na\ttarget\n", "", "table");
  CHECK(other_first.targets() == 1);
  CHECK(other_first.is_target("a"));
  CHECK_THROWS_WITH(ReadLabels("read_id\tx\n", "target", "table.tsv"), doctest::Contains("'table.tsv' have no column 'target'"));
  CHECK_THROWS_WITH(ReadLabels("read_id\ttarget\na\n", "target", "table.tsv"), doctest::Contains("line 2"));
}

TEST_CASE("What the flow cell does where nothing is given") {
  CHECK(other_defaults(stage_of<FlowCell>(), {{"channels", "512"},
                                              {"speed", "1"},
                                              {"chunk_samples", "200"},
                                              {"decision_samples", "16000"},
                                              {"largest_chunk", "4000"},
                                              {"waves", "4"},
                                              {"virtual_latency", "1"},
                                              {"capture_seconds", "1"},
                                              {"ejection_seconds", "0.5"},
                                              {"deadline_seconds", "1"},
                                              {"stop_seconds", "5"},
                                              {"duration_seconds", "0"},
                                              {"repeat", "false"},
                                              {"bases_per_second", "450"},
                                              {"target_bases", "0"},
                                              {"coverage", "30"},
                                              {"cost_per_hour", "0"}}) == "");
}

TEST_CASE("Virtual time: a decision takes effect so many chunks after its own, and a rejected strand leaves its pore so much later") {
  for (const int latency : {1, 3}) {
    const Result result = run_stage<FlowCell>(reads_of({{"r0", 9000}, {"r1", 9000}, {"r2", 9000}}))
                              .with(one_pore)
                              .with({{"virtual_latency", latency}, {"ejection_seconds", 0.25}})
                              .feedback(decided_by_name)
                              .run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    CHECK(result.problems.empty());
    // Chunks come every 1/16 s, of 256 samples.
    std::vector<std::string> chunks;
    for (const TestBatch& batch : result.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row)
        chunks.push_back(std::string(batch.view().text("read_id")[row]) + " " +
                         std::to_string(batch.view().column<std::int32_t>("chunk_index")[static_cast<std::size_t>(row)]) + " " +
                         std::to_string(batch.view().list<std::int16_t>("raw_signal")[row].size()));
    CHECK(chunks == (latency == 1 ? std::vector<std::string>{"r0 0 256", "r1 0 256", "r2 0 256"}
                                  : std::vector<std::string>{"r0 0 256", "r0 1 256", "r0 2 256", "r1 0 256", "r1 1 256", "r1 2 256", "r2 0 256",
                                                             "r2 1 256", "r2 2 256"}));
    const double in_pore = (1 + latency) / 16.0;
    CHECK(result.counters.at("rejected") == 3);
    CHECK(result.counters.at("flow_cell_seconds") == 3 * in_pore + 2 * 0.25);
    CHECK(result.counters.at("sequenced_bases") == 3 * in_pore * 512);
    CHECK(result.counters.at("pore_occupancy") == doctest::Approx(3 * in_pore / (3 * in_pore + 0.5)));
    CHECK(result.counters.at("decision_bases") == in_pore * 512);
    CHECK(result.counters.count("late_decisions") == 0);
    CHECK(result.quantities.empty());  // latencies of virtual time are none
    CHECK(result.log.empty());
  }
}

TEST_CASE("The report of a flow cell with labels, counted by hand") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/labels.tsv") << "a_target\nr_target\n";
  // Targets take 2 s, others 1 s. Each decision comes 1/8 s after the strand's beginning, a pore is free 1/2 s after an ejection:
  // a_target 0 to 2 s, r_other 2 to 2.125, r_target 2.625 to 2.75, a_other 3.25 to 4.25.
  const TestBatch reads = reads_of({{"a_target", 8192}, {"r_other", 4096}, {"r_target", 8192}, {"a_other", 4096}});
  const auto run = [&](const ParameterTexts& parameters) {
    const Result result = run_stage<FlowCell>(reads).with(one_pore).with(parameters).feedback(decided_by_name).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return result;
  };
  const ParameterTexts labels = {{"labels", folder.path() + "/labels.tsv"}}, model = {{"target_bases", 1728000}, {"cost_per_hour", 2}};
  const Result result = run(labels);
  const std::map<std::string, double> expected = {{"reads", 4},
                                                  {"accepted", 2},
                                                  {"rejected", 2},
                                                  {"flow_cell_seconds", 4.25},
                                                  {"sequenced_bases", 3.25 * 512},
                                                  {"pore_occupancy", 3.25 / 4.25},
                                                  {"decision_bases", 64},
                                                  {"target_reads", 2},
                                                  {"target_bases", 2.125 * 512},
                                                  {"other_bases", 1.125 * 512},
                                                  {"recall", 0.5},
                                                  {"false_positive_rate", 0.5},
                                                  // All strands to their ends: 1.5 s each, half of them 2 s of target.
                                                  {"target_bases_without_read_until", 1451},
                                                  {"enrichment", 2.125 / (4.25 / 1.5)}};
  for (const auto& [name, value] : expected) {
    REQUIRE_MESSAGE(result.counters.count(name) == 1, name);
    CHECK_MESSAGE(result.counters.at(name) == doctest::Approx(value), name);
  }
  CHECK(result.counters.size() == expected.size());  // no model of sequencing time was asked for

  // Half of the strands are targets, half of either kind are accepted, the others cost 1/8 + 1/2 s. Target seconds in a second: 1 / 1.5 without
  // Read Until, 0.53125 / 1.0625 with it. 30 * 1,728,000 bases take a pore 101,250 s.
  ParameterTexts both = labels;
  both.insert(model.begin(), model.end());
  const Result with_model = run(both);
  CHECK(with_model.counters.at("model_hours_without") == doctest::Approx(101250 * 1.5 / 3600));
  CHECK(with_model.counters.at("model_hours_with") == doctest::Approx(101250 * 2.0 / 3600));
  CHECK(with_model.counters.at("model_enrichment") == doctest::Approx(0.75));
  CHECK(with_model.counters.at("model_cost_without") == doctest::Approx(84.375));
  CHECK(with_model.counters.at("model_cost_with") == doctest::Approx(112.5));
  CHECK(messages(with_model) ==
        std::vector<std::string>{"30-fold coverage of 1728000 bases takes 42.2 hours without Read Until and 56.2 with it (0.75 times faster)"});

  // Without labels the accepted strands are the targets, all of them found: half of the strands, 1.5 s as the others.
  const Result unlabelled = run(model);
  CHECK(unlabelled.counters.at("model_enrichment") == doctest::Approx((0.75 / 1.0625) / 0.5));
  CHECK(unlabelled.counters.count("target_bases") == 0);
}

TEST_CASE("Conditions of channels are told apart, and where a channel depletes, the reads that are no targets are wanted") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/labels.tsv") << "a_target\n";
  const TestBatch conditions = BatchBuilder("read_until_condition", 3)
                                   .text("name", {"enrich", "deplete", "control"})
                                   .column<std::uint8_t>("select", {0, 1, 2})
                                   .column<std::int32_t>("minimum_chunks", {1, 1, 1})
                                   .column<std::int32_t>("maximum_chunks", {0, 0, 0})
                                   .text("targets", {"", "", ""})
                                   .list<std::uint8_t>("actions", {{1, 2, 0, 1}, {2, 1, 0, 1}, {1, 1, 1, 1}})
                                   .list<std::int32_t>("channel_condition", {{0, 1}, {}, {}})
                                   .build();
  // Channel 0 looks first: it has the target, channels 1 and 2 have the others.
  const Result result = run_stage<FlowCell>(reads_of({{"a_target", 4096}, {"a_other", 4096}, {"r_other", 4096}}))
                            .with(one_pore)
                            .with({{"channels", 3}, {"labels", folder.path() + "/labels.tsv"}})
                            .resource("conditions", conditions)
                            .feedback(decided_by_name)
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  for (const char* name : {"enrich", "deplete", "control"}) {
    CHECK(result.counters.at(name + std::string(": channels")) == 1);
    CHECK(result.counters.at(name + std::string(": reads")) == 1);
  }
  CHECK(result.counters.at("enrich: recall") == 1);
  CHECK(result.counters.at("enrich: target_bases") == 512);
  CHECK(result.counters.at("deplete: recall") == 1);         // a_other is wanted there, and was kept
  CHECK(result.counters.at("deplete: other_bases") == 512);  // by the labels
  CHECK(result.counters.at("control: rejected") == 1);
  CHECK(result.counters.count("control: false_positive_rate") == 0);  // 0
  CHECK(result.counters.count("recall") == 0);
}

TEST_CASE("Where all channels deplete, the reads that are no targets are wanted") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/labels.tsv") << "r_target\n";
  const TestBatch conditions = BatchBuilder("read_until_condition", 1)
                                   .text("name", {"deplete"})
                                   .column<std::uint8_t>("select", {1})
                                   .column<std::int32_t>("minimum_chunks", {1})
                                   .column<std::int32_t>("maximum_chunks", {0})
                                   .text("targets", {""})
                                   .list<std::uint8_t>("actions", {{2, 1, 0, 1}})
                                   .list<std::int32_t>("channel_condition", {{}})
                                   .build();
  const Result result = run_stage<FlowCell>(reads_of({{"r_target", 4096}, {"a_other", 4096}, {"a_more", 4096}}))
                            .with(one_pore)
                            .with({{"labels", folder.path() + "/labels.tsv"}})
                            .resource("conditions", conditions)
                            .feedback(decided_by_name)
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("recall") == 1);
  CHECK(result.counters.count("false_positive_rate") == 0);  // 0
  CHECK(result.counters.at("target_reads") == 1);            // by the labels
  CHECK(result.counters.at("target_bases") == 64);
  CHECK(result.counters.at("other_bases") == 1024);
}

TEST_CASE("A read that is further behind than largest_chunk is given up") {
  for (const int largest : {255, 256}) {
    const Result result = run_stage<FlowCell>(reads_of({{"x", 4096}})).with(one_pore).with({{"largest_chunk", largest}}).run();
    CHECK(result.counters.count("given_up") == (largest == 255 ? 1 : 0));
    CHECK(result.batches.size() == (largest == 255 ? 0 : 16));
  }
}

TEST_CASE("A pipeline that no clock waits for gets in one chunk what has come since") {
  // A chunk would have to be made in 63 nanoseconds.
  const Result result = run_stage<FlowCell>(reads_of({{"x", 4096 * 100}}))
                            .with(one_pore)
                            .with({{"speed", 1e6}, {"largest_chunk", 1000000000}, {"decision_samples", 1000000000}})
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("rounds_behind") > 0);
  CHECK(result.batches.size() < 1600);
}

TEST_CASE("A read of which the pipeline has failed is asked about no more, and sequenced to its end") {
  const Result result = run_stage<FlowCell>(reads_of({{"f", 2048}})).with(one_pore).feedback(decided_by_name).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("failed_in_pipeline") == 1);
  CHECK(result.counters.at("sequenced_bases") == 256);
  CHECK(result.counters.count("ended_undecided") == 0);
  CHECK(result.batches.size() == 1);
}

TEST_CASE("Decisions about more rows than were sent are of nobody") {
  const Result result = run_stage<FlowCell>(reads_of({{"a", 2048}}))
                            .with(one_pore)
                            .feedback([](const TestBatch& chunks) {
                              std::vector<std::uint8_t> accepted(static_cast<std::size_t>(chunks.rows()) + 1, 1);
                              return BatchBuilder("read", chunks.rows() + 1).column<std::uint8_t>("decision", accepted).build();
                            })
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("accepted") == 1);
}

TEST_CASE("Reads that can't be played are accounted for") {
  const auto with_rates = [](const std::vector<double>& rates) {
    const auto rows = static_cast<std::int64_t>(rates.size());
    std::vector<std::string> names;
    for (std::int64_t row = 0; row < rows; ++row) names.push_back("r" + std::to_string(row));
    const std::vector<double> all(rates.size(), 8192);
    return BatchBuilder("read", rows)
        .text("read_id", names)
        .list<std::int16_t>("raw_signal", std::vector<std::vector<std::int16_t>>(rates.size(), std::vector<std::int16_t>(500, 1)))
        .column<double>("digitisation", all)
        .column<double>("range", all)
        .column<double>("offset", all)
        .column<double>("sampling_rate", rates)
        .build();
  };
  // 1e9 Hz are a rate still, more are none.
  const Result rates = run_stage<FlowCell>(with_rates({0, 4096, -1, INFINITY, NAN, 2e9, 1e9})).with(one_pore).run();
  REQUIRE_MESSAGE(rates.ok(), rates.message);
  CHECK(rates.accounts.at("bad_sampling_rate").count == 5);
  CHECK(rates.accounts.at("bad_sampling_rate").names == std::vector<std::string>{"r0", "r2", "r3", "r4", "r5"});
  CHECK(rates.counters.at("reads") == 2);
  // A pore that draws reads again has four to draw from.
  const Result drawn =
      run_stage<FlowCell>(with_rates({4096, 4096, 4096, 4096, 4096, 4096})).with(one_pore).with({{"repeat", true}, {"duration_seconds", 1}}).run();
  REQUIRE_MESSAGE(drawn.ok(), drawn.message);
  CHECK(drawn.accounts.at("not_played").count == 2);
  CHECK(drawn.accounts.at("not_played").names == std::vector<std::string>{"r4", "r5"});
}

TEST_CASE("Virtual time passes over what is quiet, however long") {
  // A million seconds until the pore has a strand, on average, of 40,960,000 looks each.
  const Result result =
      run_stage<FlowCell>(reads_of({{"x", 4096}})).with(one_pore).with({{"chunk_samples", 1}, {"waves", 10000}, {"capture_seconds", 1e6}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("reads") == 1);
  CHECK(result.counters.at("flow_cell_seconds") > 1000);
}

TEST_CASE("Batches of virtual time have no deadline of the clock, also where decisions are due at once") {
  const Result result = run_stage<FlowCell>(reads_of({{"a", 2048}})).with(one_pore).with({{"deadline_seconds", 0}}).feedback(decided_by_name).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems.empty());
}

TEST_CASE("Late decisions stop ejections, which is said once, and so is that they come in time again") {
  // A decision comes 1/16 s after its chunk. "wait" has no deadline.
  const Result result = run_stage<FlowCell>(reads_of({{"r0", 8192}, {"wait", 8192}}))
                            .with(one_pore)
                            .with({{"deadline_seconds", 0.03125}, {"stop_seconds", 1.5}})
                            .feedback(decided_by_name)
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("late_decisions") == 1);
  CHECK(result.counters.count("rejected") == 0);
  CHECK(result.counters.at("flow_cell_seconds") == 4);
  CHECK(messages(result) ==
        std::vector<std::string>{"decisions come more than 0.0312 s late: nothing is ejected until they have been in time for 1.5 s",
                                 "decisions come in time again: reads are ejected"});
}

TEST_CASE("Repeated reads are drawn until the time is over") {
  const Result result =
      run_stage<FlowCell>(reads_of({{"x", 4096}, {"y", 4096}})).with(one_pore).with({{"repeat", true}, {"duration_seconds", 10}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.at("reads") == 11);  // one a second, the last one at the end
  CHECK(result.counters.at("flow_cell_seconds") == 10);
}

TEST_CASE("A flow cell that never began has no time and no occupancy") {
  const Result result = run_stage<FlowCell>(std::vector<TestBatch>{}).with(one_pore).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.counters.empty());
}

TEST_CASE("In real time a decision counts, in time or too late, and latencies are told") {
  // However long a chunk takes here: it is one chunk, and the read does not end with it.
  const Result result = run_stage<FlowCell>(reads_of({{"a", 2048}}))
                            .with(one_pore)
                            .with({{"speed", 1.0}, {"decision_samples", 1024}, {"largest_chunk", 1000000000}})
                            .feedback(decided_by_name)
                            .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  const auto count = [&](const std::string& name) { return result.counters.count(name) == 1 ? result.counters.at(name) : 0; };
  CHECK(count("accepted") + count("late_decisions") == 1);
  CHECK(result.quantities.at("chunk_latency").size() == result.batches.size());
  CHECK(result.quantities.at("decision_latency").size() == 1);
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
  CHECK(played("read_id\tlabel\nr1\tother\n").logged("name no target"));
  CHECK_FALSE(played("read_id\tlabel\nr1\ttarget\n").logged("name no target"));
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
