// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/account.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../config/example_stages.hpp"
#include "machine/atomic_file.hpp"
#include "observe/bottleneck.hpp"
#include "observe/progress.hpp"
#include "observe/quantity.hpp"
#include "observe/report.hpp"
#include "observe/summary.hpp"
#include "unit/observe/trace_text.hpp"

using namespace sluice;

namespace {

const char* const pipeline_text = R"([pipeline]
name = "m"
[stages.read]
use = "reader"
params.path = "x"
[stages.events]
use = "lookup"
when_most_fail = "try another chemistry"
[stages.write]
use = "write_reads"
params.output = "y"
)";

Plan example_plan() {
  Diagnostics diagnostics;
  auto resolved = resolve_pipeline(parse_pipeline(pipeline_text, "test.toml", diagnostics), {}, example::registry(), diagnostics);
  Plan plan = make_plan(std::move(resolved), "auto", {"cpu"}, diagnostics);
  REQUIRE(!diagnostics.has_errors());
  return plan;
}

// 100 inputs: 10 filtered, 5 fail at the source, 65 in the map, 20 are written.
RunStatistics example_statistics() {
  RunStatistics s;
  s.elapsed_seconds = 2;
  s.threads = 2;
  StageStatistics read, events, write;
  read.name = "read", read.role = "source", read.id = "reader", read.work_unit = "base", read.row_type = "read";
  read.rows_out = 90, read.accounted["low_mapping_quality"] = 10, read.failed["too_short"] = 5, read.busy_seconds = 0.2;
  read.implementations.push_back({"cpu", 3, 90, 4e6, 0.2});
  events.name = "events", events.role = "map", events.id = "lookup", events.work_unit = "base", events.row_type = "read";
  events.rows_in = 90, events.rows_out = 20, events.failed = {{"too_short", 60}, {"no_signal", 5}}, events.busy_seconds = 3;
  events.implementations.push_back({"cpu", 3, 90, 4e6, 3});
  write.name = "write", write.role = "sink", write.id = "write_reads", write.row_type = "read", write.rows_in = 90, write.rows_out = 20,
  write.busy_seconds = 0.1;
  s.stages = {read, events, write};
  return s;
}

}  // namespace

TEST_CASE("read = filtered + failed + written, and the reasons say where") {
  const auto accounts = account_of(example_plan(), example_statistics(), Ending::finished);
  REQUIRE(accounts.size() == 1);
  const PathAccount& a = accounts[0];
  CHECK(a.source == "read");
  CHECK(a.end == "write");
  CHECK(a.read == 100);
  CHECK(a.filtered == 10);
  CHECK(a.failed == 70);
  CHECK(a.written == 20);
  CHECK(a.unfinished == 0);
  CHECK(a.adds_up);
  REQUIRE(a.losses.size() == 4);
  CHECK(a.losses[0].reason == "too_short");
  CHECK(a.losses[0].rows == 60);
  CHECK(worst_failed_fraction(accounts) == doctest::Approx(70.0 / 90));
}

TEST_CASE("rows that a map leaves out on purpose are filtered, not failed") {
  RunStatistics s = example_statistics();
  s.stages[1].accounted["too_short"] = 60;
  const auto accounts = account_of(example_plan(), s, Ending::finished);
  const PathAccount& a = accounts[0];
  CHECK(a.read == 100);
  CHECK(a.filtered == 70);
  CHECK(a.failed == 10);
  CHECK(a.written == 20);
  CHECK(a.adds_up);
  CHECK(worst_failed_fraction(accounts) == doctest::Approx(10.0 / 30));
}

TEST_CASE("a row that nobody counted is noticed") {
  RunStatistics s = example_statistics();
  s.stages[2].rows_out = 19;
  CHECK_FALSE(account_of(example_plan(), s, Ending::finished)[0].adds_up);
  CHECK(account_of(example_plan(), s, Ending::partial)[0].unfinished == 1);
  CHECK(account_of(example_plan(), s, Ending::partial)[0].adds_up);
  s.stages[2].rows_out = 1000;
  CHECK_FALSE(account_of(example_plan(), s, Ending::finished)[0].adds_up);
}

