// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Faults that the host makes on purpose, on the simulated accelerator: the bytes stay the same, and the report counts what happened.
#include <doctest/doctest.h>

#include <algorithm>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>

#include "batch/batch.hpp"
#include "device/device_column.hpp"
#include "device/device_fault.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const pipeline = R"(
[stages.source]
use = "toy_source"
params = { batches = 60, rows = 4 }
[stages.work]
use = "simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked" }
)";

// It takes no time.
struct Accelerator : FreshAccelerator {
  Accelerator() { accelerator().seconds_per_work = accelerator().seconds_per_copy = 0; }
};

std::string bytes_without_device() {
  ToyRun run;
  return run(pipeline).files.at("out.txt");
}

ToyResult run_with(const std::string& device, std::initializer_list<const char*> faults, Executor executor = Executor::flow_graph) {
  ToyRun run;
  run.options.device = device;
  run.options.executor = executor;
  for (const char* fault : faults) run.options.device_faults.push_back(*parse_device_fault(fault));
  return run(pipeline);
}

}  // namespace

TEST_CASE("A rule of faults says which, when first, and how often") {
  const auto rule = parse_device_fault("memory@3,every=5");
  REQUIRE(rule);
  CHECK(rule->fault == DeviceFault::memory);
  CHECK(rule->first == 3);
  CHECK(rule->every == 5);
  CHECK(parse_device_fault("kernel@1")->every == 0);
  CHECK(parse_device_fault("lost@12")->fault == DeviceFault::lost);
  for (const char* bad : {"", "@", "memory", "memory@", "memory@0", "memory@-1", "fire@1", "kernel@1,every=", "kernel@1,every=0", "kernel@2x",
                          "kernel@1,each=2", "kernel@99999999999999999999"})
    CHECK_MESSAGE(!parse_device_fault(bad), bad);
  DeviceFaultInjector injector({*rule});
  std::string faulty;
  for (int call = 1; call <= 20; ++call) faulty += injector.next_call() ? '!' : '.';
  CHECK(faulty == "..!....!....!....!..");
}

TEST_CASE("Out of memory, kernel errors and their mix change no byte, and are counted") {
  const Accelerator calm;
  const std::string expected = bytes_without_device();
  for (const char* device : {"simulated", "auto"})
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(device);
      const ToyResult memory = run_with(device, {"memory@1"}, executor);
      REQUIRE(memory.run.state == RunState::finished);
      CHECK(memory.files.at("out.txt") == expected);
      // With auto the run may end before the device is open.
      if (std::string_view(device) == "simulated") {
        REQUIRE(memory.run.statistics.devices.size() == 1);
        CHECK(memory.run.statistics.devices[0].faults.memory == 1);
      }
      CHECK(accelerator().bytes_allocated == 0);
    }
  const ToyResult kernel = run_with("auto", {"kernel@2", "memory@1,every=3"});
  REQUIRE(kernel.run.state == RunState::finished);
  CHECK(kernel.files.at("out.txt") == expected);
  CHECK(accelerator().bytes_allocated == 0);
}

TEST_CASE("A device that is lost in the middle leaves the rest to the CPU") {
  const Accelerator calm;
  const std::string expected = bytes_without_device();
  for (const char* fault : {"lost@1", "lost@2", "lost@9"}) {
    CAPTURE(fault);
    const ToyResult result = run_with("auto", {fault});
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
  }
  const ToyResult alone = run_with("simulated", {"lost@1"});
  REQUIRE(alone.run.statistics.devices.size() == 1);
  CHECK(alone.run.statistics.devices[0].faults.lost >= 1);
}

