// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "read_until_decision/built_in_thresholds.hpp"
#include "read_until_decision/decision.hpp"
#include "read_until_decision/strand_speed.hpp"
#include "unit/figures_of.hpp"

using namespace sluice::read_until_decision;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;
using sluice::testing::TestBatch;
namespace testing = sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = testing::load_plugin(SLUICE_PLUGIN_DIR "/read_until_decision.so");
  return *info;
}

constexpr const char* table = "# comment\nbases\tlevels\tthreshold\taccept_below\treject_above\n50\t100\t0.2\t0.1\t0.4\n100\t200\t0.3\t0.2\t0.5\r\n";

Thresholds parsed(const char* text) {
  Thresholds thresholds;
  std::string problem;
  REQUIRE_MESSAGE(Thresholds::parse(text, thresholds, problem), problem);
  return thresholds;
}
std::string problem_of(const char* text) {
  Thresholds thresholds;
  std::string problem;
  CHECK(!Thresholds::parse(text, thresholds, problem));
  return problem;
}

// Costs per level in steps of 1/16; lengths in levels.
TestBatch scored(const std::vector<std::int64_t>& score, const std::vector<std::int32_t>& length, const std::vector<std::uint8_t>& complete,
                 const std::vector<std::int32_t>& channel = {}, const std::vector<std::int32_t>& index = {},
                 const std::vector<std::uint8_t>& last = {}, std::vector<std::int32_t> target = {}) {
  target.resize(score.size());
  BatchBuilder batch("read", static_cast<std::int64_t>(score.size()));
  batch.column<std::int64_t>("sdtw_score", score).column<std::int32_t>("sdtw_length", length).column<std::uint8_t>("query_complete", complete);
  batch.column<std::int32_t>("sdtw_target", target);
  if (!channel.empty())
    batch.column<std::int32_t>("channel", channel).column<std::int32_t>("chunk_index", index).column<std::uint8_t>("is_last_chunk", last);
  return batch.build();
}
std::vector<int> decisions_of(const Result& result) {
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::vector<int> decisions;
  for (const std::uint8_t decision : result.batch().view().column<std::uint8_t>("decision")) decisions.push_back(decision);
  return decisions;
}

TestBatch called_reads() {
  return BatchBuilder("read", 3)
      .text("read_id", {"a", "b", "c"})
      .column<std::uint8_t>("decision", {1, 2, 0})
      .column<double>("decision_score", {0.25, 0.5, 0})
      .column<double>("decision_threshold", {0.3, 0.3, 0.3})
      .column<std::int32_t>("sdtw_target", {1, 0, -1})
      .column<std::uint8_t>("sdtw_is_reverse", {1, 0, 0})
      .column<std::int64_t>("sdtw_start", {100, 7, -1})
      .column<std::int64_t>("sdtw_end", {350, 9, -1})
      .column<std::int32_t>("prefix_samples", {3000, 2900, 12})
      .build();
}
TestBatch targets() {
  return BatchBuilder("squiggle_target", 2)
      .text("name", {"one", "two"})
      .list<std::int16_t>("forward_level", {{1, 2}, {3}})
      .list<std::int16_t>("reverse_level", {{1, 2}, {3}})
      .attribute("steps", "16")
      .attribute("limit", "63")
      .build();
}

}  // namespace

TEST_CASE("thresholds are interpolated between lengths, and constant before and behind") {
  const Thresholds thresholds = parsed(table);
  CHECK(thresholds.at(1).threshold == 0.2);
  CHECK(thresholds.at(100).threshold == 0.2);
  CHECK(thresholds.at(150).threshold == doctest::Approx(0.25));
  CHECK(thresholds.at(150).accept_below == doctest::Approx(0.15));
  CHECK(thresholds.at(150).reject_above == doctest::Approx(0.45));
  CHECK(thresholds.at(200).threshold == 0.3);
  CHECK(thresholds.at(100000).threshold == 0.3);
  CHECK(parsed("levels\tthreshold\n5\t0.25\n").at(7).accept_below == -1);
  CHECK(parsed("levels\tthreshold\n5\t0.25\n").at(7).reject_above == -1);
  CHECK(Thresholds::constant(0.5).at(123).threshold == 0.5);
}