TEST_CASE("the bottleneck is named in words") {
  const std::string text = bottleneck(example_plan(), example_statistics());
  CHECK(text == "stage 'events' (lookup) took 90.9 % of the processing time, at 1.33 Mbases/s per thread");
  RunStatistics waiting = example_statistics();
  waiting.stages[0].busy_seconds = 1.9;
  CHECK(bottleneck(example_plan(), waiting).find("the others waited for it") != std::string::npos);
  CHECK(bottleneck(example_plan(), {}) == "nothing was measured");
  // A sink's rendering is on all threads, its writing on one.
  RunStatistics rendering = example_statistics();
  rendering.stages[2].busy_seconds = 1.9;
  rendering.stages[2].implementations = {{"cpu", 1, 30, 1e6, 1.7}, {"writer", 1, 0, 0, 0.2}};
  CHECK(bottleneck(example_plan(), rendering).find("the others waited for it") == std::string::npos);
  rendering.stages[2].implementations = {{"cpu", 1, 30, 1e6, 0.1}, {"writer", 1, 0, 0, 1.8}};
  CHECK(bottleneck(example_plan(), rendering) ==
        "stage 'write' (write_reads) runs one batch at a time and was busy 90.0 % of the run: the others waited for it");
}

TEST_CASE("a device that is hardly ever idle is the bottleneck; one that is idle is mentioned") {
  RunStatistics s = example_statistics();
  s.stages[1].implementations = {{"cpu", 1, 30, 1e6, 1.5}, {"cuda:0", 2, 60, 3e6, 1.5}};
  DeviceStatistics device;
  device.name = "cuda:0";
  device.model = "NVIDIA H200";
  device.calls = 2;
  device.busy_seconds = 1.8;
  device.bytes_to_device = 3 << 20;
  device.faults.kernel = 2;
  s.devices = {device};
  CHECK(bottleneck(example_plan(), s) == "cuda:0 was busy 90.0 % of the run, 100.0 % of that with stage 'events' (lookup)");
  RunResult result;
  result.statistics = s;
  const auto lines = summary_lines(result, example_plan());
  REQUIRE(lines.size() == 3);
  CHECK(lines[2] == "  cuda:0 NVIDIA H200: busy 90.0 % of the run; events 75.0 % of the work; 3.00 MiB there, 0 B back, peak 0 B; 2 kernel errors");
  s.devices[0].busy_seconds = 0.2;
  CHECK(bottleneck(example_plan(), s) ==
        "stage 'events' (lookup) took 83.3 % of the processing time, at 667 kbases/s per thread; cuda:0 was busy 10.0 %");
  s.devices[0].calls = 0;
  result.statistics = s;
  CHECK(summary_lines(result, example_plan())[2] == "  cuda:0 NVIDIA H200: not used");
}

TEST_CASE("the report has an entry per device, and says how batches were dealt out") {
  RunResult result;
  result.statistics = example_statistics();
  DeviceStatistics device;
  device.name = "cuda:0";
  device.busy_seconds = 1;
  device.memory_peak = 77;
  result.statistics.devices = {device};
  LaneStatistics lane;
  lane.name = "cuda:0";
  lane.retired = true;
  lane.retired_because = "it burns";
  result.statistics.scheduler.lanes = {lane};
  result.statistics.scheduler.stages.resize(3);
  result.statistics.scheduler.stages[1] = {9, 4};
  PlacementStatistics placement;
  placement.stage = 1;
  placement.lane = "cuda:0";
  placement.parts = 4;
  placement.tail_rows = 2;
  result.statistics.scheduler.placements = {placement};
  const auto report = nlohmann::json::parse(report_json(result, example_plan(), example::registry(), {"1.0", {"sluice"}, 0}));
  REQUIRE(report["devices"].size() == 1);
  CHECK(report["devices"][0]["utilisation"] == 0.5);
  CHECK(report["devices"][0]["device_peak_bytes"] == 77);
  CHECK(report["devices"][0]["retired_because"] == "it burns");
  REQUIRE(report["placements"].size() == 1);
  CHECK(report["placements"][0]["stage"] == "events");
  CHECK(report["placements"][0]["divided"] == 4);
  CHECK(report["placements"][0]["devices"][0]["tail_rows"] == 2);
}

