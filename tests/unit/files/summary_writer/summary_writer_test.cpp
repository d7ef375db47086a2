// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sluice/testing.hpp>

#include "summary_writer/stage.cpp"  // the stage class has no header of its own
#include "unit/resumed_forms.hpp"

using namespace sluice::summary_writer;
using sluice::mean_quality;
using sluice::testing::BatchBuilder;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

enum class With { bases, signal_alone };

TestBatch reads(With with) {
  BatchBuilder rows("read", 5);
  rows.text("read_id", {"a", "b", "odd", "slow", "empty"})
      .text("signal_file_name", {"x.blow5", "x.blow5", "x.blow5", "x.blow5", "y.pod5"})
      .text("run_id", {"run", "", "run", "run", "run"})
      .column<std::int32_t>("sequencer_channel", {12, -1, 3, 4, 5})
      .column<std::int32_t>("mux", {2, -1, 1, 1, 1})
      .column<std::int64_t>("start_sample", {8000, -1, 0, 0, 1})
      .column<std::int64_t>("sample_count", {2000, 10, 5, 5, 0})
      .column<double>("sampling_rate", {4000, 5000, 4000, 0, 4000})
      .column<std::int64_t>("read_number", {7, -1, 1, 1, 1})
      .column<double>("median_before", {210.25, std::nan(""), 1, 1, 1})
      .text("end_reason", {"signal_positive", "", "", "", ""});
  if (with == With::bases) rows.text("bases", {"ACGT", "AC", "ACG", "A", ""}).text("qualities", {"5555", "+!", "II", "I", ""});
  return rows.build();
}

}  // namespace

TEST_CASE("the mean quality is that of the mean probability of an error") {
  CHECK(mean_quality("") == 0);
  CHECK(mean_quality("5") == doctest::Approx(20));
  CHECK(mean_quality("+!") == doctest::Approx(-10 * std::log10(0.55)));
  CHECK(mean_quality("!!!") == 0);
  CHECK(mean_quality(std::string(1000, '~')) == doctest::Approx(93));
  // BAM holds higher ones than text does, and damaged text may hold lower ones.
  CHECK(mean_quality("\xff\x7f") == doctest::Approx(93));
  CHECK(mean_quality(" \n") == 0);
}

