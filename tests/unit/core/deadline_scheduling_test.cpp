// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// How the scheduler treats batches that are wanted by a certain time.
#include <doctest/doctest.h>

#include "sched/scheduler.hpp"

using namespace sluice;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

StageTraits traits(const char* name, int depth) {
  StageTraits result;
  result.name = name;
  result.implementations = {{0, "cpu"}, {1, "simulated"}};
  result.depth = depth;
  return result;
}

Task task(std::size_t stage, std::uint64_t sequence, double deadline) {
  Task result;
  result.stage = stage;
  result.sequence = sequence;
  result.deadline = deadline;
  result.row_count = 1;
  result.size = {1, 1};
  return result;
}

LaneTraits accelerator(int number = 0) {
  LaneTraits result;
  result.name = "simulated:" + std::to_string(number);
  result.kind = "simulated";
  result.slots = 1;
  result.bytes_per_second = 1e9;
  return result;
}

// A CPU and a device that takes ten times as long; both are known.
void know(Scheduler& scheduler) {
  scheduler.add_lane(accelerator(), 0);
  scheduler.prime(0, 0, "cpu", {0, 1, 0});
  scheduler.prime(0, 1, "simulated:0", {0, 10, 0});
}

}  // namespace

TEST_CASE("Of the batches that wait the one with the earliest deadline goes first, those without one last") {
  Scheduler scheduler({traits("first", 0), traits("last", 1)}, 1);
  const std::vector<double> deadlines = {5, 1, never, 3, never};
  for (std::size_t i = 0; i < deadlines.size(); ++i) scheduler.add(task(i % 2, i, deadlines[i]));
  std::vector<double> order;
  double now = 0;
  while (auto assignment = scheduler.take(now, {})) {
    order.push_back(assignment->task.deadline);
    scheduler.completed(*assignment, now += 0.1, CallOutcome::finished);
  }
  CHECK(order == std::vector<double>{1, 3, 5, never, never});
}

TEST_CASE("A device that nobody has timed is not tried out with a batch that has a deadline") {
  for (const double deadline : {2.0, never}) {
    Scheduler scheduler({traits("only", 0)}, 1);
    scheduler.add_lane(accelerator(), 0);
    scheduler.add(task(0, 0, deadline));
    const auto assignment = scheduler.take(0, {});
    REQUIRE(assignment);
    CHECK(assignment->lane == (deadline == never ? 1 : 0));
  }
}

TEST_CASE("A batch with a deadline waits for the lane that will have done it first, however much there is still to be read") {
  for (const double deadline : {2.0, never}) {
    Scheduler scheduler({traits("only", 0)}, 1);
    know(scheduler);
    SourceProgress much_left;
    much_left.share = 0.001;
    scheduler.add(task(0, 0, deadline));
    const auto first = scheduler.take(1, much_left);
    REQUIRE(first);
    CHECK(first->lane == 0);
    scheduler.add(task(0, 1, deadline));
    const auto second = scheduler.take(1.5, much_left);
    CHECK(second.has_value() == (deadline == never));
    if (second) CHECK(second->lane == 1);
  }
}

TEST_CASE("Batches with a deadline are taken where there are only devices that nobody has timed, by each that has room") {
  StageTraits stage = traits("only", 0);
  stage.implementations = {{1, "simulated"}};
  Scheduler scheduler({stage}, 1);
  const std::size_t first = scheduler.add_lane(accelerator(0), 0), second = scheduler.add_lane(accelerator(1), 0);
  for (std::uint64_t i = 0; i < 3; ++i) scheduler.add(task(0, i, 2.0));
  const auto one = scheduler.take(0, {}), other = scheduler.take(0, {});
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->lane == first);
  CHECK(other->lane == second);
  CHECK_FALSE(scheduler.take(0, {}));  // neither has room
  scheduler.completed(*one, 1, CallOutcome::finished);
  scheduler.completed(*other, 1, CallOutcome::finished);
  CHECK(scheduler.take(1, {}));
}

TEST_CASE("A batch with a deadline does not wait for threads that nobody has timed while a device has room") {
  Scheduler scheduler({traits("only", 0)}, 1);
  const std::size_t device = scheduler.add_lane(accelerator(), 0);
  for (std::uint64_t i = 0; i < 2; ++i) scheduler.add(task(0, i, 2.0));
  const auto one = scheduler.take(0, {}), other = scheduler.take(0, {});
  REQUIRE(one);
  REQUIRE(other);
  CHECK(one->lane == 0);
  CHECK(other->lane == device);
}