TEST_CASE("a stage in which most rows fail gives a hint with the pipeline's advice") {
  RunStatistics s = example_statistics();
  s.stages[1].failed["too_short"] = 40;
  CHECK(hints(example_plan(), s).empty());
  s.stages[1].failed["too_short"] = 85;
  const auto list = hints(example_plan(), s);
  REQUIRE(list.size() == 1);
  CHECK(list[0].ends_with("most of them as too_short (fewer than ten bases): try another chemistry"));
}

TEST_CASE("the pipeline has advice about reasons") {
  RunStatistics s = example_statistics();
  s.stages[1].failed = {{"no_signal", 60}};
  Plan plan = example_plan();
  plan.pipeline.stages[1].when_most_fail.clear();
  plan.pipeline.advice["no_signal"] = "are the signal files those of these reads?";
  const auto list = hints(plan, s);
  REQUIRE(list.size() == 1);
  CHECK(list[0].ends_with(": are the signal files those of these reads?"));
  s.stages[1].failed = {{"no_signal", 40}};
  CHECK(hints(plan, s).empty());
  s.stages[1].role = "map", s.stages[1].failed = {{"no_signal", 60}}, s.stages[1].accounted = {{"no_signal", 60}};
  CHECK(hints(plan, s).empty());  // left out on purpose
}

TEST_CASE("reads that do not map, and alignments that are none, point to the reference") {
  RunStatistics s = example_statistics();
  s.stages[1].failed.clear();
  Plan plan = example_plan();
  plan.pipeline.advice = {{"unmapped", "from this reference?"}, {"mapped", "is the preset right?"}};
  s.stages[0].accounted["unmapped"] = 200;
  REQUIRE(hints(plan, s).size() == 1);
  CHECK(hints(plan, s)[0].find("as unmapped: from this reference?") != std::string::npos);
  s.stages[0].accounted.erase("unmapped");
  s.stages.back().outcomes["mapped"] = {3, 90};
  REQUIRE(hints(plan, s).size() == 1);
  CHECK(hints(plan, s)[0].find("mapped: is the preset right?") != std::string::npos);
}

TEST_CASE("the report is JSON whatever bytes are in it") {
  RunResult result;
  result.statistics = example_statistics();
  result.statistics.stages[0].examples.push_back({"read \xff\xfe", "too_short"});
  const auto report = nlohmann::json::parse(report_json(result, example_plan(), example::registry(), {"1.0", {"sluice", "run", "\xff"}, 0}));
  CHECK(report["state"] == "finished");
  CHECK(report["account"][0]["adds_up"] == true);
  CHECK(report["stages"].size() == 3);
  CHECK(report["versions"]["plugins"][0]["build_id"] == "test");
}

TEST_CASE("a trace is JSON with one event per call") {
  const auto trace = nlohmann::json::parse(trace_text("m", {{"read \"x\"", "cpu", 1, 10, 2.5, 7, 100}, {"read", "cuda:0", 2, 12, 1, 8, 50}}));
  REQUIRE(trace["traceEvents"].size() == 4);
  CHECK(trace["traceEvents"][0]["args"]["name"] == "cpu");  // a lane is named before its first event
  CHECK(trace["traceEvents"][1]["name"] == "read \"x\"");
  CHECK(trace["traceEvents"][1]["dur"] == 2.5);
  CHECK(trace["traceEvents"][3]["pid"] == 1);
  CHECK(nlohmann::json::parse(trace_text("m", {}))["traceEvents"].empty());
}

