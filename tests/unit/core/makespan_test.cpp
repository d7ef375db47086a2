// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "unit/core/virtual_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

constexpr double speeds[] = {0.2, 1.0, 5.0, 20.0};

// A run in which every thread makes at least ten calls of the usual size, or twenty where nobody helps it.
VirtualInput input_for(const VirtualMachine& machine, Rows rows) {
  VirtualInput input;
  input.rows = rows;
  const int calls = machine.how == Threads::spread ? 10 : 20;
  input.batches = std::max(240, static_cast<int>(calls * machine.threads * (1.0 + machine.speed * machine.devices)));
  return input;
}

// Constants and copies relative to what a batch of the usual size takes on the device, so that they mean the same at every speed.
VirtualMachine machine_of(double speed, int threads) {
  VirtualMachine machine;
  machine.speed = speed;
  machine.threads = threads;
  return machine;
}
double usual_call(const VirtualMachine& machine) { return 0.1 / (machine.speed * machine.threads); }

void every_row_once(const VirtualResult& result) {
  std::uint64_t rows = 0, counted = 0;
  for (const auto& batch : result.done) {
    for (const int times : batch) REQUIRE(times == 1);
    rows += batch.size();
  }
  for (const PlacementStatistics& placement : result.statistics.placements) counted += placement.rows;
  CHECK(counted == rows);
}

struct Line {
  int threads;
  Rows rows;
  double constant, copies, speed;  // constant and copies: shares of what a batch of the usual size takes the device
  VirtualResult result;
  double ratio() const { return result.makespan / result.oracle; }
  double off_share() const { return std::abs(result.device_share - result.oracle_share); }
};

// Every combination, with rows and noise of that seed.
std::vector<Line> table(std::uint64_t seed) {
  std::vector<Line> lines;
  for (const int threads : {1, 4})
    for (const Rows rows : {Rows::equal, Rows::varied})
      for (const double constant : {0.0, 0.2})
        for (const double copies : {0.0, 0.25})
          for (const double speed : speeds) {
            VirtualMachine machine = machine_of(speed, threads);
            machine.constant = constant * usual_call(machine);
            if (copies > 0) machine.bytes_per_second = 100 * machine.bytes_per_work / (copies * usual_call(machine));
            VirtualInput input = input_for(machine, rows);
            input.seed = seed;
            lines.push_back({threads, rows, constant, copies, speed, VirtualRun(machine, input)()});
            every_row_once(lines.back().result);
          }
  return lines;
}

}  // namespace

TEST_CASE("Whatever the device's speed: the run ends within 10 % of an oracle's, and after two large calls the speeds are known") {
  std::printf("  threads  rows    call constant  copies   speed  makespan    oracle  ratio  learned after  device share (oracle's)\n");
  for (const Line& line : table(VirtualInput().seed)) {
    const VirtualResult& result = line.result;
    std::printf("  %7d  %-6s  %11.0f %%  %4.0f %%  %5.1fx  %7.3f s %7.3f s  %5.3f  %5d batches  %5.3f (%5.3f)\n", line.threads,
                line.rows == Rows::equal ? "equal" : "varied", 100 * line.constant, 100 * line.copies, line.speed, result.makespan, result.oracle,
                line.ratio(), result.learned_after, result.device_share, result.oracle_share);
    CAPTURE(line.threads);
    CAPTURE(line.speed);
    CAPTURE(line.constant);
    CAPTURE(line.copies);
    CHECK(line.ratio() <= 1.10);
    CHECK(result.learned_after <= 60);  // batches: a call on a device takes up to 32 of them
    CHECK(line.off_share() <= 0.10);
  }
}

TEST_CASE("The same with rows and noise that nobody has looked at while the scheduler was made") {
  for (const std::uint64_t seed : {11, 13}) {
    CAPTURE(seed);
    double worst = 0, off_share = 0;
    int learned_after = 0;
    for (const Line& line : table(seed)) {
      CAPTURE(line.threads);
      CAPTURE(line.speed);
      CAPTURE(line.constant);
      CAPTURE(line.copies);
      CHECK(line.ratio() <= 1.10);
      CHECK(line.result.learned_after <= 60);
      CHECK(line.off_share() <= 0.10);
      worst = std::max(worst, line.ratio());
      learned_after = std::max(learned_after, line.result.learned_after);
      off_share = std::max(off_share, line.off_share());
    }
    std::printf("  seed %d: worst ratio %.3f, learned after %d batches at most, shares off by %.3f at most\n", static_cast<int>(seed), worst,
                learned_after, off_share);
  }
}

