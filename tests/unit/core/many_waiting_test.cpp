// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The choice looks at the first waiting batches of each group, and at sums over the others. Here it is compared with a rule that looks at every
// batch, and made to serve more of them than such a rule could.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sched/estimates.hpp"
#include "sched/gathering.hpp"
#include "sched/policy.hpp"
#include "sched/policy_table.hpp"
#include "sched/scheduler.hpp"
#include "sched/waiting_tasks.hpp"

using namespace sluice;

namespace {

// Nobody explores here and nothing is divided: all costs are known and used of late, batches have no rows.
struct Picked {
  std::uint64_t task;
  std::size_t lane;
  auto operator<=>(const Picked&) const = default;
};

// Every waiting batch on every lane, each against all that waits: the number of steps grows with the square of what waits.
std::optional<Picked> exhaustive(const View& view) {
  struct Seen {
    const Task* task;
    const Candidate* candidate;
    double advantage;
    int depth;
  };
  std::optional<Seen> best;
  const auto better = [](const Seen& a, const Seen& b) {
    if (a.task->deadline != b.task->deadline) return a.task->deadline < b.task->deadline;
    if (a.task->sequence + 32 < b.task->sequence) return true;
    if (b.task->sequence + 32 < a.task->sequence) return false;
    const auto bucket = [](double advantage) { return std::isinf(advantage) ? 1e9 : std::floor(std::log2(advantage)); };
    if (bucket(a.advantage) != bucket(b.advantage)) return bucket(a.advantage) > bucket(b.advantage);
    return a.depth != b.depth ? a.depth > b.depth : a.task->sequence < b.task->sequence;
  };
  for (const WaitingGroup& group : view.waiting)
    for (const auto& [turn, task] : group.tasks)
      for (const Candidate& mine : view.stages[group.stage].candidates) {
        const Candidate& other = view.stages[group.stage].candidates[mine.on_cpu() ? 1 : 0];
        const DeviceOutlook of_first(view, group, group.tasks.begin()->second);
        const bool other_is_out =
            other.on_cpu() && !group.urgent && (of_first.done_before_cpu(other) || of_first.cpu_adds_little(other) || of_first.would_run_dry(other));
        const bool others = view.may_do(group, other) && !other_is_out;
        const std::size_t most = others ? most_calls(view, mine, view.source.horizon) : static_cast<std::size_t>(view.lanes[mine.lane].traits.slots);
        if (!view.may_do(group, mine) || view.lanes[mine.lane].running >= most) continue;
        const DeviceOutlook devices(view, group, task);
        const Candidate& on_cpu = view.stages[group.stage].candidates.front();
        const bool cpu_is_out =
            !group.urgent && (devices.done_before_cpu(on_cpu) || devices.cpu_adds_little(on_cpu) || devices.would_run_dry(on_cpu));
        double soonest = 1e300, rates = 0, backlog = 0, waiting = 0;
        for (const Candidate& other : view.stages[group.stage].candidates) {
          if (&other == &mine || !view.may_do(group, other) || (other.on_cpu() && cpu_is_out)) continue;
          const double rate = parallel_calls(view, other) / call_seconds(view, task, other);
          soonest = std::min(soonest, finish_seconds(view, task, other));
          rates += rate;
          backlog += rate * view.lanes[other.lane].backlog / parallel_calls(view, other);
        }
        for (const WaitingGroup& all : view.waiting)
          for (const auto& [its_turn, waits] : all.tasks) {
            double rate = 0;
            for (const Candidate& other : view.stages[all.stage].candidates)
              if (other.lane != mine.lane && view.may_do(all, other)) rate += parallel_calls(view, other) / call_seconds(view, waits, other);
            if (rate > 0) waiting += 1.0 / rate;
          }
        const double finish = finish_seconds(view, task, mine);
        if (mine.on_cpu() && cpu_is_out) continue;
        if (rates > 0 && finish > soonest && (group.urgent || finish > backlog / rates + waiting + view.source.horizon)) continue;
        const double advantage =
            rates > 0 ? parallel_calls(view, mine) / call_seconds(view, task, mine) / rates : std::numeric_limits<double>::infinity();
        const Seen seen{&task, &mine, advantage, view.stages[group.stage].traits.depth};
        if (!best || better(seen, *best)) best = seen;
      }
  if (!best) return std::nullopt;
  return Picked{best->task->number, best->candidate->lane};
}

StageTraits traits(const char* name, int depth) {
  StageTraits result;
  result.name = name;
  result.implementations = {{0, "cpu"}, {1, "device"}};
  result.depth = depth;
  return result;
}

}  // namespace

