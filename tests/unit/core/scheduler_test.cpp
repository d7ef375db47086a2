// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const pipeline = R"(
[stages.source]
use = "toy_source"
params = { batches = 60, rows = 100 }
[stages.work]
use = "simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked" }
)";

std::uint64_t batches_on(const ToyResult& result, const std::string& device) {
  for (const ImplementationStatistics& i : result.stage("work").implementations)
    if (i.device == device) return i.batches;
  return 0;
}
std::uint64_t retries_on(const ToyResult& result, const std::string& device) {
  for (const ImplementationStatistics& i : result.stage("work").implementations)
    if (i.device == device) return i.retries;
  return 0;
}

std::string reference_output() {
  ToyRun run;
  run.options.executor = Executor::serial;
  return run(pipeline).files.at("out.txt");
}

}  // namespace

TEST_CASE("The same bytes on the CPU, on the accelerator, on both, and with two accelerators") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  for (const char* device : {"cpu", "simulated", "auto", "simulated:0"})
    for (const int devices : {1, 2}) {
      CAPTURE(device);
      accelerator().devices = devices;
      ToyRun run;
      run.options.device = device;
      const ToyResult result = run(pipeline);
      REQUIRE(result.run.state == RunState::finished);
      CHECK(result.files.at("out.txt") == expected);
      CHECK(accelerator().bytes_allocated == 0);
      if (std::string_view(device) == "cpu") CHECK(batches_on(result, "cpu") == 60);
      if (std::string_view(device) == "simulated") CHECK(batches_on(result, "cpu") == 0);
    }
}

TEST_CASE("An implementation that declines the instance's parameters is never used, and a stage that may use no other says so") {
  const FreshAccelerator fresh;
  std::string cpu_only = pipeline;
  const std::string use = "use = \"simulated_work\"";
  cpu_only.replace(cpu_only.find(use), use.size(), use + "\nparams.cpu_only = true");
  for (const char* device : {"auto", "simulated"}) {
    ToyRun run;
    run.options.device = device;
    const ToyResult result = run(cpu_only);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(batches_on(result, "cpu") == 60);
  }
  ToyRun run;
  std::string accelerator_only = cpu_only;
  accelerator_only.replace(accelerator_only.find(use), use.size(), use + "\ndevice = \"simulated\"");
  const ToyResult refused = run(accelerator_only);
  CHECK(refused.run.state == RunState::failed);
  CHECK(refused.run.message.find("can do what the parameters ask for") != std::string::npos);
}

// How much each does is asked in virtual time: makespan_test.cpp.
TEST_CASE("The same bytes with a fast accelerator and with a slow one") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  for (const double speed : {20.0, 0.02}) {
    CAPTURE(speed);
    accelerator().seconds_per_work = 2e-5;
    accelerator().speed = speed;
    ToyRun run;
    run.options.device = "auto";
    const ToyResult result = run(pipeline);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
  }
}

TEST_CASE("Divided batches: the same bytes, with every kind of fault in their parts, and no row lost or done twice") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  accelerator().seconds_per_work = 1e-4;
  accelerator().speed = 1;
  for (const int devices : {1, 3})
    for (const int fault : {0, 1, 2, 3}) {
      CAPTURE(devices);
      CAPTURE(fault);
      accelerator().devices = devices;
      accelerator().calls = 0;
      accelerator().fail_kernel_every = fault == 1 ? 3 : 0;
      accelerator().fail_memory_every = fault == 2 ? 3 : 0;
      accelerator().lost_after = fault == 3 ? 6 : -1;
      ToyRun run;
      run.options.device = "auto";
      run.options.threads = 1;
      // One batch at a time is under way, so that dividing is the only way to use both.
      run.options.executor = Executor::serial;
      const ToyResult result = run(pipeline);
      CAPTURE(result.run.message);
      REQUIRE(result.run.state == RunState::finished);
      CHECK(result.files.at("out.txt") == expected);
      CHECK(result.stage("work").rows_in == 6000);
      CHECK(accelerator().bytes_allocated == 0);
      std::uint64_t divided = 0;
      for (const StageDecisions& stage : result.run.statistics.scheduler.stages) divided += stage.divided;
      CHECK(divided >= 1);
      if (fault == 3) CHECK(result.run.statistics.scheduler.lanes.back().retired);
      CHECK(result.run.statistics.scheduler.refused_choices == 0);
    }
}