TEST_CASE("a table of thresholds that can't be is refused with line and reason") {
  CHECK(problem_of("") == "line 1: there is no threshold in it");
  CHECK(problem_of("levels\tthreshold\n") == "line 1: there is no threshold in it");
  CHECK(problem_of("levels\n1\n") == "line 1: there is no column 'threshold'");
  CHECK(problem_of("levels\tthreshold\n1\n") == "line 2: 1 columns instead of 2");
  CHECK(problem_of("levels\tthreshold\n1\tx\n") == "line 2: 'x' is no number");
  CHECK(problem_of("levels\tthreshold\n1\tnan\n") == "line 2: 'nan' is no number");
  CHECK(problem_of("levels\tthreshold\n1.5\t1\n") == "line 2: '1.5' is no number of levels");
  CHECK(problem_of("levels\tthreshold\n-1\t1\n") == "line 2: '-1' is no number of levels");
  CHECK(problem_of("levels\tthreshold\n1000000001\t1\n") == "line 2: '1000000001' is no number of levels");
  CHECK(parsed("levels\tthreshold\n1000000000\t0.25\n").at(5).threshold == 0.25);
  CHECK(problem_of("levels\tthreshold\n2\t1\n2\t1\n") == "line 3: the numbers of levels do not ascend");
}

TEST_CASE("a whole prefix is accepted up to the threshold, and waits only when it is too short") {
  const Threshold threshold{.levels = 100, .threshold = 0.3, .accept_below = 0.2, .reject_above = 0.4};
  const auto whole = [&](double score, std::int32_t levels) { return decide(score, levels, Prefix::whole, threshold, BeforeWhole::wait, 50); };
  CHECK(whole(0.3, 50) == Decision::accept);
  CHECK(whole(0.31, 50) == Decision::reject);
  CHECK(whole(0.1, 49) == Decision::wait);
  CHECK(decide(0, 0, Prefix::whole, threshold, BeforeWhole::wait, 0) == Decision::wait);
}

