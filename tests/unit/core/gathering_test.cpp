// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Several batches in one call on a device, and stages that are placed as one: the bytes, the account and the order are those of single calls.
#include <doctest/doctest.h>

#include <algorithm>

#include "device/device_fault.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const chain = R"(
[stages.source]
use = "toy_source"
params = { batches = 200, rows = 3 }
[stages.work]
use = "simulated_work"
[stages.again]
use = "second_simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked_again" }
)";

// Calls take their time, so that batches wait.
class BusyAccelerator : public FreshAccelerator {
 public:
  BusyAccelerator() {
    accelerator().seconds_per_work = 2e-4;
    accelerator().speed = 1;
  }
};

ToyResult run_with(const std::string& device, const char* fault = nullptr) {
  ToyRun run;
  run.options.device = device;
  run.options.threads = 2;
  if (fault != nullptr) run.options.device_faults.push_back(*parse_device_fault(fault));
  return run(chain);
}

std::uint64_t gathered_calls(const ToyResult& result) {
  std::uint64_t calls = 0;
  for (const PlacementStatistics& placement : result.run.statistics.scheduler.placements) calls += placement.gathered_calls;
  return calls;
}

}  // namespace

TEST_CASE("Batches that wait for a device go there together, through all stages that it does, and come back as they were") {
  const BusyAccelerator busy;
  const std::string expected = run_with("cpu").files.at("out.txt");
  const ToyResult gathered = run_with("simulated");
  REQUIRE(gathered.run.state == RunState::finished);
  CHECK(gathered.files.at("out.txt") == expected);
  CHECK(gathered_calls(gathered) > 0);
  // Both stages have done every row, in fewer calls than there are batches.
  for (const char* stage : {"work", "again"}) {
    CHECK(gathered.stage(stage).rows_in == 600);
    CHECK(gathered.stage(stage).rows_out == 600);
    CHECK(gathered.stage(stage).batches < 200);
  }
  CHECK(accelerator().bytes_allocated == 0);
  CHECK(accelerator().read_after_free == 0);
  CHECK(accelerator().wrong_devices == 0);
}

TEST_CASE("A fault in a call of many batches loses none of them") {
  const BusyAccelerator busy;
  const std::string expected = run_with("cpu").files.at("out.txt");
  for (const char* device : {"simulated", "auto"})
    for (const char* fault : {"memory@5,every=5", "memory@20"}) {
      CAPTURE(device);
      CAPTURE(fault);
      const ToyResult result = run_with(device, fault);
      CAPTURE(result.run.message);
      REQUIRE(result.run.state == RunState::finished);
      CHECK(result.files.at("out.txt") == expected);
    }
  for (const char* fault : {"kernel@5,every=3", "kernel@12", "lost@6", "lost@13", "lost@30"}) {
    CAPTURE(fault);
    const ToyResult result = run_with("auto", fault);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
    CHECK(accelerator().read_after_free == 0);
  }
}

TEST_CASE("Large calls of many batches") {
  const BusyAccelerator busy;
  accelerator().seconds_per_work = 2e-7;
  std::string large = chain;
  large.replace(large.find("batches = 200, rows = 3"), 23, "batches = 60, rows = 9000");
  ToyRun on_cpu;
  const std::string expected = on_cpu(large).files.at("out.txt");
  for (const char* fault : {"", "memory@4,every=7", "kernel@3,every=5", "lost@9"}) {
    CAPTURE(fault);
    ToyRun run;
    run.options.device = "auto";
    run.options.threads = 1;
    if (*fault != '\0') run.options.device_faults.push_back(*parse_device_fault(fault));
    const ToyResult result = run(large);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
    CHECK(accelerator().read_after_free == 0);
  }
}