TEST_CASE("With few batches the choice is that of a rule that looks at every one") {
  const auto adaptive = make_policy("adaptive");
  std::mt19937 random(5);
  const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  int taken = 0, left = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    View view;
    // One device: with more, sums over batches of different shape are a little too long.
    for (int i = 0; i < 2; ++i) {
      LaneView& lane = view.lanes.emplace_back();
      lane.traits = {i == 0 ? "cpu" : "device:0", i == 0 ? "cpu" : "device", i == 0 ? 4 : 8, 1e6, 1e-3};
      lane.running = random() % (i == 0 ? 6u : 10u) * (random() % 2);
      lane.backlog = static_cast<double>(lane.running) * between(0, 0.2);
    }
    for (int s = 0; s < 2; ++s) {
      StageView& stage = view.stages.emplace_back();
      stage.traits = traits(s == 0 ? "first" : "second", s);
      const double speed = std::exp(between(-3, 3));
      stage.candidates.push_back({0, 0, {0, 1e-3, 0}, 1.0, true, 20, 0.1, 0, 0});
      stage.candidates.push_back({1, 1, {between(0, 0.1), 1e-3 / speed, between(0, 0.01)}, random() % 2 == 0 ? 0.25 : 1.0, true, 20, 0.1, 0, 0});
    }
    view.source.horizon = random() % 2 == 0 ? 0.0 : between(0, 0.5);
    if (random() % 2 == 0) {
      view.source.progress = {between(0.1, 1), false, between(0, 2)};
      view.source.read_work = 1000;
      for (StageView& stage : view.stages) stage.work = stage.source_work = between(100, 1000);
    }
    WaitingTasks waiting(view);
    const std::size_t tasks = random() % 40;
    for (std::size_t i = 0; i < tasks; ++i) {
      Task task;
      task.stage = random() % 2;
      task.sequence = i;
      task.size = {between(10, 200), between(1, 10)};
      task.bytes = between(0, 1e5);
      task.columns = 2;
      if (random() % 8 == 0) task.excluded = {random() % 2};
      if (round % 3 == 0 && random() % 4 == 0) task.deadline = between(0, 10);
      waiting.add(std::move(task));
    }
    const auto choice = adaptive->decide(view);
    const auto expected = exhaustive(view);
    REQUIRE(choice.has_value() == expected.has_value());
    ++(choice ? taken : left);
    if (choice) REQUIRE(Picked{choice->task, choice->shares.front().lane} == *expected);
  }
  CHECK(taken > 500);
  CHECK(left > 100);
}

TEST_CASE("Twenty thousand batches that wait for four lanes are all done once, about in their order") {
  Scheduler scheduler({traits("work", 0)}, 4);
  for (int i = 0; i < 3; ++i) scheduler.add_lane({"device:" + std::to_string(i), "device", 8, 1e9, 1e-5}, 0);
  constexpr std::uint64_t count = 20000;
  for (std::uint64_t i = 0; i < count; ++i) {
    Task task;
    task.sequence = i;
    task.row_count = 1;
    task.size = {50.0 + static_cast<double>(i * 37 % 101), 1};
    scheduler.add(std::move(task));
  }
  std::vector<int> done(count, 0);
  std::deque<Assignment> under_way;
  std::uint64_t oldest = 0, furthest_ahead = 0;
  double now = 0;
  for (;;) {
    while (auto call = scheduler.take(now, {0.5, false})) under_way.push_back(std::move(*call));
    if (under_way.empty()) break;
    const Assignment call = std::move(under_way.front());
    under_way.pop_front();
    scheduler.completed(call, now += 0.001, CallOutcome::finished);
    ++done[call.task.sequence];
    while (oldest < count && done[oldest] > 0) ++oldest;
    furthest_ahead = std::max(furthest_ahead, call.task.sequence - std::min(oldest, call.task.sequence));
  }
  CHECK(std::all_of(done.begin(), done.end(), [](int times) { return times == 1; }));
  CHECK(furthest_ahead <= 2 * 32 + 28);  // the window, and what is under way
  CHECK(scheduler.stranded().empty());
}

TEST_CASE("What waits is counted per group, and the counts are right when batches leave and lanes come") {
  View view;
  view.lanes.emplace_back();
  StageView& stage = view.stages.emplace_back();
  stage.traits = traits("work", 0);
  stage.traits.max_row_work = 2;
  stage.candidates.push_back({0, 0, {}, 1, true, 0, 0, 0, 0});
  WaitingTasks waiting(view);
  const auto add = [&](std::uint64_t sequence, double work, std::vector<std::size_t> excluded, double deadline) {
    Task task;
    task.sequence = sequence;
    task.size = {work, work};
    task.bytes = 100;
    task.excluded = std::move(excluded);
    task.deadline = deadline;
    task.rows = std::make_shared<const RowOrder>(std::vector<double>{work});
    waiting.add(std::move(task));
  };
  const double never = std::numeric_limits<double>::infinity();
  add(0, 1, {}, never);
  add(1, 2, {}, never);
  add(2, 4, {}, never);  // above the limit
  add(3, 1, {1}, never);
  add(4, 1, {}, 5);
  add(5, 1, {}, 3);
  REQUIRE(view.waiting.size() == 4);
  CHECK(view.waiting[0].work == 3);
  CHECK(view.waiting[1].cpu_only);
  CHECK(view.waiting[2].excluded == std::vector<std::size_t>{1});
  CHECK(view.waiting[3].tasks.begin()->second.sequence == 5);
  view.lanes.emplace_back().traits = {"device:0", "device", 1, 100, 0};
  stage.candidates.push_back({1, 1, {}, 1, true, 0, 0, 0, 0});
  waiting.lane_added();
  CHECK(view.waiting[0].copy_seconds == std::vector<double>{0, 2});
  CHECK(waiting.remove(1).sequence == 0);
  CHECK(view.waiting[0].work == 2);
  CHECK(view.waiting[0].copy_seconds == std::vector<double>{0, 1});
  CHECK(waiting.remove(2).sequence == 1);
  CHECK(view.waiting[0].work == 0);
  CHECK(waiting.find(2).task == nullptr);
  stage.pinned = 1;
  const std::vector<Task> stranded = waiting.remove_stranded();
  REQUIRE(stranded.size() == 2);
  CHECK(stranded[0].sequence == 2);
  CHECK(stranded[1].sequence == 3);
  CHECK_FALSE(waiting.empty());
}