TEST_CASE("The same with sixteen threads, with streams that hide each other, and without knowing how much there is to read") {
  for (const int threads : {1, 4, 16})
    for (const double side_by_side : {1.0, 4.0})
      for (const Progress progress : {Progress::known, Progress::unknown})
        for (const double speed : speeds) {
          VirtualMachine machine = machine_of(speed, threads);
          machine.side_by_side = side_by_side;
          VirtualInput input = input_for(machine, Rows::varied);
          input.progress = progress;
          const VirtualResult result = VirtualRun(machine, input)();
          every_row_once(result);
          CAPTURE(threads);
          CAPTURE(side_by_side);
          CAPTURE(speed);
          // Who does not know that the end is near gives a slow lane one batch too many: 0.1 s of about 1 s.
          CHECK(result.makespan / result.oracle <= (progress == Progress::known ? 1.10 : 1.15));
        }
}

TEST_CASE("Threads that can't help each other") {
  for (const Rows rows : {Rows::equal, Rows::varied})
    for (const double speed : speeds) {
      VirtualMachine machine = machine_of(speed, 4);
      machine.how = Threads::one_per_call;
      const VirtualResult result = VirtualRun(machine, input_for(machine, rows))();
      every_row_once(result);
      CAPTURE(speed);
      CHECK(result.makespan / result.oracle <= 1.10);
    }
}

TEST_CASE("The CPU leaves to a device what would hold up its own part of a run, such as reading and decoding") {
  // Of a run in which decoding takes as much as the stage on the CPU, a fifth of it, or a twentieth.
  for (const double only_on_cpu : {1e-3, 2e-4, 5e-5})
    for (const int threads : {4, 8, 16})
      for (const double speed : {0.5, 2.0, 5.0, 20.0})
        for (const Progress progress : {Progress::known, Progress::unknown}) {
          VirtualMachine machine = machine_of(speed, threads);
          machine.how = Threads::one_per_call;
          machine.only_on_cpu = only_on_cpu;
          machine.side_by_side = 2;
          machine.constant = 0.2 * usual_call(machine);
          VirtualInput input = input_for(machine, Rows::varied);
          input.batches = std::max(input.batches, 800);
          input.progress = progress;
          const VirtualResult result = VirtualRun(machine, input)();
          every_row_once(result);
          std::printf("  %2d threads, %3.0f us a unit on the CPU alone, device %4.1fx, %-7s  %6.3f s of %6.3f s, %.3f; device share %.3f\n", threads,
                      1e6 * only_on_cpu, speed, progress == Progress::known ? "known" : "unknown", result.makespan, result.oracle,
                      result.makespan / result.oracle, result.device_share);
          CAPTURE(threads);
          CAPTURE(speed);
          CAPTURE(only_on_cpu);
          CHECK(result.makespan / result.oracle <= 1.15);
          // Calls on the CPU that win next to nothing are not made.
          if (speed == 20.0) CHECK(result.device_share >= 0.995);
        }
}

TEST_CASE("Two and four devices share a stage's batches evenly") {
  double alone = 0;
  for (const int devices : {1, 2, 4}) {
    VirtualMachine machine = machine_of(5.0, 4);
    machine.devices = devices;
    machine.cpu_allowed = false;
    VirtualInput input;
    input.batches = 800;
    const VirtualResult result = VirtualRun(machine, input)();
    every_row_once(result);
    if (devices == 1) alone = result.makespan;
    CHECK(result.makespan <= 1.10 * alone / devices);
    double least = 1e300, most = 0;
    for (const PlacementStatistics& placement : result.statistics.placements) {
      least = std::min(least, placement.work);
      most = std::max(most, placement.work);
    }
    CHECK(most <= 1.1 * least);
  }
}