TEST_CASE("the progress line shows rows, rate and time left, and fits the terminal") {
  RunStatistics s = example_statistics();
  s.resident_peak = 512 << 20;
  const Plan plan = example_plan();
  TimeLeft time_left(plan);
  CHECK(progress_line(plan, s, time_left, 200) == "m: 90 reads, 2.00 Mbases/s, 2.00 s, 512 MiB");
  s.source_progress = 0.5;
  CHECK(progress_line(plan, s, time_left, 200) == "m: 90 reads, 2.00 Mbases/s, 50.0 %, 2.00 s left, 512 MiB");
  CHECK(progress_line(plan, s, time_left, 10).size() == 10);
}

TEST_CASE("the time left goes by the work that is done, not by what has been read") {
  const Plan plan = example_plan();
  RunStatistics s = example_statistics();
  s.source_progress = 0.5;
  s.stages[1].rows_in = s.stages[2].rows_in = 45;  // half of what has been read
  const double share = (0.2 + 3 + 0.1) / (0.2 / 0.5 + 3 / 0.25 + 0.1 / 0.25);
  CHECK(TimeLeft(plan).after(s).seconds == doctest::Approx(s.elapsed_seconds * (1 - share) / share));
  s.source_progress = 0.01;
  CHECK(TimeLeft(plan).after(s).seconds < 0);  // too early
}

TEST_CASE("before the first row the progress line says what is waited for") {
  RunStatistics s = example_statistics();
  for (StageStatistics& stage : s.stages) stage.rows_in = stage.rows_out = 0, stage.failed.clear(), stage.accounted.clear();
  s.resident_peak = 512 << 20;
  const Plan plan = example_plan();
  TimeLeft time_left(plan);
  CHECK(progress_line(plan, s, time_left, 200) == "m: waiting for the first read, 2.00 s, 512 MiB");
}

TEST_CASE("the summary names losses and outputs; what has to be looked at is said apart from it") {
  RunResult result;
  result.statistics = example_statistics();
  result.statistics.outputs = {"y"};
  const auto lines = summary_lines(result, example_plan());
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] ==
        "  read -> write: 100 reads, 20 written, 10 filtered, 70 failed (77.8 %); events: too_short 60, read: low_mapping_quality 10, read: "
        "too_short 5, events: no_signal 5");
  CHECK(lines[2] == "  y");
  const auto warnings = hints(example_plan(), result.statistics);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("72.2 % of the reads failed in stage 'events' (lookup), most of them as too_short"));
}

TEST_CASE("numbers are written as people read them") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(1, "read") == "1 read");
  CHECK(bytes_text(1536) == "1.50 KiB");
  CHECK(bytes_text(1023.9 * 1024) == "1.00 MiB");
  CHECK(duration_text(61.4) == "1:01");
  CHECK(duration_text(7325) == "2:02:05");
  CHECK(rate_text(3.21e6, "base") == "3.21 Mbases/s");
  CHECK(percent_text(0.0001) == "< 0.1 %");
}

TEST_CASE("a small file appears completely or not at all") {
  const auto folder = std::filesystem::temp_directory_path() / ("sluice_observe_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  CHECK(why_not_writable(folder / "r.json").empty());
  CHECK(std::filesystem::is_empty(folder));
  CHECK(write_atomically(folder / "r.json", "first").empty());
  CHECK(write_atomically(folder / "r.json", "second").empty());
  std::ifstream stream(folder / "r.json");
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "second");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK_FALSE(why_not_writable(folder).empty());
  CHECK_FALSE(why_not_writable(folder / "none/r.json").empty());
  CHECK(write_atomically("/dev/full", "x").find("No space left") != std::string::npos);
  std::filesystem::remove_all(folder);
}
