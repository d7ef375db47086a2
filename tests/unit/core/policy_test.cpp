// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What every policy is held to, the book-keeping's defence against those that fail, and the simple one.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "unit/core/virtual_run.hpp"

namespace sluice::policies {
std::unique_ptr<const Policy> soonest();  // as docs/scheduling.md has it
}

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// A policy that a test makes up.
class Made : public Policy {
 public:
  using Decide = std::function<std::optional<Choice>(const View&)>;
  explicit Made(Decide decide, double batch = 0) : decide_(std::move(decide)), batch_(batch) {}
  std::optional<Choice> decide(const View& view) const override { return decide_(view); }
  double batch_size(const View&, double usual, double) const override { return batch_ == 0 ? usual : batch_; }

 private:
  Decide decide_;
  double batch_;
};

std::unique_ptr<const Policy> made(Made::Decide decide, double batch = 0) { return std::make_unique<Made>(std::move(decide), batch); }

StageTraits stage(bool serial = false) {
  StageTraits result;
  result.name = "work";
  result.implementations = {{0, "cpu"}, {1, "device"}};
  result.max_row_work = 5;
  result.serial = serial;
  return result;
}

Task task(const std::vector<double>& rows) {
  Task result;
  result.row_count = rows.size();
  result.rows = std::make_shared<const RowOrder>(rows);
  result.size = {result.rows->largest_work(rows.size()), result.rows->row_behind(0)};
  return result;
}

// A batch of four rows, a CPU with one thread, two devices with one stream each, of which the second is lost.
struct Small {
  explicit Small(Made::Decide decide, bool serial = false, double largest_row = 6) : scheduler({stage(serial)}, 1, made(std::move(decide))) {
    scheduler.add_lane({"device:0", "device", 1, 1e9, 1e-5}, 0);
    scheduler.add_lane({"device:1", "device", 1, 1e9, 1e-5}, 0);
    scheduler.retire(2, "lost");
    scheduler.add(task({1, 2, 3, largest_row}));
  }
  Scheduler scheduler;
};

std::uint64_t only_task(const View& view) { return view.waiting.front().tasks.begin()->second.number; }

void every_row_once(const VirtualResult& result) {
  for (const auto& batch : result.done)
    for (const int times : batch) REQUIRE(times == 1);
}

}  // namespace

TEST_CASE("Policies have the names of their files, and the default is one of them") {
  CHECK(std::is_sorted(policy_names().begin(), policy_names().end()));
  CHECK(std::count(policy_names().begin(), policy_names().end(), default_policy) == 1);
  CHECK(std::count(policy_names().begin(), policy_names().end(), "first_free") == 1);
  CHECK_THROWS_AS(make_policy("no such policy"), std::invalid_argument);
}

TEST_CASE("Every policy does every row once, makes no choice that is refused, and decides the same in the same run") {
  std::vector<std::string> names = policy_names();
  names.push_back("soonest");
  const auto policy = [](const std::string& name) { return name == "soonest" ? policies::soonest() : make_policy(name); };
  for (const std::string& name : names)
    for (const int devices : {0, 1, 3})
      for (const bool cpu_allowed : {true, false}) {
        if (devices == 0 && !cpu_allowed) continue;
        CAPTURE(name);
        CAPTURE(devices);
        CAPTURE(cpu_allowed);
        VirtualMachine machine;
        machine.threads = 4;
        machine.devices = devices;
        machine.cpu_allowed = cpu_allowed;
        VirtualInput input;
        input.rows = Rows::varied;
        input.batches = 100;
        const VirtualResult one = VirtualRun(machine, input, policy(name))(), again = VirtualRun(machine, input, policy(name))();
        every_row_once(one);
        CHECK(one.makespan == again.makespan);
        CHECK(one.statistics.refused_choices == 0);
      }
}

