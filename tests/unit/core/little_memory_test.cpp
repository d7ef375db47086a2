// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Memory that is refused ends a run, or changes nothing; what stages keep is counted.
#include <doctest/doctest.h>

#include "sched/memory_budget.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// A stage of every kind.
const char* const pipeline = R"(
[resources.constant]
use = "toy_resource"
[stages.source]
use = "toy_source"
params = { batches = 12, rows = 20 }
[stages.map]
use = "toy_map"
[stages.pair]
use = "toy_regroup"
inputs = ["map"]
[stages.sink]
use = "toy_sink"
inputs = ["map"]
params.output = "${folder}/out.txt"
[stages.pair_sink]
use = "toy_sink"
inputs = ["pair"]
params = { output = "${folder}/pairs.txt", column = "total" }
)";

}  // namespace

TEST_CASE("However little memory columns may take, a run ends, and what it leaves is whole") {
  ToyRun plain;
  const ToyResult whole = plain(pipeline);
  REQUIRE_MESSAGE(whole.run.state == RunState::finished, whole.run.message);
  int failed = 0, finished = 0;
  for (std::uint64_t limit = 64; limit < (std::uint64_t{1} << 22); limit += limit / 3 + 64)
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(limit);
      ToyRun run;
      run.options.executor = executor;
      run.options.memory_limit_bytes = limit;
      const ToyResult result = run(pipeline);
      if (result.run.state == RunState::finished) {
        ++finished;
        CHECK(result.files == whole.files);
      } else {
        ++failed;
        CHECK(result.run.status == SLUICE_ERROR_MEMORY);
        CHECK_MESSAGE(result.run.message.find("out of memory") != std::string::npos, result.run.message);
        CHECK(result.files.empty());
      }
    }
  CHECK(failed > 4);
  CHECK(finished > 4);
}

TEST_CASE("What a stage keeps beside columns counts, and leaves batches half of the budget at least") {
  MemoryBudget given_up(1000, 1.0, 100, [] { return true; });
  given_up.keep(200);
  const auto held = given_up.acquire(500);
  CHECK_FALSE(given_up.acquire(400));  // 900 of 800
  CHECK(given_up.acquire(300));
  MemoryBudget full(1000, 1.0, 100, [] { return true; });
  full.keep(5000);
  const auto alone = full.acquire(300), beside = full.acquire(200);
  CHECK(beside);  // half of it is theirs, whatever is kept
  CHECK_FALSE(full.acquire(1));
}

TEST_CASE("What resources and stages keep is part of the run's peak") {
  ToyRun without, with;
  const ToyResult a = without(pipeline);
  std::string keeping = pipeline;
  keeping.replace(keeping.find("use = \"toy_regroup\""), 19, "use = \"toy_regroup\"\nparams.keeps = 50000000");
  const ToyResult b = with(keeping);
  REQUIRE(b.run.state == RunState::finished);
  CHECK(a.run.statistics.memory_peak < 50000000);
  CHECK(b.run.statistics.memory_peak > 50000000);
  CHECK(b.files == a.files);
}

TEST_CASE("Calls that need more than the budget are made one at a time, row by row, and the report says so; others share it") {
  const auto hungry = [](int threads, Executor executor, std::int64_t scratch) {
    ToyRun run;
    run.options.threads = threads;
    run.options.executor = executor;
    run.options.memory_bytes = std::uint64_t{1} << 20;
    return run(R"(
[stages.source]
use = "toy_source"
params = { batches = 30, rows = 3 }
[stages.hungry]
use = "toy_hungry"
params.scratch = )" +
               std::to_string(scratch) + R"(
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt" }
)");
  };
  for (const int threads : {1, 4})
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(threads);
      const ToyResult beyond = hungry(threads, executor, 3 << 20);
      REQUIRE_MESSAGE(beyond.run.state == RunState::finished, beyond.run.message);
      CHECK(beyond.files.at("out.txt") == numbers(0, 90));
      const StageStatistics& stage = beyond.stage("hungry");
      CHECK(stage.quantities.at("calls at once").maximum == 1);
      CHECK(stage.quantities.at("rows at once").maximum == 1);
      CHECK(stage.beyond_memory >= 3 << 20);
      CHECK(stage.beyond_memory_rows == "3 rows");
      const ToyResult within = hungry(threads, executor, 400'000);
      CHECK(within.files.at("out.txt") == numbers(0, 90));
      CHECK(within.stage("hungry").quantities.at("calls at once").maximum <= 2);
      CHECK(within.stage("hungry").beyond_memory == 0);
    }
}
