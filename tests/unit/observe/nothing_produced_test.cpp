// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// When a run has produced nothing, and what is then said of its rows.
#include <doctest/doctest.h>

#include "../config/example_stages.hpp"
#include "observe/account.hpp"
#include "observe/summary.hpp"
#include "record/recorder.hpp"

using namespace sluice;

namespace {

const char* const pipeline_text = R"([pipeline]
name = "m"
[stages.read]
use = "reader"
params.path = "x"
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

// Of a hundred alignments ten were filtered; `written` of the others came to the end.
RunResult example_result(std::uint64_t written) {
  RunResult result;
  RunStatistics& s = result.statistics;
  s.threads = 2;
  StageStatistics read, write;
  read.name = "read", read.role = "source", read.id = "reader", read.row_type = "read", read.row_noun = "alignment";
  read.rows_out = 90, read.accounted["low_mapping_quality"] = 10, read.failed["no_signal"] = 90 - written;
  write.name = "write", write.role = "sink", write.id = "write_reads", write.row_type = "read", write.rows_in = 90, write.rows_out = written;
  s.stages = {read, write};
  return result;
}

std::string emptiness_of(const RunResult& result) { return emptiness_text(result, example_plan()); }

}  // namespace

TEST_CASE("a sink that has written rows has produced something") {
  CHECK(emptiness_of(example_result(1)).empty());
  CHECK(emptiness_of(example_result(90)).empty());
}

TEST_CASE("a sink that got no good row has produced nothing, and it is said why") {
  const std::string text = emptiness_of(example_result(0));
  for (const char* part : {"'write'", "0 of 100 alignments", "no_signal 90", "low_mapping_quality 10"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("without any input there was nothing to produce, which is said in the user's words") {
  RunResult result = example_result(0);
  for (StageStatistics& stage : result.statistics.stages) stage.rows_in = stage.rows_out = 0, stage.failed.clear(), stage.accounted.clear();
  CHECK(emptiness_of(result).find("no alignments") != std::string::npos);
}

TEST_CASE("what a sink says of its rows decides: lines for reads that map nowhere are nothing") {
  RunResult result = example_result(90);
  result.statistics.stages[1].outcomes["mapped"] = {0, 90};
  const std::string text = emptiness_of(result);
  for (const char* part : {"'write'", "0 of 90 alignments mapped"}) CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  result.statistics.stages[1].outcomes["mapped"] = {1, 90};
  CHECK(emptiness_of(result).empty());
}

TEST_CASE("one good outcome of several is enough") {
  RunResult result = example_result(90);
  result.statistics.stages[1].outcomes = {{"called", {0, 90}}, {"counted", {3, 90}}};
  CHECK(emptiness_of(result).empty());
}

TEST_CASE("outcomes add up over batches, and are in the summary in place of what was written") {
  Diagnostics diagnostics;
  const Plan plan = example_plan();
  StageRecorder recorder(plan.pipeline.stages[1]);
  recorder.outcome(StageRecorder::no_batch, "mapped", 2, 50);
  recorder.outcome(StageRecorder::no_batch, "mapped", 1, 40);
  const OutcomeStatistics mapped = recorder.statistics().outcomes.at("mapped");
  CHECK(mapped.good == 3);
  CHECK(mapped.total == 90);
  RunResult result = example_result(90);
  result.statistics.stages[1].outcomes["mapped"] = mapped;
  std::string summary;
  for (const std::string& line : summary_lines(result, plan)) summary += line + "\n";
  CHECK_MESSAGE(summary.find("100 alignments, 3 mapped, 10 filtered") != std::string::npos, summary);
}

TEST_CASE("filtered rows without a name are counted as such, so that an account can say how many it does not name") {
  const Plan plan = example_plan();
  StageRecorder recorder(plan.pipeline.stages[0]);
  recorder.accounted(StageRecorder::no_batch, "low_mapping_quality", 7, nullptr);
  recorder.accounted(StageRecorder::no_batch, "low_mapping_quality", 1, "read_8");
  recorder.accounted(StageRecorder::no_batch, "unmapped", 2, nullptr);
  const StageStatistics statistics = recorder.statistics();
  CHECK(statistics.accounted.at("low_mapping_quality") == 8);
  CHECK(statistics.nameless == std::map<std::string, std::uint64_t>{{"low_mapping_quality", 7}, {"unmapped", 2}});
}