TEST_CASE("a line has what the columns say, and rows that can't be fail") {
  const auto result = run_stage<SummaryWriter>(reads(With::bases)).with({{"output", "s.txt"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.failed.size() == 2);  // other numbers of qualities than of bases; no sampling rate
  CHECK(result.files.at("s.txt") ==
        "filename\tread_id\trun_id\tchannel\tmux\tstart_time\tduration\tpasses_filtering\ttemplate_start\ttemplate_duration\t"
        "sequence_length_template\tmean_qscore_template\tread_number\tmedian_before\tend_reason\n"
        "x.blow5\ta\trun\t12\t2\t2.000000\t0.500000\tTRUE\t2.000000\t0.500000\t4\t20.000000\t7\t210.250000\tsignal_positive\n"
        "x.blow5\tb\tunknown\t0\t0\t0.000000\t0.002000\tFALSE\t0.000000\t0.002000\t2\t2.596373\t0\t0.000000\tunknown\n"
        "y.pod5\tempty\trun\t5\t1\t0.000250\t0.000000\tFALSE\t0.000250\t0.000000\t0\t0.000000\t1\t1.000000\tunknown\n");
  CHECK(result.logged("do not say channel or start time of 1 reads"));
  const auto all = run_stage<SummaryWriter>(reads(With::bases)).with({{"output", "s.txt"}, {"min_qscore", 2}}).run();
  CHECK(all.files.at("s.txt").find("\tb\tunknown\t0\t0\t0.000000\t0.002000\tTRUE") != std::string::npos);
}

TEST_CASE("channel 1 and sample 0 are places, 0 and -1 none; rates have limits; a quality at the limit passes") {
  struct Row {
    std::int32_t channel;
    std::int64_t start;
    double rate;
    const char* qualities;
  };
  const auto result_of = [](const Row& row, const sluice::testing::ParameterTexts& parameters = {}) {
    const TestBatch read = BatchBuilder("read", 1)
                               .text("read_id", {"r"})
                               .text("signal_file_name", {"x"})
                               .text("run_id", {"run"})
                               .column<std::int32_t>("sequencer_channel", {row.channel})
                               .column<std::int32_t>("mux", {1})
                               .column<std::int64_t>("start_sample", {row.start})
                               .column<std::int64_t>("sample_count", {8})
                               .column<double>("sampling_rate", {row.rate})
                               .text("bases", {"ACGT"})
                               .text("qualities", {row.qualities})
                               .build();
    auto result = run_stage<SummaryWriter>(read).with({{"output", "s.txt"}}).with(parameters).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return result;
  };
  const auto warns = [&](std::int32_t channel, std::int64_t start) {
    return result_of({channel, start, 4000, "5555"}).logged("reads: they are 0 in the table");
  };
  CHECK(!warns(1, 0));
  CHECK(warns(0, 0));
  CHECK(warns(1, -1));
  for (const double rate : {100.0, 1e6}) CHECK(result_of({1, 0, rate, "5555"}).failed.empty());
  for (const double rate : {0.0, -1.0, 1e-300, 1.0, 99.0, 1.1e6, 1e300}) CHECK(result_of({1, 0, rate, "5555"}).failed.size() == 1);
  const auto passes = [&](const char* qualities, const sluice::testing::ParameterTexts& parameters = {}) {
    return result_of({1, 0, 4000, qualities}, parameters).files.at("s.txt").find("TRUE") != std::string::npos;
  };
  CHECK(passes("5555", {{"min_qscore", mean_quality("5555")}}));
  CHECK(!passes("5555", {{"min_qscore", mean_quality("5555") + 0.001}}));
  CHECK(passes("()()"));  // 7 and 8: the limit is 7 where none is given
  CHECK(!passes("'('("));
  // One quality for four bases.
  CHECK(result_of({1, 0, 4000, "5"}).failed.size() == 1);
  const auto counted = result_of({1, 0, 4000, "5555"});
  CHECK(counted.files.at("s.txt").ends_with("x\tr\trun\t1\t1\t0.000000\t0.002000\tTRUE\t0.000000\t0.002000\t4\t20.000000\t0\t0.000000\tunknown\n"));
  CHECK(counted.counters.at("bases") == 4);
  CHECK(counted.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{1, 1});
}

TEST_CASE("without bases lengths and qualities are 0") {
  const auto result = run_stage<SummaryWriter>(reads(With::signal_alone)).with({{"output", "s.txt"}}).run();
  REQUIRE(result.ok());
  CHECK(result.failed.size() == 1);
  CHECK(result.files.at("s.txt").find("\ta\trun\t12\t2\t2.000000\t0.500000\tFALSE\t2.000000\t0.500000\t0\t0.000000\t7") != std::string::npos);
}

TEST_CASE("sequencing_summary keeps the contract of all stages") {
  for (const char* output : {"s.txt", "s.txt.zst", "s.arrow", "s.parquet"})
    CHECK(sluice::testing::contract_problems(
              *sluice_plugin_init(nullptr, nullptr),
              {{"sequencing_summary", {.parameters = {{"output", output}}, .batches = {reads(With::bases), reads(With::bases)}}}}) ==
          std::vector<std::string>{});
}

TEST_CASE("the summary goes on behind an interruption") {
  const auto run = sluice::testing::run_stage(sluice::testing::stage_of(*sluice_plugin_init(nullptr, nullptr), "sequencing_summary"),
                                              std::vector{reads(With::bases), reads(With::bases)});
  CHECK(sluice::testing::resume_problems(run, {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