TEST_CASE("Batches with a row that would hold the device up go to the CPU") {
  VirtualMachine machine = machine_of(5.0, 4);
  // A row of 40 units takes a thread 0.04 s and the device 0.14 s whatever is beside it; a batch of usual rows takes the device 0.02 s.
  machine.per_largest_row = 3.5e-3;
  machine.side_by_side = 4;
  VirtualInput input = input_for(machine, Rows::equal);
  input.giants_every = 997;
  input.batches = 1000;
  const VirtualResult result = VirtualRun(machine, input)();
  every_row_once(result);
  // 95 such rows on the device would take it 3.3 s more. Those that it gets before the first one has ended are paid for.
  CHECK(result.makespan <= 1.25 * result.oracle);
}

TEST_CASE("Where too many batches have such a row, calls of many batches hide them, or they go to the CPU alone") {
  VirtualMachine machine = machine_of(5.0, 4);
  machine.per_largest_row = 3.5e-3;
  machine.side_by_side = 4;
  VirtualInput input = input_for(machine, Rows::equal);
  // Nearly every second batch.
  input.usual = 400;
  input.largest = 800;
  input.giants_every = 1000;
  input.batches = 400;
  for (const std::uint64_t seed : {7, 11})
    for (const bool divisible : {true, false}) {
      input.seed = seed;
      input.divisible = divisible;
      const VirtualResult result = VirtualRun(machine, input)();
      every_row_once(result);
      std::printf("  rows that hold the device up, %s: %.3f of the oracle's time\n", divisible ? "batches divided or not" : "whole batches only",
                  result.makespan / result.oracle);
      CHECK(result.makespan <= (divisible ? 1.15 : 1.25) * result.oracle);
    }
}

TEST_CASE("A device that opens late, and whose first call takes long, is used from then on, and hurts nobody before") {
  for (const double speed : speeds) {
    VirtualMachine machine = machine_of(speed, 4);
    machine.opened_at = 0.5;
    machine.first_call = 0.3;
    VirtualInput input = input_for(machine, Rows::equal);
    input.batches *= 2;
    const VirtualResult result = VirtualRun(machine, input)();
    every_row_once(result);
    CAPTURE(speed);
    CHECK(result.makespan <= 1.10 * result.oracle + 0.3);
    CHECK(result.statistics.lanes[1].calls > 0);
  }
}

TEST_CASE("While a device is opened the CPU does ahead what only it can do") {
  for (const double only_on_cpu : {1e-3, 2e-4, 5e-5})
    for (const int threads : {4, 16})
      for (const double speed : {0.5, 5.0, 20.0}) {
        VirtualMachine machine = machine_of(speed, threads);
        machine.how = Threads::one_per_call;
        machine.only_on_cpu = only_on_cpu;
        machine.side_by_side = 2;
        machine.opened_at = 0.5;
        VirtualInput input = input_for(machine, Rows::varied);
        input.batches = std::max(input.batches, 1600);
        const VirtualResult result = VirtualRun(machine, input)();
        every_row_once(result);
        std::printf(
            "  %2d threads, %3.0f us a unit on the CPU alone, device %4.1fx from 0.5 s on  %6.3f s of %6.3f s, %.3f; device share %.3f of %.3f\n",
            threads, 1e6 * only_on_cpu, speed, result.makespan, result.oracle, result.makespan / result.oracle, result.device_share,
            result.oracle_share);
        CAPTURE(threads);
        CAPTURE(speed);
        CAPTURE(only_on_cpu);
        // A device that is slower than the threads took what waited, stream after stream, and the threads waited for the source: 1.15.
        CHECK(result.makespan / result.oracle <= (speed == 0.5 ? 1.06 : 1.15));
      }
}

TEST_CASE("While a device is opened all threads are busy where their calls are short and nothing is to be done ahead") {
  VirtualMachine machine = machine_of(1.0, 16);
  machine.how = Threads::one_per_call;
  machine.opened_at = 0.5;
  VirtualInput input = input_for(machine, Rows::equal);
  input.usual = 4;  // 4 ms of a thread
  input.largest = 40;
  input.batches = 4000;
  const VirtualResult result = VirtualRun(machine, input)();
  every_row_once(result);
  std::printf("  short calls while a device is opened: %.3f of the oracle's time\n", result.makespan / result.oracle);
  // 12 of 16 threads at least, for half of the second that the run takes without the device.
  CHECK(result.makespan / result.oracle <= 1.2);
}

