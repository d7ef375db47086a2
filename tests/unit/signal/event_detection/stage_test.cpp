// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage: which constants a preset or a signal file means, and which way events run.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <string>
#include <vector>

#include "event_detection/events.hpp"

namespace {
namespace testing = sluice::testing;
using sluice::event_detection::DetectorParams;
using sluice::event_detection::EventTable;
using Signal = std::vector<std::int16_t>;

testing::StageUnderTest stage() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/event_detection.so");
  return testing::stage_of(*loaded, "event_detection");
}

Signal squiggle(std::size_t samples, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 6);
  Signal signal(samples);
  double level = 500;
  std::size_t left = 0;
  for (std::int16_t& sample : signal) {
    if (left-- == 0) {
      level = 350 + static_cast<double>(random() % 300);
      left = 5 + random() % 60;
    }
    sample = static_cast<std::int16_t>(std::lround(level + noise(random)));
  }
  return signal;
}

testing::TestBatch reads_of(const std::vector<Signal>& signals) {
  const std::vector<double> ones(signals.size(), 1.0);
  return testing::BatchBuilder("read", static_cast<std::int64_t>(signals.size()))
      .list("raw_signal", signals)
      .column("digitisation", ones)
      .column("range", ones)
      .column("offset", std::vector<double>(signals.size(), 10.0))
      .build();
}

testing::TestBatch file_of(const std::string& chemistry) {
  return testing::BatchBuilder("signal_file", 1)
      .text("run_id", {""})
      .text("experiment_type", {""})
      .text("sequencing_kit", {""})
      .text("flow_cell_id", {""})
      .text("chemistry", {chemistry})
      .attribute("chemistry", chemistry)
      .build();
}

EventTable expected_events(const Signal& signal, const DetectorParams& params, bool reversed) {
  sluice::event_detection::DetectorWorkspace workspace;
  EventTable events;
  REQUIRE(detect_events(signal, {10.0F, 1.0F, 1.0F}, params, workspace, events) == sluice::event_detection::DetectionStatus::ok);
  if (!reversed) return events;
  return {{events.start_sample.rbegin(), events.start_sample.rend()},
          {events.length_samples.rbegin(), events.length_samples.rend()},
          {events.mean.rbegin(), events.mean.rend()},
          {events.stdv.rbegin(), events.stdv.rend()}};
}

template <class T>
std::vector<T> row_of(const testing::Result& result, const char* column, std::int64_t row) {
  const auto values = result.batch().view().list<T>(column)[row];
  return {values.begin(), values.end()};
}

void check(const testing::Result& result, const std::vector<Signal>& signals, const DetectorParams& params, bool reversed) {
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const EventTable expected = expected_events(signals[i], params, reversed);
    CHECK(row_of<float>(result, "event_mean", row) == expected.mean);
    CHECK(row_of<std::int32_t>(result, "event_start", row) == expected.start_sample);
    CHECK(row_of<std::int32_t>(result, "event_length", row) == expected.length_samples);
    CHECK(row_of<float>(result, "event_stdv", row) == expected.stdv);
  }
}

std::vector<Signal> signals() {
  std::mt19937_64 random(5);
  return {squiggle(4000, random), squiggle(700, random), squiggle(20000, random)};
}

TEST_CASE("the preset says the constants, and events of RNA come last in time first") {
  const std::vector<Signal> reads = signals();
  for (const char* preset : {"auto", "dna", "r9", "r10"})
    check(testing::run_stage(stage(), reads_of(reads)).with({{"preset", preset}}).expect_rows(3), reads, DetectorParams::dna(), false);
  for (const char* preset : {"rna", "rna_r9", "rna004"})
    check(testing::run_stage(stage(), reads_of(reads)).with({{"preset", preset}}).threads(3).expect_rows(3), reads, DetectorParams::rna(), true);
}