TEST_CASE("A chain of device stages gives the same bytes whenever the device is lost") {
  const Accelerator calm;
  const char* const chain = R"(
[stages.source]
use = "toy_source"
params = { batches = 30, rows = 4 }
[stages.work]
use = "simulated_work"
[stages.again]
use = "second_simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked_again" }
)";
  ToyRun on_cpu;
  const std::string expected = on_cpu(chain).files.at("out.txt");
  for (std::uint64_t call = 1; call <= 24; ++call) {
    CAPTURE(call);
    ToyRun run;
    run.options.device = "auto";
    run.options.executor = call % 2 == 0 ? Executor::serial : Executor::flow_graph;
    run.options.device_faults = {{DeviceFault::lost, call, 0}};
    const ToyResult result = run(chain);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("Branches that meet again give the same bytes whenever the device is lost, also in parts of batches") {
  const Accelerator calm;
  // Slow enough that batches are divided.
  accelerator().seconds_per_work = 1e-5;
  const char* const branches = R"(
[stages.source]
use = "toy_source"
params = { batches = 20, rows = 40 }
[stages.work]
use = "simulated_work"
[stages.again]
use = "second_simulated_work"
inputs = ["work"]
[stages.other]
use = "toy_other"
inputs = ["work"]
[stages.sink]
use = "toy_sink"
inputs = ["again", "other"]
params = { output = "${folder}/out.txt", column = "worked_again" }
)";
  ToyRun on_cpu;
  const std::string expected = on_cpu(branches).files.at("out.txt");
  int made_again = 0;
  for (std::uint64_t call = 1; call <= 16; ++call) {
    CAPTURE(call);
    ToyRun run;
    run.options.device = "auto";
    run.options.threads = 1 + static_cast<int>(call % 3);
    run.options.executor = call % 2 == 0 ? Executor::serial : Executor::flow_graph;
    run.options.device_faults = {{DeviceFault::lost, call, 0}};
    const ToyResult result = run(branches);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
    made_again +=
        std::any_of(result.log.begin(), result.log.end(), [](const std::string& line) { return line.find("is made again") != std::string::npos; });
  }
  if (made_again == 0) MESSAGE("the device opened too late every time");
}

TEST_CASE("What one stage left on a device that is lost in the next stage is made again on the CPU") {
  const Accelerator calm;
  ToyRun run;
  run.options.device = "auto";
  run.options.executor = Executor::serial;
  // One batch: the device's first call makes what the second one, if the scheduler tries it there, can't read any more.
  run.options.device_faults = {{DeviceFault::lost, 2, 0}};
  const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 1, rows = 4 }
[stages.work]
use = "simulated_work"
device = "simulated"
[stages.again]
use = "second_simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked_again" }
)");
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  CHECK(std::count(result.files.at("out.txt").begin(), result.files.at("out.txt").end(), '\n') == 4);
  bool made_again = false;
  for (const std::string& line : result.log) made_again = made_again || line.find("is made again on the CPU") != std::string::npos;
  if (!made_again) MESSAGE("the scheduler did not try the device for the second stage");
}

