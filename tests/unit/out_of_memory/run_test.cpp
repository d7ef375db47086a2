// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Whichever allocation of a run fails, the run ends, with the bytes of any other run or with the words for it.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "device/device_opening.hpp"
#include "unit/core/toy_run.hpp"
#include "unit/out_of_memory/failing_allocations.hpp"

using namespace sluice;
using namespace sluice::testing_core;
using sluice::testing_memory::FailingAllocations;

namespace {

const char* const chain = R"(
[stages.source]
use = "toy_source"
params = { batches = 24, rows = 4 }
[stages.work]
use = "simulated_work"
[stages.again]
use = "second_simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked_again" }
)";

const char* const branches = R"(
[stages.source]
use = "toy_source"
params = { batches = 12, rows = 40 }
[stages.work]
use = "simulated_work"
[stages.sum]
use = "simulated_restartable_sum"
inputs = ["source"]
[stages.sink]
use = "toy_sink"
inputs = ["work", "sum"]
params = { output = "${folder}/out.txt", column = "running" }
)";

struct Form {
  const char* pipeline;
  const char* device;
  Executor executor;
  long failures;  // allocations that fail, one after the other
};

// Has the stage that keeps a sum lost it with a device? It begins afresh then, and says so: its bytes are others.
bool began_afresh(const RunStatistics& run) {
  return std::any_of(run.stages.begin(), run.stages.end(), [](const StageStatistics& stage) {
    return stage.name == "sum" &&
           std::any_of(stage.implementations.begin(), stage.implementations.end(), [](const ImplementationStatistics& on) { return on.retries > 0; });
  });
}

// Every allocation at first, then each that is 6 % further: what a run does for a batch it does for all.
void check_all_ends(const Form& form) {
  CAPTURE(std::string(form.device));
  CAPTURE(form.failures);
  std::string expected;
  long ended = 0, finished = 0;
  bool reached = true;
  for (long first = -1; reached; first += 1 + first / 16) {
    CAPTURE(first);
    ToyRun run;
    run.options.device = form.device;
    run.options.executor = form.executor;
    run.options.log = nullptr;
    std::optional<FailingAllocations> failing;
    // From the beginning of the run to its end. What the test itself does behind it is no part of it.
    bool has_failed = false;
    const auto stop_failing = [&] {
      has_failed = failing && failing->have_failed();
      failing.reset();
    };
    if (first >= 0) {
      run.on_start = [&](Run&) { failing.emplace(first, form.failures); };
      run.on_end = stop_failing;
    }
    ToyResult result;
    try {
      result = run(form.pipeline);
    } catch (const std::bad_alloc&) {
      stop_failing();
      result.run.state = RunState::failed;
      result.run.status = SLUICE_ERROR_MEMORY;
    }
    reached = first < 0 || has_failed;
    while (devices_are_opening()) std::this_thread::yield();  // one that came too late goes behind the run
    CHECK(accelerator().bytes_allocated == 0);
    if (result.run.state == RunState::finished) {
      ++finished;
      if (first < 0) expected = result.files.at("out.txt");
      if (result.files.count("out.txt") > 0 && !began_afresh(result.run.statistics)) CHECK(result.files.at("out.txt") == expected);
      continue;
    }
    ++ended;
    CAPTURE(result.run.message);
    CHECK(result.run.state == RunState::failed);
    // A device that could not be opened for want of memory is one that is not there; one without memory for its own lists is full.
    const sluice_status status = result.run.status;
    CHECK((status == SLUICE_ERROR_MEMORY ||
           (std::string_view(form.device) != "cpu" && (status == SLUICE_ERROR_DEVICE_LOST || status == SLUICE_ERROR_DEVICE_MEMORY))));
    CHECK(result.files.count("out.txt") == 0);
  }
  CHECK(ended > 0);
  CHECK(finished > 0);
}

void check_on(const char* device) {
  for (const char* pipeline : {chain, branches}) {
    check_all_ends({pipeline, device, Executor::serial, 1});
    for (const long failures : {1L, 40L}) check_all_ends({pipeline, device, Executor::flow_graph, failures});
  }
}

}  // namespace

TEST_CASE("A run with a device ends, whichever allocation fails") {
  const FreshAccelerator fresh;
  accelerator().seconds_per_work = accelerator().seconds_per_copy = 0;
  check_on("simulated");
}

TEST_CASE("A run that may use a device ends, whichever allocation fails") {
  const FreshAccelerator fresh;
  accelerator().seconds_per_work = accelerator().seconds_per_copy = 0;
  check_all_ends({branches, "auto", Executor::flow_graph, 1});
}

TEST_CASE("A run on the CPU ends, whichever allocation fails") { check_on("cpu"); }