TEST_CASE("the signal file says the preset unless one is given") {
  const std::vector<Signal> reads = signals();
  for (const char* chemistry : {"dna_r9", "dna_r10"})
    check(testing::run_stage(stage(), reads_of(reads)).resource("signal", file_of(chemistry)).expect_rows(3), reads, DetectorParams::dna(), false);
  for (const char* chemistry : {"rna_r9", "rna_004"})
    check(testing::run_stage(stage(), reads_of(reads)).resource("signal", file_of(chemistry)).expect_rows(3), reads, DetectorParams::rna(), true);
  check(testing::run_stage(stage(), reads_of(reads)).resource("signal", file_of("rna_004")).with({{"preset", "r9"}}).expect_rows(3), reads,
        DetectorParams::dna(), false);
}

TEST_CASE("a window is compared with those of the preset that the signal file says") {
  const auto run = [](const std::string& chemistry) {
    return testing::run_stage(stage(), reads_of(signals())).resource("signal", file_of(chemistry)).with({{"window_short", 5}}).run();
  };
  CHECK(run("dna_r9").status == SLUICE_OK);
  CHECK(run("rna_004").status == SLUICE_OK);
  const testing::Result result =
      testing::run_stage(stage(), reads_of(signals())).resource("signal", file_of("rna_004")).with({{"window_long", 6}}).run();
  CHECK(result.status == SLUICE_ERROR_USAGE);
  CHECK(result.message == "window_short (7 samples) must be smaller than window_long (6)");
}

TEST_CASE("the adapter is looked for unless the basecaller has cut it off, or says where the bases lie") {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  Signal read;
  const auto add = [&](int bases, double mean, double spread) {
    for (int base = 0; base < bases; ++base) {
      const double level = mean + spread * normal(random);
      for (int i = 0; i < 31; ++i) read.push_back(static_cast<std::int16_t>(std::lround(level - 10 + normal(random))));
    }
  };
  add(110, 64, 6);
  add(400, 90, 11);
  const std::vector<double> ones(4, 1.0);
  const testing::TestBatch reads = testing::BatchBuilder("read", 4)
                                       .list("raw_signal", std::vector<Signal>(4, read))
                                       .column("digitisation", ones)
                                       .column("range", ones)
                                       .column("offset", std::vector<double>(4, 10.0))
                                       .column<std::int64_t>("signal_begin", {0, 3400, 0, 0})
                                       .list<std::int8_t>("moves", {{}, {}, {5, 1, 0, 1}, {}})
                                       .build();
  const auto begins = [&](const testing::ParameterTexts& parameters) {
    const testing::Result result = testing::run_stage(stage(), reads).with(parameters).expect_rows(4);
    std::vector<bool> is_whole;
    for (std::int64_t row = 0; row < 4; ++row) is_whole.push_back(row_of<std::int32_t>(result, "event_start", row).back() < 1000);
    return is_whole;
  };
  CHECK(begins({{"preset", "rna004"}, {"adapter", "find"}}) == std::vector<bool>{false, true, true, false});
  CHECK(begins({{"preset", "rna004"}}) == std::vector<bool>(4, true));
  CHECK(begins({{"preset", "rna004"}, {"adapter", "find"}, {"compat", "f5c"}}) == std::vector<bool>(4, true));
}

TEST_CASE("a huge signal leaves nothing behind") {
  std::mt19937_64 random(6);
  const testing::TestBatch small =
      reads_of({squiggle(4000, random), {}, squiggle(700, random), Signal(50, 7), squiggle(20000, random), squiggle(12, random)});
  const testing::TestBatch huge = reads_of({squiggle(3'000'000, random)});
  for (const char* preset : {"dna", "rna"})
    CHECK(testing::kept_memory_problems(stage(), {.parameters = {{"preset", preset}}, .batches = {small}}, huge) == std::vector<std::string>{});
}

TEST_CASE("RNA reads without events, and batches without reads, have nothing to turn around") {
  const testing::Result result = testing::run_stage(stage(), reads_of({{}, signals()[0], Signal(50, 7)})).with({{"preset", "rna"}}).run();
  CHECK(result.failed == std::vector<testing::FailedRow>{{0, 0, "empty_signal"}, {0, 2, "no_boundary"}});
  testing::run_stage(stage(), reads_of({})).with({{"preset", "rna"}}).expect_rows(0);
}

}  // namespace
