// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A regroup numbers its batches anew: of stages in front of it and behind it the later one goes first, whatever the numbers.
#include <algorithm>

#include "sched/scheduler.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

TEST_CASE("Of batches in front of a regroup and behind it the later stage's go first, whatever their numbers") {
  StageTraits front, behind;
  front.name = "front", behind.name = "behind";
  front.implementations = behind.implementations = {{0, "cpu"}};
  behind.depth = 2;
  behind.stream = 1;
  Scheduler scheduler({front, behind}, 1);
  const auto add = [&](std::size_t stage, std::uint64_t sequence) {
    Task task;
    task.stage = stage;
    task.sequence = sequence;
    task.row_count = 1;
    task.size = {1, 1};
    scheduler.add(std::move(task));
  };
  // What a regroup makes of a batch has numbers far behind those that wait in front of it.
  for (std::uint64_t batch = 0; batch < 20; ++batch) add(0, batch);
  std::uint64_t made = 100;
  std::string order;
  double now = 0;
  while (const auto call = scheduler.take(now, {})) {
    order += call->task.stage == 0 ? 'f' : 'b';
    if (call->task.stage == 0)
      for (int i = 0; i < 3; ++i) add(1, made++);
    scheduler.completed(*call, now += 0.01, CallOutcome::finished);
  }
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += "fbbb";
  CHECK(order == expected);
}

TEST_CASE("A run with a regroup between two maps and a device does all that is in front of it and behind it") {
  const FreshAccelerator fresh;
  Events events;
  ToyRun run;
  run.options.threads = 1;
  run.options.device = "simulated";
  run.options.listener = &events;
  const ToyResult result = run(R"(
    [stages.reads]
    use = "toy_source"
    params = { batches = 1, rows = 1 }
    [stages.expanded]
    use = "toy_expand"
    params.per_batch = 200
    [stages.front]
    use = "toy_map"
    [stages.regrouped]
    use = "toy_expand"
    params.per_batch = 3
    [stages.behind]
    use = "toy_map"
    [stages.work]
    use = "simulated_work"
    [stages.out]
    use = "toy_sink"
    params = { column = "worked", output = "${folder}/out" }
  )");
  CAPTURE(result.run.message);
  REQUIRE(result.run.state == RunState::finished);
  const auto calls = [&](const char* stage) { return std::ranges::count(events.trace, stage, &TraceEvent::name); };
  CHECK(calls("front") == 200);
  CHECK(calls("behind") == 600);
}