TEST_CASE("first_free gives the oldest batch to the first lane that is free, and no policy is worse for it") {
  Scheduler scheduler({stage()}, 1, make_policy("first_free"));
  scheduler.add_lane({"device:0", "device", 2, 1e9, 1e-5}, 0);
  std::vector<std::uint64_t> order;
  for (const std::uint64_t sequence : {3, 1, 0, 2}) {
    Task batch = task({1, 2});
    batch.sequence = sequence;
    scheduler.add(std::move(batch));
  }
  std::vector<std::size_t> lanes;
  while (const auto call = scheduler.take(0, {})) {
    order.push_back(call->task.sequence);
    lanes.push_back(call->lane);
    CHECK(call->parts == 1);
  }
  CHECK(order == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(lanes == std::vector<std::size_t>{0, 1, 1});

  // A device at a fifth of the CPU's speed, and calls that share it: who takes what comes is twice as late.
  VirtualMachine machine;
  machine.threads = 4;
  machine.speed = 0.05;
  VirtualInput input;
  input.batches = 60;
  const VirtualResult simple = VirtualRun(machine, input, make_policy("first_free"))(), usual = VirtualRun(machine, input)();
  every_row_once(simple);
  std::printf("  a slow device, short run: first_free %.2f, adaptive %.2f of the oracle's time\n", simple.makespan / simple.oracle,
              usual.makespan / usual.oracle);
  CHECK(simple.makespan > 1.5 * usual.makespan);
}

TEST_CASE("first_free leaves rows that a device may not do to the CPU") {
  Scheduler scheduler({stage()}, 1, make_policy("first_free"));
  scheduler.add_lane({"device:0", "device", 2, 1e9, 1e-5}, 0);
  for (int i = 0; i < 2; ++i) scheduler.add(task({1, 6}));
  const auto call = scheduler.take(0, {});
  REQUIRE(call);
  CHECK(call->lane == cpu_lane);
  CHECK_FALSE(scheduler.take(0, {}));
}

TEST_CASE("A choice that can't be carried out is refused, the batch goes to the first free lane, and the report says what was wrong") {
  struct Case {
    const char* complaint;
    std::vector<LaneShare> shares;
  };
  const std::vector<Case> cases = {
      {"it has no shares", {}},
      {"there is no lane 7", {{7, 1, {}, 0}}},
      {"has no implementation 1", {{0, 1, {}, 0}}},
      {"has no implementation 0", {{1, 0, {}, 0}}},
      {"lane device:1 may not do this batch", {{2, 1, {}, 0}}},
      {"rows above max_row_work are the CPU's", {{1, 1, {}, 0}}},
      {"rows above max_row_work are the CPU's", {{0, 0, {0, 1}, 0}, {1, 1, {2, 3}, 0}}},
      {"row 1 is placed twice", {{0, 0, {1, 2, 3}, 0}, {1, 1, {0, 1}, 0}}},
      {"1 rows are placed nowhere", {{0, 0, {2, 3}, 0}, {1, 1, {0}, 0}}},
      {"1 rows are placed nowhere", {{0, 0, {0, 2, 3}, 0}}},
      {"there is no row 9", {{0, 0, {2, 3, 9}, 0}, {1, 1, {0, 1}, 0}}},
      {"not in ascending order", {{0, 0, {3, 2}, 0}, {1, 1, {0, 1}, 0}}},
      {"a share of a divided batch has no rows", {{0, 0, {0, 1, 2, 3}, 0}, {1, 1, {}, 0}}},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.complaint);
    Small small([&](const View& view) { return Choice{only_task(view), wrong.shares, Reason::division}; });
    const auto call = small.scheduler.take(0, {});
    REQUIRE(call);
    CHECK(call->lane == cpu_lane);
    CHECK(call->parts == 1);
    CHECK(call->row_count == 4);
    CHECK_FALSE(small.scheduler.take(0, {}));
    const std::string said = small.scheduler.decisions().at(1);
    CHECK(said.find("internal error") != std::string::npos);
    CHECK(said.find(wrong.complaint) != std::string::npos);
    CHECK(small.scheduler.statistics(0).refused_choices == 1);
  }
}

TEST_CASE("So are gatherings of what can't be in one call") {
  struct Case {
    const char* complaint;
    LaneShare share;
    std::vector<std::size_t> likes;   // of the three tasks that wait
    std::vector<std::size_t> others;  // that are gathered with the first: their places
  };
  const std::vector<Case> cases = {
      {"only calls on devices take several batches", {0, 0}, {1, 1, 1}, {1}},
      {"the batch can't be gathered with others", {1, 1}, {0, 0, 0}, {1}},
      {"batches of different kinds can't be gathered", {1, 1}, {1, 2, 1}, {1}},
      {"is gathered twice", {1, 1}, {1, 1, 1}, {1, 1}},
      {"is gathered twice", {1, 1}, {1, 1, 1}, {0}},
  };
  for (const Case& wrong : cases) {
    CAPTURE(wrong.complaint);
    const Made::Decide decide = [&](const View& view) {
      std::vector<std::uint64_t> numbers;
      for (const auto& [turn, waiting] : view.waiting.front().tasks) numbers.push_back(waiting.number);
      Choice choice{numbers.front(), {wrong.share}};
      for (const std::size_t other : wrong.others) choice.more.push_back(numbers[other]);
      return choice;
    };
    Scheduler scheduler({stage()}, 1, made(decide));
    scheduler.add_lane({"device:0", "device", 2, 1e9, 1e-5}, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      Task waiting = task({1, 2});
      waiting.sequence = i;
      waiting.like = wrong.likes[i];
      scheduler.add(std::move(waiting));
    }
    const auto call = scheduler.take(0, {});
    REQUIRE(call);
    CHECK(call->more.empty());
    CHECK(scheduler.statistics(0).refused_choices == 1);
    CHECK(scheduler.decisions().at(0).find(wrong.complaint) != std::string::npos);
  }
}