TEST_CASE("The same bytes with every policy") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  accelerator().devices = 2;
  for (const std::string& policy : policy_names()) {
    CAPTURE(policy);
    ToyRun run;
    run.options.device = "auto";
    run.options.policy = policy;
    const ToyResult result = run(pipeline);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
  }
}

TEST_CASE("Rows above device_max_row_work are done on the CPU") {
  const FreshAccelerator fresh;
  ToyRun run;
  run.options.device = "auto";
  std::string text = pipeline;
  text.insert(text.find("[stages.sink]"), "device_max_row_work = 0.5\n");
  const ToyResult result = run(text);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(batches_on(result, "cpu") == 60);
  CHECK(batches_on(result, "simulated:0") == 0);
  CHECK(result.files.at("out.txt") == reference_output());
}

TEST_CASE("A thousand batches on four devices leave nothing on them") {
  const FreshAccelerator fresh;
  accelerator().devices = 4;
  ToyRun run;
  run.options.device = "simulated";
  std::string text = pipeline;
  text.replace(text.find("batches = 60"), 12, "batches = 1000");
  const ToyResult result = run(text);
  REQUIRE(result.run.state == RunState::finished);
  std::uint64_t batches = 0;
  for (const PlacementStatistics& placement : result.run.statistics.scheduler.placements) batches += placement.whole_batches;
  CHECK(batches == 1000);
  CHECK(accelerator().bytes_allocated == 0);
}

TEST_CASE("Kernel faults and a full device: those batches are done on the CPU, with the same bytes, and counted") {
  const FreshAccelerator fresh;
  // So many that the device has several calls, however busy the machine is.
  std::string many = pipeline;
  many.replace(many.find("batches = 60"), 12, "batches = 900");
  ToyRun on_cpu;
  on_cpu.options.device = "cpu";
  const std::string expected = on_cpu(many).files.at("out.txt");
  accelerator().fail_kernel_every = 2;
  accelerator().fail_memory_every = 3;
  ToyRun run;
  run.options.device = "auto";
  const ToyResult result = run(many);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == expected);
  CHECK(retries_on(result, "simulated:0") > 0);
  CHECK(accelerator().bytes_allocated == 0);
}

TEST_CASE("A device lost in the middle is retired and the run finishes on the CPU") {
  const FreshAccelerator fresh;
  // So many that the device has a second call, however busy the machine is.
  std::string many = pipeline;
  many.replace(many.find("batches = 60"), 12, "batches = 900");
  ToyRun on_cpu;
  on_cpu.options.device = "cpu";
  const std::string expected = on_cpu(many).files.at("out.txt");
  accelerator().lost_after = 1;
  accelerator().calls = 0;
  ToyRun run;
  run.options.device = "auto";
  const ToyResult result = run(many);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == expected);
  const auto& decisions = result.run.statistics.decisions;
  CHECK(std::any_of(decisions.begin(), decisions.end(), [](const std::string& text) { return text.find("retired") != std::string::npos; }));
}

TEST_CASE("A device with room for a quarter of a batch does it in four parts") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  // A batch is 100 rows of 8 bytes, in and out.
  accelerator().memory_bytes = 500;
  ToyRun run;
  run.options.device = "simulated";
  const ToyResult result = run(pipeline);
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == expected);
  CHECK(batches_on(result, "simulated:0") == 60);
  CHECK(retries_on(result, "simulated:0") >= 60);
  CHECK(accelerator().bytes_allocated == 0);
}

TEST_CASE("A device without room for one row: everything is done on the CPU") {
  const FreshAccelerator fresh;
  const std::string expected = reference_output();
  accelerator().memory_bytes = 12;
  ToyRun run;
  run.options.device = "auto";
  const ToyResult result = run(pipeline);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(result.files.at("out.txt") == expected);
  CHECK(batches_on(result, "simulated:0") == 0);
}

TEST_CASE("The only device that may be used is lost: the run fails and says so") {
  const FreshAccelerator fresh;
  accelerator().lost_after = 3;
  accelerator().calls = 0;
  ToyRun run;
  run.options.device = "simulated";
  const ToyResult result = run(pipeline);
  CHECK(result.run.state == RunState::failed);
  CHECK(result.run.remedy.find("--device auto") != std::string::npos);
}
