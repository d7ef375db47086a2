// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Batches in more than two parts.
#include "sched/division.hpp"

#include <doctest/doctest.h>

#include <cstdio>

#include "unit/core/virtual_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// The best that two lanes of equal speed can do with a batch at a time, both busy all the time.
double two_lanes(const VirtualMachine& machine, const VirtualInput& input) { return input.batches * input.usual / (2000.0 * machine.threads); }

}  // namespace

TEST_CASE("A spread over sides ends at the same time on all of them, and leaves out those that would be late") {
  const RowOrder rows(std::vector<double>(100, 1.0));
  const DivisionSide slow{{0, 1, 0}, 1, 0, 1, 0}, fast{{0, 0.25, 0}, 1, 0, 1, 0}, busy{{0, 0.25, 0}, 1, 1000, 2, 0};
  const Spread three = balanced_spread(rows, {slow, fast, busy, fast}, 0);
  CHECK(three.ends == std::vector<std::size_t>{11, 56, 56, 100});
  CHECK(three.seconds == doctest::Approx(11.25));
  // The first side has to take thirty.
  const Spread forced = balanced_spread(rows, {slow, fast, fast}, 30);
  CHECK(forced.ends.front() == 30);
  CHECK(forced.seconds == doctest::Approx(30));
  CHECK(forced.ends.back() == 100);
  // No time at all, or nothing to divide by.
  CHECK(balanced_spread(RowOrder({0, 0}), {slow, fast}, 0).ends.back() == 2);
  CHECK(balanced_spread(RowOrder({1}), {slow, fast}, 0).ends == std::vector<std::size_t>{0, 1});
}

TEST_CASE("With two sides a spread is as good as the balanced division, whose every cut has been tried") {
  std::mt19937 random(3);
  std::lognormal_distribution<double> lengths(0, 1.2);
  const auto number = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> work(2 + random() % 60);
    for (double& row : work) row = lengths(random);
    const RowOrder rows(work);
    const DivisionSide cpu{{0, number(0.1, 1), 0}, 1, number(0, 5), 2, 0},
        device{{number(0, 1), number(0.1, 1), number(0, 1)}, 0.25, number(0, 5), 3, 1};
    const auto two = balanced_division(rows, cpu, device, 0);
    const Spread spread = balanced_spread(rows, {cpu, device}, 0);
    const double whole = std::min(cpu.finish(rows.largest_work(rows.rows()), rows.row_behind(0), 1),
                                  device.finish(rows.largest_work(rows.rows()), rows.row_behind(0), 1));
    REQUIRE(spread.ends.back() == rows.rows());
    REQUIRE(spread.seconds <= std::min(two->seconds, whole) * (1 + 1e-9));
  }
}

TEST_CASE("A batch at a time: the CPU and two or three devices are faster together than any two lanes can be") {
  for (const int devices : {2, 3})
    for (const Rows kind : {Rows::equal, Rows::varied})
      for (const std::uint64_t seed : {7, 11, 13}) {
        VirtualMachine machine;
        machine.threads = 4;
        machine.devices = devices;
        VirtualInput input;
        input.in_flight = 1;
        input.batches = 120;
        input.usual = input.largest = 400;
        input.rows = kind;
        input.seed = seed;
        const VirtualResult result = VirtualRun(machine, input)();
        for (const auto& batch : result.done)
          for (const int times : batch) REQUIRE(times == 1);
        CAPTURE(devices);
        CAPTURE(seed);
        const double bound = two_lanes(machine, input);
        std::printf("  CPU and %d devices, %s rows: %.2f of the least time of two lanes, %.2f of the oracle's\n", devices,
                    kind == Rows::equal ? "equal" : "varied", result.makespan / bound, result.makespan / result.oracle);
        CHECK(result.makespan < (devices == 2 ? 0.80 : 0.65) * bound);
        std::uint64_t lanes_with_parts = 0;
        for (const PlacementStatistics& placement : result.statistics.placements) lanes_with_parts += placement.parts > 40;
        CHECK(lanes_with_parts == static_cast<std::uint64_t>(devices) + 1);
      }
}

TEST_CASE("With many batches on the way the lanes end nearly together, divided or not") {
  for (const int devices : {2, 3}) {
    VirtualMachine machine;
    machine.threads = 4;
    machine.devices = devices;
    VirtualInput input;
    input.batches = 49;
    input.usual = input.largest = 400;
    const VirtualResult result = VirtualRun(machine, input)();
    std::printf("  CPU and %d devices, 49 batches: %.3f of the oracle's time\n", devices, result.makespan / result.oracle);
    CHECK(result.makespan <= 1.05 * result.oracle);
  }
}

TEST_CASE("Devices divide a batch without the CPU too") {
  VirtualMachine machine;
  machine.devices = 3;
  machine.speed = 4;
  machine.cpu_allowed = false;
  VirtualInput input;
  input.in_flight = 1;
  input.usual = input.largest = 400;
  input.batches = 100;
  const VirtualResult result = VirtualRun(machine, input)();
  std::printf("  three devices alone: %.2f of the oracle's time\n", result.makespan / result.oracle);
  CHECK(result.makespan <= 1.5 * result.oracle);
}

TEST_CASE("Rows above max_row_work stay the CPU's, however many devices share the others, and whether it is busy or not") {
  for (const bool busy : {false, true})
    for (const double left_to_read : {0.0, 0.5}) {
      CAPTURE(busy);
      CAPTURE(left_to_read);
      StageTraits stage;
      stage.name = "work";
      stage.implementations = {{0, "cpu"}, {1, "device"}};
      stage.max_row_work = 5;
      Scheduler scheduler({stage}, 2);
      scheduler.prime(0, 0, "cpu", {0, 0.1, 0});
      for (int i = 0; i < 2; ++i) {
        const std::string name = "device:" + std::to_string(i);
        scheduler.add_lane({name, "device", 1, 1e9, 0}, 0);
        scheduler.prime(0, 1, name, {0, 0.1, 0});
      }
      const SourceProgress progress{1.0 - left_to_read, left_to_read == 0};
      const auto add = [&](const std::vector<double>& work) {
        Task task;
        task.row_count = work.size();
        task.rows = std::make_shared<const RowOrder>(work);
        task.size = {task.rows->largest_work(work.size()), task.rows->row_behind(0)};
        scheduler.add(std::move(task));
      };
      if (busy) {
        add({7});  // only the CPU may do that
        REQUIRE(scheduler.take(0, progress)->lane == cpu_lane);
      }
      std::vector<double> work(60, 1.0);
      work[3] = work[40] = 6;
      add(work);
      std::vector<int> done(work.size(), 0);
      std::size_t devices = 0;
      while (const auto call = scheduler.take(1, progress)) {
        REQUIRE(call->parts > 1);
        devices += call->lane != cpu_lane;
        for (const std::uint32_t row : call->rows) {
          ++done[row];
          if (call->lane != cpu_lane) CHECK(work[row] <= 5);
        }
      }
      CHECK(devices >= 1);
      if (!busy) CHECK(devices == 2);
      CHECK(std::count(done.begin(), done.end(), 1) == 60);
      CHECK(scheduler.statistics(1).refused_choices == 0);
    }
}
