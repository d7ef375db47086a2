// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Stages that keep state between batches.
#include <doctest/doctest.h>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

std::string running_sums(std::int64_t count, std::int64_t begins_afresh_at = 0) {
  std::string text;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == begins_afresh_at) sum = 0;
    text += std::to_string(sum += i) + "\n";
  }
  return text;
}

std::string on_accelerator(const char* stage) {
  return std::string(R"(
[stages.source]
use = "toy_source"
params = { batches = 40, rows = 5 }
[stages.sum]
use = ")") +
         stage + R"("
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "running" }
)";
}

}  // namespace

TEST_CASE("An ordered stage gets batches that overtook each other one at a time and in order") {
  in_each_form({1, 2, 7}, R"(
[stages.source]
use = "toy_source"
params = { batches = 200, rows = 3 }
[stages.map]
use = "toy_map"
params = { milliseconds = 0.2, jitter = true }
[stages.sum]
use = "toy_running_sum"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "running" }
)",
               [](const ToyResult& result) { CHECK(result.files.at("out.txt") == running_sums(600)); });
}

TEST_CASE("An ordered stage that fails while batches wait for it ends the run") {
  for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
    ToyRun run;
    run.options.threads = 4;
    run.options.executor = executor;
    const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 200, rows = 3 }
[stages.map]
use = "toy_map"
params = { milliseconds = 1, jitter = true }
[stages.sum]
use = "toy_running_sum"
params = { throw_at = 20, milliseconds = 1 }
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "running" }
)");
    CHECK(result.run.state == RunState::failed);
    CHECK(result.run.stage == "sum");
    CHECK(result.run.message == "the running sum was told to throw");
  }
}

TEST_CASE("An ordered stage stays on the device for the whole run, with its state") {
  const FreshAccelerator one;
  for (const char* device : {"simulated", "auto"})
    for (const Executor executor : {Executor::flow_graph, Executor::serial})
      for (const char* stage : {"simulated_sum", "simulated_restartable_sum"}) {
        CAPTURE(device);
        ToyRun run;
        run.options.threads = 3;
        run.options.device = device;
        run.options.executor = executor;
        const ToyResult result = run(on_accelerator(stage));
        CAPTURE(result.run.message);
        REQUIRE(result.run.state == RunState::finished);
        CHECK(result.files.at("out.txt") == running_sums(200));
        REQUIRE(result.stage("sum").implementations.size() == 1);
        CHECK(result.stage("sum").implementations[0].device == "simulated:0");
        CHECK(accelerator().bytes_allocated == 0);
      }
}

TEST_CASE("With several devices an ordered stage uses the first one, or the one that the file names") {
  const FreshAccelerator settings;
  accelerator().devices = 3;
  for (const char* name : {"", "simulated:2"}) {
    ToyRun run;
    run.options.device = "auto";
    std::string toml = on_accelerator("simulated_sum");
    if (*name != '\0') toml.insert(toml.find("[stages.sink]"), std::string("device = \"") + name + "\"\n");
    const ToyResult result = run(toml);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == running_sums(200));
    REQUIRE(result.stage("sum").implementations.size() == 1);
    CHECK(result.stage("sum").implementations[0].device == (*name == '\0' ? "simulated:0" : name));
  }
}

TEST_CASE("A device that is lost takes the state of an ordered stage with it: the run says so") {
  const FreshAccelerator one;
  for (const bool kernel_fault : {false, true}) {
    accelerator().calls = 0;
    (kernel_fault ? accelerator().fail_kernel_every : accelerator().lost_after) = 11;
    ToyRun run;
    run.options.device = "auto";
    const ToyResult result = run(on_accelerator("simulated_sum"));
    CHECK(result.run.state == RunState::failed);
    CHECK(result.run.stage == "sum");
    CAPTURE(result.run.message);
    CHECK(result.run.message.find("what this stage remembers of earlier batches") != std::string::npos);
    CHECK(result.run.remedy.find("device = \"cpu\"") != std::string::npos);
    accelerator().fail_kernel_every = 0;
    accelerator().lost_after = -1;
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("A restartable stage begins afresh on the CPU with the batch that the device lost") {
  const FreshAccelerator one;
  accelerator().lost_after = 11;
  for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
    accelerator().calls = 0;
    ToyRun run;
    run.options.threads = 3;
    run.options.device = "auto";
    run.options.executor = executor;
    const ToyResult result = run(on_accelerator("simulated_restartable_sum"));
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == running_sums(200, 11 * 5));
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("A restartable stage that may not use the CPU says how it could") {
  const FreshAccelerator one;
  accelerator().lost_after = 11;
  ToyRun run;
  run.options.device = "simulated";
  const ToyResult result = run(on_accelerator("simulated_restartable_sum"));
  CHECK(result.run.state == RunState::failed);
  CHECK(result.run.stage == "sum");
  CHECK(result.run.remedy.find("--device auto") != std::string::npos);
}
