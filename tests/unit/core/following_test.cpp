// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A stage that waits for what others write: the end of that, an interrupt, and enough rows behind it are different things.
#include <doctest/doctest.h>

#include <thread>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// 60 numbers in batches of three, of which six are there.
std::string pipeline(int first) {
  return R"(
[stages.source]
use = "toy_source"
params = { batches = 20, rows = 3 }
[stages.waits]
use = "toy_following"
params.there = 6
[stages.first]
use = "toy_first"
params.rows = )" +
         std::to_string(first) + R"(
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "found", skip_failed = true }
)";
}

// Ends what is followed once a batch has been read.
class Ender {
 public:
  explicit Ender(ToyRun& run) {
    run.on_start = [this](Run& running) {
      thread_ = std::thread([&running] {
        while (running.snapshot().stages.empty() || running.snapshot().stages.front().batches == 0) std::this_thread::yield();
        CHECK(running.end_following());
      });
    };
  }
  ~Ender() { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

TEST_CASE("When enough rows are there, those that wait are left out on purpose, and the run ends") {
  in_each_form({1, 2, 7}, pipeline(5), [](const ToyResult& result) {
    CHECK(result.files.at("out.txt") == numbers(0, 5));
    const StageStatistics& waits = result.stage("waits");
    CHECK(waits.failed.count("lost") == 0);
    const auto filtered = [](const StageStatistics& stage) {
      std::uint64_t rows = 0;
      for (const auto& [reason, count] : stage.accounted) rows += count;
      return rows;
    };
    CHECK(filtered(waits) + filtered(result.stage("first")) + 5 == result.stage("source").rows_out);
  });
}

TEST_CASE("When no more comes, rows that wait are lost") {
  for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
    ToyRun run;
    run.options.executor = executor;
    const Ender ender(run);
    const ToyResult result = run(pipeline(50));
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == numbers(0, 6));
    CHECK(result.stage("waits").failed.at("lost") == 54);
    CHECK(result.stage("waits").accounted.count("not_needed") == 0);
  }
}