TEST_CASE("Results that don't come back from a device are made again on the CPU") {
  const Accelerator calm;
  const std::string expected = bytes_without_device();
  for (const sluice_status status : {SLUICE_ERROR_DEVICE_MEMORY, SLUICE_ERROR_DEVICE_KERNEL, SLUICE_ERROR_DEVICE_LOST}) {
    CAPTURE(status);
    accelerator().fetch_status = status;
    const ToyResult result = run_with("auto", {});
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("A column that lay only on a lost device is made again from its origin") {
  const Accelerator calm;
  struct Origin : ColumnOrigin {
    int asked = 0;
    ColumnHandle made;
    ColumnHandle make_again(const std::string&) override { return ++asked, made; }
    std::vector<ColumnHandle> keeps() const override { return {made}; }
  };
  const auto number = [](std::int64_t value) {
    Buffer buffer = Buffer::allocate({}, sizeof value);
    buffer.as<std::int64_t>()[0] = value;
    return detail::make_array(1, std::move(buffer), {}, 2);
  };
  const auto device = Device::open(*toy_registry().device_providers().front(), 0, 0);
  DeviceStream& stream = device->open_stream("stream 0");
  const auto on_device = [&] {
    ArrowArray host = number(7);
    auto copy = std::make_unique<DeviceColumn>(upload(stream, "i64", {&host}));
    host.release(&host);
    return std::make_shared<Column>("x", "i64", detail::make_schema("l"), std::move(copy));
  };
  const auto origin = std::make_shared<Origin>();
  origin->made = std::make_shared<Column>("x", "i64", detail::make_schema("l"), number(42));
  const auto fetched = on_device();
  fetched->remember(origin);
  CHECK(*static_cast<const std::int64_t*>(fetched->host().buffers[1]) == 7);
  CHECK(origin->asked == 0);
  CHECK(origin.use_count() == 1);  // not needed any more
  CHECK(fetched->kept_for_origin().empty());
  // The device is there, but the column does not come back.
  for (const sluice_status status : {SLUICE_ERROR_DEVICE_MEMORY, SLUICE_ERROR_DEVICE_KERNEL}) {
    const auto stuck = on_device(), without_origin = on_device();
    stuck->remember(origin);
    accelerator().fetch_status = status;
    CHECK(*static_cast<const std::int64_t*>(stuck->host().buffers[1]) == 42);
    CHECK_THROWS_AS(without_origin->host(), Failure);
    accelerator().fetch_status = SLUICE_OK;
  }
  origin->asked = 0;
  const auto lost = on_device(), forgotten = on_device();
  lost->remember(origin);
  CHECK(lost->kept_for_origin() == std::vector<ColumnHandle>{origin->made});
  device->lose();
  CHECK(*static_cast<const std::int64_t*>(lost->host().buffers[1]) == 42);
  CHECK(origin->asked == 1);
  CHECK_THROWS_AS(forgotten->host(), Failure);
}

TEST_CASE("With --device of the lost device alone the run says what to do") {
  const Accelerator calm;
  const ToyResult result = run_with("simulated", {"lost@5"});
  CHECK(result.run.state == RunState::failed);
  CHECK(result.run.remedy == "allow the CPU: --device auto");
  CHECK(result.run.message.find("simulated:0 is gone") != std::string::npos);  // and why it has come to that
  CHECK(result.files.empty());
}

TEST_CASE("The report knows calls, copies, memory and time of a device") {
  const Accelerator calm;
  const ToyResult result = run_with("simulated", {});
  REQUIRE(result.run.statistics.devices.size() == 1);
  const DeviceStatistics& device = result.run.statistics.devices[0];
  CHECK(device.name == "simulated:0");
  CHECK(device.model == "simulated accelerator");
  CHECK(device.calls == result.stage("work").batches);  // some of them of several batches
  CHECK(device.calls > 0);
  CHECK(device.bytes_to_device == 60 * 4 * 8);
  CHECK(device.bytes_to_host == 60 * 4 * 8);
  CHECK(device.copies == 2 * device.calls);
  CHECK(device.memory_peak >= 2 * 4 * 8);
  CHECK(device.memory_limit == std::uint64_t{1} << 30);
  CHECK(device.busy_seconds > 0);
  CHECK(device.busy_seconds <= result.run.statistics.elapsed_seconds);
  std::uint64_t moved_for_work = 0;
  for (const ImplementationStatistics& implementation : result.stage("work").implementations) moved_for_work += implementation.bytes_moved;
  CHECK(moved_for_work == 60 * 4 * 8);
}

TEST_CASE("A thousand batches leave nothing behind on the device") {
  const Accelerator calm;
  for (const int batches : {100, 1000}) {
    ToyRun run;
    run.options.device = "simulated";
    run.options.device_faults = {*parse_device_fault("memory@7,every=11"), *parse_device_fault("kernel@1000000")};
    std::string text = pipeline;
    text.replace(text.find("batches = 60"), 12, "batches = " + std::to_string(batches));
    const ToyResult result = run(text);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(accelerator().bytes_allocated == 0);
    // Batches in flight differ from run to run, and there are never a thousand: if nothing were given back all of them would be there at the end.
    if (batches == 1000) CHECK(result.run.statistics.devices[0].memory_peak < 1000 * 2 * 4 * sizeof(std::int64_t));
  }
}

TEST_CASE("A trace has the device's streams as tracks, with copies inside their calls") {
  const Accelerator calm;
  ToyRun run;
  run.options.device = "simulated";
  Events events;
  run.options.listener = &events;
  const ToyResult result = run(pipeline);
  std::size_t calls = 0, copies_in_calls = 0, copies = 0;
  for (const TraceEvent& event : events.trace) {
    if (event.lane != "simulated:0") continue;
    CHECK_FALSE(event.track.empty());
    if (event.bytes == 0) {
      CHECK(event.track.starts_with("stream "));
      ++calls;
      continue;
    }
    ++copies;
    for (const TraceEvent& call : events.trace)
      if (call.bytes == 0 && call.lane == event.lane && call.track == event.track && call.sequence == event.sequence &&
          call.start_us <= event.start_us + 1 && event.start_us + event.duration_us <= call.start_us + call.duration_us + 1)
        ++copies_in_calls;
  }
  CHECK(calls == result.stage("work").batches);
  CHECK(copies == 2 * calls);
  CHECK(copies_in_calls == calls);  // those to the device; results come back on a stream of their own, beside the next call
}
