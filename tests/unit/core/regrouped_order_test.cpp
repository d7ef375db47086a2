// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A regroup numbers its batches anew: of stages in front of it and behind it the later one goes first, whatever the numbers.
#include <algorithm>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

TEST_CASE("Batches behind a regroup do not wait for all that is in front of it") {
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
    params.milliseconds = 2
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
  // Calls in the order in which they began.
  std::ranges::sort(events.trace, {}, &TraceEvent::start_us);
  int front = 0, behind = 0, behind_at_half = -1;
  for (const TraceEvent& event : events.trace) {
    front += event.name == "front" ? 1 : 0;
    behind += event.name == "behind" ? 1 : 0;
    if (front == 100 && behind_at_half < 0) behind_at_half = behind;
  }
  CHECK(front == 200);
  CHECK(behind == 600);
  // Each as soon as a thread is free, not behind all that waits in front with lower numbers.
  CHECK(behind_at_half >= 200);
}
