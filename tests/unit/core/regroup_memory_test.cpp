// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What regrouping stages emit is bounded by the memory budget.
#include <doctest/doctest.h>

#include <thread>

#include "sched/memory_budget.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

constexpr std::uint64_t budget = std::uint64_t{2} << 20, emitted_batch = 400 * 1000;

std::string expanding(const std::string& parameters, const std::string& between = "") {
  return R"(
[stages.source]
use = "toy_source"
params = { batches = 20, rows = 3 }
[stages.expand]
use = "toy_expand"
params = { )" +
         parameters + " }" + between + R"(
[stages.map]
use = "toy_map"
params = { add = 0, milliseconds = 0.3, jitter = true }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt" }
)";
}

}  // namespace

TEST_CASE("A regroup that emits a hundred times the budget keeps within it, at its end and for each batch, at any number of threads") {
  for (const char* parameters : {"at_end = 500", "per_batch = 25", "per_batch = 10, at_end = 300"})
    for (const int threads : {1, 2, 5})
      for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
        CAPTURE(parameters);
        CAPTURE(threads);
        ToyRun run;
        run.options.threads = threads;
        run.options.executor = executor;
        run.options.memory_bytes = budget;
        const ToyResult result = run(expanding(parameters));
        CAPTURE(result.run.message);
        REQUIRE(result.run.state == RunState::finished);
        CHECK(result.files.at("out.txt") == numbers(0, 50 * 1000));
        CHECK(result.run.statistics.memory_peak < budget + 4 * emitted_batch);
        CHECK(result.stage("expand").rows_out == 50 * 1000);
      }
}

TEST_CASE("Two regroups behind each other, of which both make more than they get, finish within the budget") {
  for (const int threads : {1, 4}) {
    ToyRun run;
    run.options.threads = threads;
    run.options.memory_bytes = budget;
    const ToyResult result = run(expanding("per_batch = 10, at_end = 20", R"(
[stages.again]
use = "toy_expand"
params = { per_batch = 4, at_end = 120 })"));
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == numbers(0, 100 * 1000));
    CHECK(result.run.statistics.memory_peak < budget + 6 * emitted_batch);
  }
}

TEST_CASE("A failure behind a regroup that waits for room ends the run") {
  for (const char* parameters : {"at_end = 2000", "per_batch = 100"})
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      ToyRun run;
      run.options.memory_bytes = budget;
      run.options.executor = executor;
      std::string toml = expanding(parameters);
      toml.insert(toml.find("jitter = true"), "throw_at = 40, ");
      const ToyResult result = run(toml);
      CHECK(result.run.state == RunState::failed);
      CHECK(result.run.stage == "map");
      CHECK(result.run.message == "the map was told to throw");
    }
}

TEST_CASE("A second interrupt ends a run that is in a regroup's finish()") {
  ToyRun run;
  std::thread killer;
  run.options.memory_bytes = budget;
  run.on_start = [&](Run& running) {
    killer = std::thread([&running] {
      while (running.snapshot().stages.size() < 4 || running.snapshot().stages[3].batches < 5)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      running.interrupt();
      running.interrupt();
    });
  };
  std::string toml = expanding("at_end = 1000000");
  const ToyResult result = run(toml);
  killer.join();
  CHECK(result.run.state == RunState::interrupted);
  CHECK(result.files.empty());
}

TEST_CASE("One emitted batch of each flow is always let in, and sources leave half of the budget from then on") {
  MemoryBudget small(1000, 10.0, 8);
  MemoryBudget::Flow& flow = small.add_flow();
  const auto source = small.acquire(100);
  const auto first = small.acquire_emitted(flow, 300);  // more than there is
  REQUIRE(first);
  MemoryBudget::PermitHandle second;
  std::thread waiting([&] { second = small.acquire_emitted(flow, 300); });
  while (small.in_flight() != 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(second);
  const_cast<MemoryBudget::PermitHandle&>(first).reset();
  waiting.join();
  CHECK(second);
}

TEST_CASE("Nobody waits for room in a run that has been given up") {
  MemoryBudget small(1000, 10.0, 1, [] { return true; });
  const auto held = small.acquire(10);
  CHECK(held);
  CHECK_FALSE(small.acquire(10));
}
