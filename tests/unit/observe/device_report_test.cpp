// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What a run with devices says of them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "device/device_activity.hpp"
#include "unit/observe/trace_text.hpp"

using namespace sluice;

TEST_CASE("a device is busy while at least one call is under way") {
  DeviceActivity activity;
  activity.begin_call();
  activity.begin_call();
  activity.end_call();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(activity.statistics().busy_seconds >= 0.002);
  activity.end_call();
  const double busy = activity.statistics().busy_seconds;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(activity.statistics().busy_seconds == busy);
  CHECK(activity.statistics().calls == 2);
}

TEST_CASE("copies, memory and faults are counted by kind") {
  DeviceActivity activity;
  std::uint64_t seen = 0;
  activity.observe_copies([&](const CopyEvent& copy) { seen += copy.bytes; });
  activity.copied({CopyDirection::to_device, 100, 0.5});
  activity.copied({CopyDirection::to_host, 30, 0.25});
  activity.uses(70);
  activity.uses(50);
  activity.failed(SLUICE_ERROR_DEVICE_MEMORY);
  activity.failed(SLUICE_ERROR_DEVICE_KERNEL);
  activity.failed(SLUICE_ERROR_DEVICE_KERNEL);
  activity.failed(SLUICE_ERROR_INPUT);
  const DeviceStatistics s = activity.statistics();
  CHECK(seen == 130);
  CHECK(s.bytes_to_device == 100);
  CHECK(s.bytes_to_host == 30);
  CHECK(s.copies == 2);
  CHECK(s.copy_seconds == 0.75);
  CHECK(s.memory_peak == 70);
  CHECK(s.faults.memory == 1);
  CHECK(s.faults.kernel == 2);
  CHECK(s.faults.lost == 0);
}

TEST_CASE("streams of a device are named tracks of its process, and copies are events of their own kind") {
  const auto trace = nlohmann::json::parse(trace_text("m", {{"align", "cpu", 4, 0, 1, 0, 10},
                                                            {"align", "cuda:0", 1, 0, 5, 1, 10, "stream 1", 0},
                                                            {"to device for align", "cuda:0", 0, 1, 2, 1, 10, "stream 1", 4096},
                                                            {"align", "cuda:0", 2, 0, 5, 2, 10, "stream 0", 0}}));
  std::map<std::string, nlohmann::json> names;
  std::vector<nlohmann::json> events;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "M")
      names[event["args"]["name"]] = event;
    else
      events.push_back(event);
  REQUIRE(names.size() == 4);
  CHECK(names["stream 0"]["name"] == "thread_name");
  CHECK(names["stream 0"]["pid"] == names["cuda:0"]["pid"]);
  REQUIRE(events.size() == 4);
  CHECK(events[0]["tid"] == 4);
  CHECK(events[1]["tid"] == names["stream 1"]["tid"]);
  CHECK(events[2]["tid"] == names["stream 1"]["tid"]);
  CHECK(events[2]["cat"] == "copy");
  CHECK(events[2]["args"]["bytes"] == 4096);
  CHECK(events[3]["tid"] != 4);
}