TEST_CASE("So are an unknown batch, a lane without room, a division of what can't be divided, and a policy that throws") {
  Small unknown([](const View&) { return Choice{99, {{0, 0, {}, 0}}}; });
  CHECK(unknown.scheduler.take(0, {}));
  CHECK(unknown.scheduler.decisions().at(1).find("no task 99 waits") != std::string::npos);

  Small full([](const View& view) { return Choice{only_task(view), {{0, 0, {}, 0}}}; });
  full.scheduler.add(task({1, 2}));
  CHECK(full.scheduler.take(0, {})->lane == cpu_lane);
  CHECK(full.scheduler.take(0, {})->lane == 1);
  CHECK(full.scheduler.decisions().at(1).find("lane cpu has no room") != std::string::npos);

  Small serial([](const View& view) { return Choice{only_task(view), {{0, 0, {2, 3}, 0}, {1, 1, {0, 1}, 0}}, Reason::division}; }, true, 4);
  CHECK(serial.scheduler.take(0, {})->parts == 1);
  CHECK(serial.scheduler.decisions().at(1).find("can't be divided") != std::string::npos);
  serial.scheduler.add(task({1, 2}));
  CHECK_FALSE(serial.scheduler.take(0, {}));

  Small throws([](const View&) -> std::optional<Choice> { throw std::runtime_error("thought too hard"); });
  CHECK(throws.scheduler.take(0, {}));
  CHECK(throws.scheduler.decisions().at(1).find("thought too hard") != std::string::npos);
}

TEST_CASE("Runs of policies that choose nothing, nonsense at random, or batches of no size end with every row done once") {
  VirtualMachine machine;
  machine.threads = 2;
  machine.devices = 2;
  VirtualInput input;
  input.batches = 60;
  const VirtualResult lazy = VirtualRun(machine, input, made([](const View&) { return std::nullopt; }))();
  every_row_once(lazy);
  CHECK(lazy.done.size() == 60);
  CHECK(lazy.statistics.refused_choices == 60);

  auto random = std::make_shared<std::mt19937>(1);
  const auto nonsense = [random](const View& view) -> std::optional<Choice> {
    if ((*random)() % 4 == 0) return std::nullopt;
    Choice choice{(*random)() % 70, {}, static_cast<Reason>((*random)() % 4)};
    for (std::size_t i = (*random)() % 4; i > 0; --i) {
      LaneShare& share = choice.shares.emplace_back(LaneShare{(*random)() % 5, static_cast<std::uint32_t>((*random)() % 2), {}, 0});
      for (std::uint32_t row = 0; row < 100; ++row)
        if ((*random)() % 2 == 0) share.rows.push_back(row);
    }
    return view.waiting.empty() ? std::nullopt : std::optional(choice);
  };
  const VirtualResult mad = VirtualRun(machine, input, made(nonsense))();
  every_row_once(mad);
  CHECK(mad.done.size() == 60);
  CHECK(mad.statistics.refused_choices > 0);

  for (const double size : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const VirtualResult sizes = VirtualRun(machine, input, made([](const View&) { return std::nullopt; }, size))();
    every_row_once(sizes);
    CHECK(sizes.done.size() == 60);
  }
}

TEST_CASE("A policy may divide a batch over as many lanes as there are; each part waits for room on its own") {
  StageTraits any = stage();
  any.max_row_work = std::numeric_limits<double>::infinity();
  const auto over_all = [](const View& view) {
    Choice choice{only_task(view), {}, Reason::division};
    for (std::uint32_t lane = 0; lane < 4; ++lane) choice.shares.push_back({lane, lane == 0 ? 0u : 1u, {lane, lane + 4}, 0});
    return choice;
  };
  Scheduler scheduler({any}, 1, made(over_all));
  for (int i = 0; i < 3; ++i) scheduler.add_lane({"device:" + std::to_string(i), "device", 1, 1e9, 0}, 0);
  for (int i = 0; i < 2; ++i) scheduler.add(task({1, 2, 3, 4, 5, 6, 7, 8}));
  std::vector<Assignment> calls;
  while (const auto call = scheduler.take(0, {})) calls.push_back(*call);
  REQUIRE(calls.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(calls[i].lane == i);
    CHECK(calls[i].part == i);
    CHECK(calls[i].parts == 4);
    CHECK(calls[i].size.work == 2.0 * static_cast<double>(i + 1) + 4);
    CHECK(calls[i].size.largest_row == static_cast<double>(i + 5));
  }
  // The second batch begins where there is room; its other parts follow.
  scheduler.completed(calls[0], 1, CallOutcome::finished);
  const auto next = scheduler.take(1, {});
  REQUIRE(next);
  CHECK(next->lane == 0);
  CHECK_FALSE(scheduler.take(1, {}));
  for (std::size_t i = 1; i < 4; ++i) {
    scheduler.completed(calls[i], 2, CallOutcome::finished);
    const auto part = scheduler.take(2, {});
    REQUIRE(part);
    CHECK(part->lane == i);
  }
}
