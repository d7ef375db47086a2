// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A device whose streams really defer shows what a device that is host memory hides: work that still runs when its call has failed, copies that
// have not arrived, the wrong device.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <sluice/column.hpp>
#include <sluice/failure.hpp>
#include <span>
#include <thread>
#include <utility>

#include "batch/batch.hpp"
#include "device/device_column.hpp"
#include "observe/run_history.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

const char* const pipeline = R"(
[stages.source]
use = "toy_source"
params = { batches = 80, rows = 50 }
[stages.work]
use = "simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked" }
)";

// So many devices, which take little time.
struct Accelerator : FreshAccelerator {
  explicit Accelerator(int devices) {
    accelerator().devices = devices;
    accelerator().seconds_per_work = accelerator().seconds_per_copy = 1e-6;
  }
};

std::string bytes_on_cpu() {
  ToyRun run;
  return run(pipeline).files.at("out.txt");
}

ArrowArray numbers_from(std::int64_t first, std::size_t count) {
  Buffer buffer = Buffer::allocate({}, count * sizeof(std::int64_t));
  const auto values = buffer.as<std::int64_t>();
  std::iota(values.begin(), values.end(), first);
  return detail::make_array(static_cast<std::int64_t>(count), std::move(buffer), {}, 2);
}

std::shared_ptr<Device> open_device(int ordinal) { return Device::open(*toy_registry().device_providers().front(), ordinal, 0); }

}  // namespace