TEST_CASE("a partial prefix waits, or is decided on where the score is clear") {
  const Threshold threshold{.levels = 100, .threshold = 0.3, .accept_below = 0.2, .reject_above = 0.4};
  CHECK(decide(0.01, 100, Prefix::partial, threshold, BeforeWhole::wait, 50) == Decision::wait);
  CHECK(decide(0.2, 100, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::accept);
  CHECK(decide(0.3, 100, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::wait);
  CHECK(decide(0.41, 100, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::reject);
  // At the limits themselves: accepted at accept_below, rejected only above reject_above; 0 is a limit, only a negative one is none.
  CHECK(decide(0.4, 100, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::wait);
  CHECK(decide(0.200001, 100, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::wait);
  const Threshold zero{.levels = 100, .threshold = 0.3, .accept_below = 0, .reject_above = 0};
  CHECK(decide(0, 100, Prefix::partial, zero, BeforeWhole::decide, 50) == Decision::accept);
  CHECK(decide(0.1, 100, Prefix::partial, zero, BeforeWhole::decide, 50) == Decision::reject);
  CHECK(decide(0.41, 50, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::reject);
  CHECK(decide(0.41, 49, Prefix::partial, threshold, BeforeWhole::decide, 50) == Decision::wait);
  CHECK(decide(0.9, 100, Prefix::partial, {.levels = 100, .threshold = 0.3}, BeforeWhole::decide, 50) == Decision::wait);
}

TEST_CASE("scores are costs per level in standard deviations") {
  CHECK(score_per_level(1600, 100) == 1);
  CHECK(score_per_level(8, 1) == 0.5);
  CHECK(score_per_level(1, 0) == 0);
}

TEST_CASE("the stage decides by the thresholds that it is given") {
  const TestBatch reads = scored({16 * 200 / 4, 16 * 200, 16 * 20, 0}, {200, 200, 90, 0}, {1, 1, 0, 0});
  const auto run = [&](const testing::ParameterTexts& parameters) {
    return run_stage(testing::stage_of(plugin(), "read_until_decision"), reads).with(parameters).run();
  };
  CHECK(decisions_of(run({})) == std::vector<int>{1, 2, 0, 0});
  CHECK(decisions_of(run({{"minimum_levels", 90}})) == std::vector<int>{1, 2, 1, 0});
  CHECK(decisions_of(run({{"threshold", 2.0}})) == std::vector<int>{1, 1, 0, 0});
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/thresholds.tsv";
  std::ofstream(path) << table;
  const Result result = run({{"thresholds", path}});
  CHECK(decisions_of(result) == std::vector<int>{1, 2, 0, 0});
  CHECK(result.batch().view().column<double>("decision_threshold")[0] == 0.3);
  CHECK(result.batch().view().column<double>("decision_score")[1] == 1);
  CHECK(run({{"thresholds", path}, {"threshold", 0.2}}).message == "threshold and thresholds exclude each other");
  CHECK(run({{"thresholds", folder.path() + "/none"}}).status == SLUICE_ERROR_INPUT);
  std::ofstream(path) << "rubbish";
  CHECK(run({{"thresholds", path}}).message.find("line 1: there is no column 'levels'") != std::string::npos);
}

TEST_CASE("each pore and search has thresholds that ascend with the length, and say what they do not fit") {
  for (const char* pore : {"r9", "r10", "rna004"})
    for (const Search search : {Search::sdtw, Search::seeds}) {
      const BuiltInThresholds* const found = built_in_thresholds(pore, search);
      REQUIRE(found != nullptr);
      CHECK(found->search == search);
      CHECK(!found->rows.empty());
      for (std::size_t i = 1; i < found->rows.size(); ++i) CHECK(found->rows[i - 1].levels < found->rows[i].levels);
      for (const Threshold& row : found->rows) CHECK((row.accept_below <= row.threshold && row.threshold <= row.reject_above));
      Circumstances run{pore, search, found->rate_hz, found->samples_per_level, found->target_bases, found->level_spread};
      CHECK(misfits(*found, run).empty());
      run.level_spread *= 1.2;
      CHECK(misfits(*found, run).find("the targets' composition gives their levels") == 0);
    }
  CHECK(built_in_thresholds("rna_r9", Search::sdtw) == nullptr);
  const BuiltInThresholds& seeds = *built_in_thresholds("r9", Search::seeds);
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::seeds, .target_bases = 3e9}).empty());
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::seeds, .target_bases = 5e5}) == "the targets have 500000 bases");
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::seeds, .rate_hz = 0.5}) == "the signal has 0 samples a second");
  // By seeds targets may have any size from 600,000 bases on, else four times more or less than 50,000.
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::seeds, .target_bases = 600'000}).empty());
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::seeds, .target_bases = 599'999}) == "the targets have 599999 bases");
  const BuiltInThresholds& sdtw = *built_in_thresholds("r9", Search::sdtw);
  CHECK(misfits(sdtw, {.pore = "r9", .target_bases = 200'000}).empty());
  CHECK(misfits(sdtw, {.pore = "r9", .target_bases = 200'001}) == "the targets have 200001 bases");
  CHECK(misfits(sdtw, {.pore = "r9", .target_bases = 12'500}).empty());
  CHECK(misfits(sdtw, {.pore = "r9", .target_bases = 12'499}) == "the targets have 12499 bases");
  CHECK(misfits(sdtw, {.pore = "r9", .target_bases = 1}) == "the targets have 1 bases");
  // Rates and spreads may differ by a tenth: 4,000 Hz by 400.
  const auto fits_rate = [&](double rate) { return misfits(seeds, {.pore = "r9", .search = Search::seeds, .rate_hz = rate}).empty(); };
  CHECK(fits_rate(4400));
  CHECK(!fits_rate(4401));
  CHECK(fits_rate(3600));
  CHECK(!fits_rate(3599));
  CHECK(misfits(seeds, {.pore = "r9", .search = Search::sdtw}) == "the search is that of all of the targets");
}

TEST_CASE("a pore without built-in thresholds is refused, unless thresholds are given") {
  const TestBatch target = BatchBuilder("squiggle_target", 0)
                               .text("name", {})
                               .list<std::int16_t>("forward_level", {})
                               .list<std::int16_t>("reverse_level", {})
                               .attribute("pore", "r12")
                               .build();
  const auto run = [&](const testing::ParameterTexts& parameters) {
    return run_stage(testing::stage_of(plugin(), "read_until_decision"), scored({800}, {200}, {1})).with(parameters).resource("target", target).run();
  };
  CHECK(run({}).message == "there are no built-in thresholds for the pore 'r12'");
  CHECK(run({{"threshold", 0.3}}).ok());
}

TEST_CASE("the built-in thresholds warn once of what they were not made for") {
  const auto warnings = [](const char* stage, const std::string& pore, const std::string& bases, const std::string& rate,
                           const testing::ParameterTexts& parameters = {}) {
    const TestBatch target = BatchBuilder("squiggle_target", 0)
                                 .text("name", {})
                                 .list<std::int16_t>("forward_level", {})
                                 .list<std::int16_t>("reverse_level", {})
                                 .attribute("pore", pore)
                                 .attribute("bases", bases)
                                 .build();
    const TestBatch chunks = scored({800}, {200}, {1}, {1}, {0}, {1});
    const Result result = run_stage(testing::stage_of(plugin(), stage), chunks)
                              .with(parameters)
                              .resource("target", target)
                              .resource("signal", BatchBuilder("signal_file", 0).attribute("sampling_rate", rate).build())
                              .run();
    CHECK(result.ok());
    std::string text;
    for (const testing::LogLine& line : result.log) text += line.message + "\n";
    return text;
  };
  for (const char* stage : {"read_until_decision", "read_until_decision_stream"}) {
    CHECK(warnings(stage, "r9", "48502", "4000").empty());
    CHECK(warnings(stage, "r9", "12500", "4000.000000").empty());
    CHECK(warnings(stage, "", "", "").empty());
    CHECK(warnings(stage, "r10", "48502", "5000").empty());
    const std::string text = warnings(stage, "r9", "4641652", "5000", {{"samples_per_level", 4}});
    CHECK(text.find("but the targets have 4641652 bases, the signal has 5000 samples a second, levels are means of 4 samples: ") !=
          std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(warnings(stage, "r10", "48502", "4000").find("were made for R10.4.1 at 5000 Hz") != std::string::npos);
    CHECK(warnings(stage, "r9", "12499", "4000").find("but the targets have 12499 bases: ") != std::string::npos);
    CHECK(warnings(stage, "r10", "100", "5000", {{"threshold", 0.3}}).empty());
  }
}

TEST_CASE("strands are slow if the median of 100 of them or more is 12 % above the dwell of the thresholds' reads") {
  const auto slow = [](double dwell, int reads, double calibrated = 10) {
    StrandSpeed speed(calibrated);
    // As many below the median as above it, and far away.
    for (int read = 0; read < reads; ++read) speed.add(read % 3 == 0 ? dwell * 100 : read % 3 == 1 ? 100 : 1e9, read % 3 == 2 ? 1 : 100);
    return speed.slow();
  };
  CHECK_FALSE(slow(11.1, 102));
  CHECK_FALSE(slow(11.7, 99));
  REQUIRE(slow(11.7, 102));
  CHECK(slow(11.7, 102)->dwell == doctest::Approx(11.7).epsilon(0.01));
  CHECK(slow(11.7, 102)->reads == 102);
  // Dwells are counted in hundredths of the calibrated one, and told as the middle of theirs.
  CHECK(slow(11.75, 102)->dwell == doctest::Approx(11.75).epsilon(1e-9));
  CHECK_FALSE(slow(11.15, 102));
  CHECK(slow(11.25, 102));
  CHECK_FALSE(slow(100, 102, 0));
  // What is ten times as slow and more is one class.
  StrandSpeed slowest(10);
  for (int read = 0; read < 200; ++read) slowest.add(1e9, 1);
  REQUIRE(slowest.slow());
  CHECK(slowest.slow()->dwell == doctest::Approx(100.05).epsilon(1e-9));
  StrandSpeed enough(10);
  for (int read = 0; read < 99; ++read) enough.add(1175, 100);
  CHECK_FALSE(enough.slow());
  enough.add(1175, 100);
  CHECK(enough.slow());
  StrandSpeed nowhere(10);
  for (int read = 0; read < 200; ++read) nowhere.add(1000, 0);
  CHECK_FALSE(nowhere.slow());
}

TEST_CASE("slow strands are warned of with what was measured, once, and only for the built-in thresholds") {
  constexpr int reads = 120;
  const auto warnings = [](const char* stage, std::int64_t kmers, const testing::ParameterTexts& parameters, std::int32_t target = 0) {
    BatchBuilder batch("read", reads);
    std::vector<std::int32_t> channel;
    for (int read = 0; read < reads; ++read) channel.push_back(read + 1);
    batch.column<std::int64_t>("sdtw_score", std::vector<std::int64_t>(reads, 800))
        .column<std::int32_t>("sdtw_length", std::vector<std::int32_t>(reads, 200));
    batch.column<std::uint8_t>("query_complete", std::vector<std::uint8_t>(reads, 1))
        .column<std::int32_t>("sdtw_target", std::vector<std::int32_t>(reads, target));
    batch.column<std::int64_t>("sdtw_start", std::vector<std::int64_t>(reads, 1000))
        .column<std::int64_t>("sdtw_end", std::vector<std::int64_t>(reads, 1000 + kmers));
    batch.column<std::int32_t>("channel", channel).column<std::int32_t>("chunk_index", std::vector<std::int32_t>(reads, 0));
    batch.column<std::uint8_t>("is_last_chunk", std::vector<std::uint8_t>(reads, 1));
    const Result result = run_stage(testing::stage_of(plugin(), stage), batch.build()).with(parameters).run();
    CHECK_MESSAGE(result.ok(), result.message);
    std::string text;
    for (const testing::LogLine& line : result.log) text += line.message + "\n";
    return text;
  };
  for (const char* stage : {"read_until_decision", "read_until_decision_stream"}) {
    CHECK(warnings(stage, 67, {{"samples_per_level", 3}}).empty());  // 200 levels of 3 samples, 9 samples a base
    const std::string text = warnings(stage, 40, {{"samples_per_level", 3}});
    CHECK_MESSAGE(
        text.starts_with("a base stays in the pore for 15.0 samples (median of 120 reads, where they were aligned), and for 8.9 in the reads that "
                         "the built-in thresholds were made of: "),
        text);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
    CHECK(warnings(stage, 40, {}).empty());  // nobody says how long a level is
    CHECK(warnings(stage, 40, {{"samples_per_level", 3}, {"threshold", 0.3}}).empty());
    CHECK(warnings(stage, 40, {{"samples_per_level", 3}}, -1).empty());  // what was aligned nowhere has no speed
    // Reads of 200 levels are decided on, and measured, where 200 are enough.
    CHECK(warnings(stage, 40, {{"samples_per_level", 3}, {"minimum_levels", 200}}) == text);
    CHECK(warnings(stage, 40, {{"samples_per_level", 3}, {"minimum_levels", 201}}).empty());
  }
}

TEST_CASE("a stream waits for the whole prefix or the end of the read, and then repeats itself") {
  // Channel 1: waits, decides on a complete prefix, repeats; its next read starts anew. Channel 2: ends early.
  const TestBatch chunks =
      scored({800, 1600, 9999999, 3200, 0}, {200, 400, 400, 200, 0}, {0, 1, 1, 0, 0}, {1, 1, 1, 2, 1}, {0, 1, 2, 0, 0}, {0, 0, 1, 1, 0});
  CHECK(decisions_of(run_stage(testing::stage_of(plugin(), "read_until_decision_stream"), chunks).run()) == std::vector<int>{0, 1, 1, 2, 0});
}

TEST_CASE("a stream that is resumed repeats the decisions of reads under way, with score and threshold") {
  const TestBatch chunks = scored({1600, 9999999, 3200, 0}, {400, 400, 200, 0}, {1, 1, 1, 0}, {1, 1, 2, 2}, {0, 1, 0, 1}, {0, 1, 0, 1});
  const auto run = run_stage(testing::stage_of(plugin(), "read_until_decision_stream"),
                             {chunks.rows(0, 1), chunks.rows(1, 3).with_sequence(1), chunks.rows(3, 4).with_sequence(2)});
  CHECK(run.run().batches[1].view().column<double>("decision_score")[0] == 0.25);
  CHECK(testing::resume_problems(run) == std::vector<std::string>{});
}

TEST_CASE("a stream that decides early does so where the table says it is clear") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/thresholds.tsv";
  std::ofstream(path) << table;
  const TestBatch chunks = scored({16 * 20, 16 * 60, 16 * 120, 0}, {200, 200, 200, 0}, {0, 0, 0, 0}, {1, 2, 3, 3}, {0, 0, 0, 1}, {0, 0, 0, 0});
  const auto run = [&](bool early) {
    return decisions_of(
        run_stage(testing::stage_of(plugin(), "read_until_decision_stream"), chunks).with({{"thresholds", path}, {"decide_early", early}}).run());
  };
  CHECK(run(false) == std::vector<int>{0, 0, 0, 0});
  CHECK(run(true) == std::vector<int>{1, 0, 2, 2});
}

TEST_CASE("a read that fits nowhere yet is not rejected early") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/thresholds.tsv";
  std::ofstream(path) << table;
  const std::vector<std::int64_t> worst(3, 126 * 200);
  const TestBatch chunks = scored(worst, {200, 200, 200}, {0, 0, 1}, {1, 2, 3}, {0, 0, 0}, {0, 0, 0}, {0, -1, -1});
  CHECK(
      decisions_of(
          run_stage(testing::stage_of(plugin(), "read_until_decision_stream"), chunks).with({{"thresholds", path}, {"decide_early", true}}).run()) ==
      std::vector<int>{2, 0, 2});
}

TEST_CASE("the table of decisions has a line a read") {
  const Result result =
      run_stage(testing::stage_of(plugin(), "decision_writer"), called_reads()).resource("target", targets()).with({{"output", "calls.tsv"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("calls.tsv") ==
        "read_id\tdecision\tscore\tthreshold\ttarget\tstrand\tstart\tend\tprefix_samples\n"
        "a\taccept\t0.250000\t0.300000\ttwo\t-\t100\t350\t3000\n"
        "b\treject\t0.500000\t0.300000\tone\t+\t7\t9\t2900\n"
        "c\twait\t.\t.\t.\t.\t.\t.\t12\n");
  CHECK(result.counters.at("reads accepted") == 1);
  CHECK(result.counters.at("reads rejected") == 1);
  CHECK(result.counters.at("reads undecided") == 1);
  // Of the report: shares, targets with their accepted reads, and scores in hundredths.
  CHECK(figure(result, "00") == Amounts{{"part", 1}, {"whole", 3}});
  CHECK(figure(result, "01") == Amounts{{"part", 1}, {"whole", 3}});
  CHECK(figure(result, "02") == Amounts{{"part", 1}, {"whole", 3}});
  CHECK(figure(result, "03") == Amounts{{"0000000000 one 0", 0}, {"0000000001 two 0", 1}});
  CHECK(figure(result, "04") == Amounts{{"25", 1}});
  CHECK(figure(result, "05") == Amounts{{"50", 1}});
}

TEST_CASE("a read on a target behind the last region is an error") {
  const auto run = [](const std::vector<std::int64_t>& starts) {
    const auto number = static_cast<std::int64_t>(starts.size());
    const std::vector<std::string> names(starts.size(), "one"), bases(starts.size(), "ACGT");
    const TestBatch regions =
        BatchBuilder("contig", number).text("name", names).text("bases", bases).column<std::int64_t>("region_start", starts).build();
    return run_stage(testing::stage_of(plugin(), "decision_writer"), called_reads())
        .resource("target", targets())
        .resource("regions", regions)
        .with({{"output", "calls.tsv"}})
        .run();
  };
  CHECK(run({0, 0}).ok());
  const Result result = run({0});
  CHECK(result.status == SLUICE_ERROR_INPUT);
  CHECK(result.message == "read 'a' is on target 1 of 1 regions");
}

TEST_CASE("of reads in chunks each has one line, also where its channel has a new read before it said that it ended") {
  // On channel 0 a is decided with its first chunk, which the second repeats; b begins there, and is decided at once.
  const TestBatch chunks = BatchBuilder("read", 3)
                               .text("read_id", {"a", "a", "b"})
                               .column<std::uint8_t>("decision", {1, 1, 2})
                               .column<double>("decision_score", {0.25, 0.25, 0.5})
                               .column<double>("decision_threshold", {0.3, 0.3, 0.3})
                               .column<std::int32_t>("sdtw_target", {1, 1, 0})
                               .column<std::uint8_t>("sdtw_is_reverse", {1, 1, 0})
                               .column<std::int64_t>("sdtw_start", {100, 100, 7})
                               .column<std::int64_t>("sdtw_end", {350, 350, 9})
                               .column<std::int32_t>("prefix_samples", {3000, 3000, 2900})
                               .column<std::int32_t>("channel", {0, 0, 0})
                               .column<std::int32_t>("chunk_index", {0, 1, 0})
                               .column<std::uint8_t>("is_last_chunk", {0, 0, 0})
                               .build();
  const Result result =
      run_stage(testing::stage_of(plugin(), "decision_writer"), chunks).resource("target", targets()).with({{"output", "calls.tsv"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("calls.tsv") ==
        "read_id\tdecision\tscore\tthreshold\ttarget\tstrand\tstart\tend\tprefix_samples\n"
        "a\taccept\t0.250000\t0.300000\ttwo\t-\t100\t350\t3000\n"
        "b\treject\t0.500000\t0.300000\tone\t+\t7\t9\t2900\n");
  CHECK(result.counters.at("reads accepted") == 1);
}

namespace {

// Reads in chunks as a stage of actions gives them, with these conditions; and the table of them.
TestBatch reads_with_actions(const std::vector<std::int32_t>& condition) {
  return BatchBuilder("read", 4)
      .text("read_id", {"a", "b", "c", "b"})
      .column<std::uint8_t>("decision", {1, 2, 0, 2})
      .column<double>("decision_score", {0.25, 0.5, 0, 0.5})
      .column<double>("decision_threshold", {0.3, 0.3, 0.3, 0.3})
      .column<std::int32_t>("sdtw_target", {1, 0, -1, 0})
      .column<std::uint8_t>("sdtw_is_reverse", {1, 0, 0, 0})
      .column<std::int64_t>("sdtw_start", {100, 7, -1, 7})
      .column<std::int64_t>("sdtw_end", {350, 9, -1, 9})
      .column<std::int32_t>("prefix_samples", {3000, 2900, 12, 2900})
      .column<std::int32_t>("channel", {0, 1, 2, 1})
      .column<std::int32_t>("chunk_index", {0, 0, 0, 1})
      .column<std::uint8_t>("is_last_chunk", {0, 0, 1, 0})
      .column<std::uint8_t>("action", {1, 0, 0, 2})
      .column<std::int32_t>("condition", condition)
      .build();
}
Result table_of_actions(const std::vector<std::int32_t>& condition, const std::vector<std::int32_t>& channel_condition = {0}) {
  const TestBatch regions = BatchBuilder("contig", 2)
                                .text("name", {"one", "two"})
                                .text("bases", {"ACGT", "ACGT"})
                                .column<std::int64_t>("region_start", {400, 5000})
                                .build();
  const TestBatch conditions = BatchBuilder("read_until_condition", 2)
                                   .text("name", {"control", "enrich"})
                                   .column<std::uint8_t>("select", {2, 0})
                                   .column<std::int32_t>("minimum_chunks", {1, 1})
                                   .column<std::int32_t>("maximum_chunks", {0, 0})
                                   .text("targets", {"", ""})
                                   .list<std::uint8_t>("actions", {{1, 1, 1, 1}, {1, 2, 1, 1}})
                                   .list<std::int32_t>("channel_condition", {channel_condition, {}})
                                   .build();
  return run_stage(testing::stage_of(plugin(), "decision_writer"), reads_with_actions(condition))
      .resource("target", targets())
      .resource("regions", regions)
      .resource("conditions", conditions)
      .with({{"output", "calls.tsv"}})
      .run();
}

}  // namespace

TEST_CASE("behind a stage of actions the table says what is done, on which channel, and where on the contig") {
  const Result result = table_of_actions({0, 1, 1, 1});
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("calls.tsv") ==
        "read_id\tdecision\tscore\tthreshold\ttarget\tstrand\tstart\tend\tprefix_samples\taction\tcondition\tchannel\n"
        "a\taccept\t0.250000\t0.300000\ttwo\t-\t5100\t5350\t3000\tstop_receiving\tcontrol\t1\n"
        "c\twait\t.\t.\t.\t.\t.\t.\t12\tproceed\tenrich\t3\n"
        "b\treject\t0.500000\t0.300000\tone\t+\t407\t409\t2900\tunblock\tenrich\t2\n");
}

TEST_CASE("conditions that there are not are errors") {
  for (const std::int32_t none : {-1, 2, 2000000000}) {
    const Result of_a_read = table_of_actions({0, 1, none, 1});
    CHECK(of_a_read.status == SLUICE_ERROR_INPUT);
    CHECK(of_a_read.message == "read 'c' has condition " + std::to_string(none) + " of 2");
    CHECK(table_of_actions({0, 1, 1, 1}, {0, none}).status == SLUICE_ERROR_INPUT);
  }
}

TEST_CASE("the stages keep the contract") {
  testing::ContractSample writer{.parameters = {{"output", "calls.tsv"}}, .batches = {called_reads()}};
  writer.resources.emplace("target", targets());
  const auto problems = testing::contract_problems(
      plugin(),
      {{"read_until_decision", {.batches = {scored({800, 3200}, {200, 200}, {1, 1})}}},
       {"read_until_decision_stream", {.batches = {scored({800, 1600, 3200}, {200, 400, 200}, {0, 1, 1}, {1, 1, 2}, {0, 1, 0}, {0, 1, 0})}}},
       {"decision_writer", writer}});
  for (const std::string& problem : problems) FAIL_CHECK(problem);
}