TEST_CASE("A batch that is all there is gets divided") {
  VirtualMachine machine = machine_of(1.0, 4);
  VirtualInput input;
  input.batches = 60;
  input.usual = 400;
  input.largest = 400;
  for (const int in_flight : {0, 1}) {
    input.in_flight = in_flight;
    const VirtualResult result = VirtualRun(machine, input)();
    every_row_once(result);
    std::printf("  %d batches under way: %d of %d divided, %.3f of the oracle's time\n", in_flight,
                static_cast<int>(result.statistics.stages.front().divided), static_cast<int>(result.done.size()), result.makespan / result.oracle);
    // Every one but the first ones when there is only one at a time. With many the calls of several batches have become shorter towards the end.
    if (in_flight == 1) CHECK(result.statistics.stages.front().divided >= result.done.size() - 8);
    CHECK(result.makespan / result.oracle <= 1.10);
    // Both sides end together there; no row is taken out because of its size.
    for (const PlacementStatistics& placement : result.statistics.placements) CHECK(placement.tail_rows == 0);
  }
}

TEST_CASE("Trying a device with a part of a batch is no division, and respects max_row_work") {
  StageTraits stage;
  stage.name = "work";
  stage.implementations = {{0, "cpu"}, {1, "device"}};
  stage.max_row_work = 2;
  Scheduler scheduler({stage}, 1);
  const std::size_t lane = scheduler.add_lane({"device:0", "device", 8, 1e9, 1e-5}, 0);
  Task task;
  const std::vector<double> rows = {2.5, 1, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5};
  task.row_count = rows.size();
  task.size = {28.5, 2.5};
  task.rows = std::make_shared<const RowOrder>(rows);
  scheduler.add(task);
  std::size_t parts = 0;
  while (const auto assignment = scheduler.take(0, {})) {
    ++parts;
    if (assignment->lane == lane) CHECK(assignment->rows == std::vector<std::uint32_t>{1});
    scheduler.completed(*assignment, 0.01, CallOutcome::finished);
  }
  CHECK(parts == 2);
  const SchedulerStatistics statistics = scheduler.statistics(0.01);
  CHECK(statistics.stages.front().divided == 0);
  for (const PlacementStatistics& placement : statistics.placements) {
    const bool on_cpu = placement.lane == "cpu";
    CHECK(placement.explored == (on_cpu ? 0 : 1));
    CHECK(placement.tail_rows == (on_cpu ? 11 : 0));
    CHECK(placement.rows == (on_cpu ? 11 : 1));
  }
}

TEST_CASE("Calls grow for a device whose calls cost something however small they are") {
  for (const double constant : {0.0, 1.0, 4.0}) {
    VirtualMachine machine = machine_of(20.0, 4);
    machine.constant = constant * usual_call(machine);
    const VirtualInput input = input_for(machine, Rows::equal);
    const VirtualResult result = VirtualRun(machine, input)();
    const LaneStatistics& device = result.statistics.lanes[1];
    CAPTURE(constant);
    if (constant > 0) CHECK(static_cast<double>(device.calls) < 0.5 * input.batches);
    CHECK(result.makespan / result.oracle <= 1.10);
  }
}

TEST_CASE("A scheduler has nothing left when everything has been done, and says when nobody can do a task") {
  StageTraits stage;
  stage.name = "work";
  stage.implementations = {{1, "device"}};
  Scheduler scheduler({stage}, 2);
  Task task;
  task.size = {1, 1};
  scheduler.add(task);
  CHECK(scheduler.stranded().size() == 1);
  const std::size_t lane = scheduler.add_lane({"device:0", "device", 8, 1e9, 1e-5}, 0);
  scheduler.add(task);
  CHECK(scheduler.stranded().empty());
  const auto assignment = scheduler.take(0, {});
  REQUIRE(assignment);
  CHECK(assignment->lane == lane);
  scheduler.completed(*assignment, 1.0, CallOutcome::failed);
  scheduler.retire(lane, "it burned");
  scheduler.add(task);
  CHECK_FALSE(scheduler.take(1, {}));
  CHECK(scheduler.stranded().size() == 1);
  CHECK(scheduler.decisions().front() == "device:0 was retired: it burned");
  const SchedulerStatistics statistics = scheduler.statistics(2);
  CHECK(statistics.lanes[lane].retired);
  CHECK(statistics.lanes[lane].busy_seconds == doctest::Approx(1.0));
}