TEST_CASE("A call that fails behind its kernel is waited for before its inputs are freed") {
  const std::string expected = bytes_on_cpu();
  for (const bool memory : {false, true}) {
    const Accelerator one(1);
    accelerator().seconds_per_work = 2e-6;  // the kernel is still at work when the call has failed
    accelerator().fail_behind_kernel = true;
    (memory ? accelerator().fail_memory_every : accelerator().fail_kernel_every) = 3;
    ToyRun run;
    run.options.device = memory ? "simulated" : "auto";  // a kernel's failure needs another lane
    const ToyResult result = run(pipeline);
    CAPTURE(result.run.message);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    CHECK(accelerator().read_after_free == 0);
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("Every call finds its own device current, whatever the device's library calls it") {
  const std::string expected = bytes_on_cpu();
  const Accelerator two(2);
  for (const char* device : {"simulated", "simulated:1"}) {
    ToyRun run;
    run.options.device = device;
    const ToyResult result = run(pipeline);
    REQUIRE(result.run.state == RunState::finished);
    CHECK(result.files.at("out.txt") == expected);
    std::uint64_t calls = 0;
    for (const DeviceStatistics& of : result.run.statistics.devices) calls += of.calls;
    CHECK(calls > 0);  // the devices did the work, some batches together
  }
  CHECK(accelerator().wrong_devices == 0);
}

TEST_CASE("A column goes from one device to its peer without the host, and arrives before it is used") {
  const Accelerator two(2);
  const auto first = open_device(0), second = open_device(1);
  CHECK(first->info().native_ordinal != second->info().native_ordinal);
  CHECK(first->info().native_ordinal != first->ordinal());
  DeviceStream &from = first->open_stream("stream 0"), &to = second->open_stream("stream 0");
  accelerator().seconds_per_copy = 0.02;  // nothing has arrived when the next is asked for
  ArrowArray host = numbers_from(100, 1000);
  auto column = std::make_shared<Column>("x", "i64", detail::make_schema("l"), std::make_unique<DeviceColumn>(upload(from, "i64", {&host})));
  host.release(&host);
  CHECK_FALSE(column->is_on_host());
  column->on(to);
  CHECK(column->is_on(*second));
  CHECK_FALSE(column->is_on_host());
  CHECK(accelerator().peer_copies == 1);
  const Device::StreamHandle stream = second->borrow_stream();
  const ArrowDeviceArray& there = column->on(*stream);
  std::vector<std::int64_t> seen(1000);
  stream->copy_out(seen.data(), there.array.buffers[1], seen.size() * sizeof(std::int64_t));
  CHECK(seen.front() == 100);
  CHECK(seen.back() == 1099);
  const auto* values = static_cast<const std::int64_t*>(column->host().buffers[1]);
  CHECK(values[999] == 1099);
}

namespace {

// The accelerator, but something is done before each copy to it.
std::function<void()> before_copy;
const sluice_device_provider& interrupted_provider() {
  static const auto copy = toy_registry().device_providers().front()->copy_to_device;
  static const sluice_device_provider provider = [] {
    sluice_device_provider p = *toy_registry().device_providers().front();
    p.copy_to_device = [](void* device, void* stream, void* destination, const void* source, std::size_t bytes, sluice_error* error) {
      if (before_copy) std::exchange(before_copy, nullptr)();
      return copy(device, stream, destination, source, bytes, error);
    };
    return p;
  }();
  return provider;
}

}  // namespace

TEST_CASE(
    "While a column is copied to one device another copies it, too, and whoever asks where it lies does not wait; a copy that fails is made again") {
  const Accelerator two(2);
  const auto first = Device::open(interrupted_provider(), 0, 0), second = Device::open(interrupted_provider(), 1, 0);
  DeviceStream &one = first->open_stream("stream 0"), &other = second->open_stream("stream 0");
  const Column column("x", "i64", detail::make_schema("l"), numbers_from(7, 1000));
  bool was_there = false;
  before_copy = [&] {
    std::thread([&] {
      column.on(other);
      was_there = column.is_on(*second) && !column.is_on(*first) && column.home() == second.get();
    }).join();
  };
  column.on(one);
  CHECK(was_there);
  CHECK(column.is_on(*first));
  const Column again("x", "i64", detail::make_schema("l"), numbers_from(7, 1000));
  before_copy = [] { throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "no room"); };
  CHECK_THROWS_AS(again.on(one), Failure);
  CHECK_FALSE(again.is_on(*first));
  again.on(one);
  CHECK(again.is_on(*first));
}

TEST_CASE("Columns larger than a slab of page-locked memory arrive whole, lists and text too") {
  const Accelerator one(1);
  const auto device = open_device(0);
  DeviceStream& stream = device->open_stream("stream 0");
  constexpr std::size_t count = 3'000'000;  // 24 MB: six slabs
  ArrowArray host = numbers_from(-5, count);
  {
    const DeviceColumn there = upload(stream, "i64", {&host});
    ArrowArray back = download(stream, "i64", there);
    CHECK(std::memcmp(back.buffers[1], host.buffers[1], count * sizeof(std::int64_t)) == 0);
    back.release(&back);
  }
  host.release(&host);
  Buffer ends = Buffer::allocate({}, 4 * sizeof(std::int64_t)), bytes = Buffer::allocate({}, 10);
  const std::int64_t offsets[] = {2, 5, 5, 10};  // a part of a batch: it begins in the middle
  std::memcpy(ends.data(), offsets, sizeof offsets);
  std::memcpy(bytes.data(), "xxGATTACA!", 10);
  ArrowArray text = detail::make_array(3, std::move(ends), std::move(bytes), 3);
  {
    const DeviceColumn there = upload(stream, "utf8", {&text});
    ArrowArray back = download(stream, "utf8", there);
    const auto* back_offsets = static_cast<const std::int64_t*>(back.buffers[1]);
    CHECK(std::vector<std::int64_t>(back_offsets, back_offsets + 4) == std::vector<std::int64_t>{0, 3, 3, 8});
    CHECK(std::string(static_cast<const char*>(back.buffers[2]), 8) == "GATTACA!");
    back.release(&back);
  }
  text.release(&text);
  CHECK(device->bytes_used() == 0);
}

TEST_CASE("Columns behind each other are one column on a device and on the host, whichever comes first") {
  const FreshAccelerator fresh;
  const auto device = open_device(0);
  DeviceStream& stream = device->open_stream("stream 0");
  // Lists of numbers: part p has p + 1 rows of 0, 70,000, 140,000 ... numbers, so that slabs end within parts, and some rows and a part are empty.
  std::vector<ColumnHandle> parts;
  std::vector<std::int64_t> expected_ends = {0}, expected;
  for (std::int64_t p = -1; p < 6; ++p) {
    std::vector<std::int64_t> ends = {0};
    for (std::int64_t row = 0; row <= p; ++row) ends.push_back(ends.back() + 70'000 * row);
    Buffer offsets = Buffer::allocate({}, ends.size() * sizeof(std::int64_t));
    std::memcpy(offsets.data(), ends.data(), offsets.bytes());
    ArrowArray array = detail::make_array(p + 1, std::move(offsets), {}, 2);
    auto* owner = static_cast<detail::ArrayOwner*>(array.private_data);
    owner->child = numbers_from(1'000'000 * p, static_cast<std::size_t>(ends.back()));
    owner->children[0] = &owner->child;
    array.n_children = 1;
    array.children = owner->children;
    for (std::int64_t i = 0; i < ends.back(); ++i) expected.push_back(1'000'000 * p + i);
    const std::int64_t before = expected_ends.back();
    for (std::size_t row = 1; row < ends.size(); ++row) expected_ends.push_back(before + ends[row]);
    parts.push_back(std::make_shared<Column>("x", "list<i64>", detail::make_schema("+L", "l"), array));
  }
  const auto is_whole = [&](const ArrowArray& array) {
    const auto* ends = static_cast<const std::int64_t*>(array.buffers[1]);
    REQUIRE(array.length + 1 == static_cast<std::int64_t>(expected_ends.size()));
    CHECK(std::vector<std::int64_t>(ends, ends + array.length + 1) == expected_ends);
    CHECK(std::memcmp(array.children[0]->buffers[1], expected.data(), expected.size() * sizeof(std::int64_t)) == 0);
  };
  for (const bool host_first : {false, true}) {
    CAPTURE(host_first);
    const Column column("x", "list<i64>", detail::make_schema("+L", "l"), parts);
    CHECK(column.rows() == 21);
    CHECK_FALSE(column.is_on_host());
    if (host_first) is_whole(column.host());
    column.on(stream);
    CHECK(column.is_on(*device));
    CHECK(column.is_on_host() == host_first);
    is_whole(column.host());
    column.leave(*device);
    CHECK(column.is_on_host());
    const DeviceColumn again = upload(stream, "list<i64>", {&column.host()});
    ArrowArray back = download(stream, "list<i64>", again);
    is_whole(back);
    back.release(&back);
  }
  stream.synchronize();
  CHECK(device->bytes_used() == 0);
}

TEST_CASE("Offsets that a kernel has written are looked at before anybody follows them") {
  const Accelerator one(1);
  const auto device = open_device(0);
  DeviceStream& stream = device->open_stream("stream 0");
  for (const std::vector<std::int64_t>& offsets : {std::vector<std::int64_t>{0, 900, 3}, {0, 2, 9}, {1, 2, 3}, {-4, 0, 3}}) {
    Buffer ends = Buffer::allocate({}, 3 * sizeof(std::int64_t)), bytes = Buffer::allocate({}, 3);
    const std::int64_t good[] = {0, 1, 3};
    std::memcpy(ends.data(), good, sizeof good);
    ArrowArray text = detail::make_array(2, std::move(ends), std::move(bytes), 3);
    const DeviceColumn there = upload(stream, "utf8", {&text});
    text.release(&text);
    stream.copy_in(const_cast<void*>(there.array.array.buffers[1]), {std::as_bytes(std::span(offsets))});
    CHECK_THROWS_AS(download(stream, "utf8", there), Failure);
  }
}

TEST_CASE("A device that is lost under an ordered stage does not leave other stages' batches waiting for it") {
  // On the old dispatcher this never ended: what waited for the device alone was not failed.
  for (const int lost_after : {0, 7, 30})
    for (const Executor executor : {Executor::flow_graph, Executor::serial}) {
      CAPTURE(lost_after);
      const Accelerator one(1);
      accelerator().seconds_per_work = 1e-5;
      accelerator().lost_after = lost_after;
      ToyRun run;
      run.options.device = "simulated";
      run.options.executor = executor;
      const ToyResult result = run(R"(
[stages.source]
use = "toy_source"
params = { batches = 200, rows = 50 }
[stages.sum]
use = "simulated_sum"
[stages.work]
use = "simulated_work"
[stages.sink]
use = "toy_sink"
params = { output = "${folder}/out.txt", column = "worked" }
[stages.other_sink]
use = "toy_sink"
inputs = ["sum"]
params = { output = "${folder}/sums.txt", column = "running" }
)");
      CHECK(result.run.state == RunState::failed);
      CHECK(result.run.status == SLUICE_ERROR_DEVICE_LOST);
      CHECK(result.files.empty());
      CHECK(accelerator().bytes_allocated == 0);
    }
}

TEST_CASE("A device that is lost in a run that has been given up does not keep it from ending") {
  for (const int lost_after : {5, 20, 60}) {
    const Accelerator one(1);
    accelerator().seconds_per_work = 2e-5;
    accelerator().lost_after = lost_after;
    ToyRun run;
    run.options.device = "simulated";
    std::thread killer;
    run.on_start = [&](Run& running) {
      killer = std::thread([&running] {
        while (running.snapshot().stages.empty() || running.snapshot().stages.front().batches < 10) std::this_thread::yield();
        running.interrupt();
        running.interrupt();
      });
    };
    std::string text = pipeline;
    text.replace(text.find("batches = 80"), 12, "batches = 5000");
    const ToyResult result = run(text);
    killer.join();
    CHECK((result.run.state == RunState::interrupted || result.run.state == RunState::failed));
    CHECK(result.files.empty());
    CHECK(accelerator().bytes_allocated == 0);
  }
}

TEST_CASE("What a device holds at a moment is sampled, beside the most that it held") {
  const Accelerator one(1);
  const std::shared_ptr<Device> device = open_device(0);
  void* const stream = device->open_stream("0").raw();
  const auto sampled = [&] {
    RunStatistics statistics;
    statistics.devices.push_back(device->statistics());
    return sample_of(statistics, 0).devices[0].memory_bytes;
  };
  CHECK(sampled() == 0);
  void *first = nullptr, *second = nullptr;
  REQUIRE(device->allocate(stream, 4096, &first) == SLUICE_OK);
  REQUIRE(device->allocate(stream, 1000, &second) == SLUICE_OK);
  CHECK(sampled() == 5096);
  device->free(first);
  CHECK(sampled() == 1000);
  device->free(second);
  CHECK(sampled() == 0);
  CHECK(device->statistics().memory_peak == 5096);
}
