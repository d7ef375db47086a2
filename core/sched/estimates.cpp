// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/estimates.hpp"

#include <algorithm>
#include <cmath>

namespace sluice {

double copy_seconds(const std::vector<LaneView>& lanes, const Task& task, std::size_t lane) {
  const auto copies = [&](std::size_t device, double bytes) {
    const LaneTraits& traits = lanes[device].traits;
    return bytes <= 0 ? 0.0 : traits.seconds_per_copy * task.columns + bytes / std::max(traits.bytes_per_second, 1.0);
  };
  const double fetch = task.home > 0 ? copies(static_cast<std::size_t>(task.home), task.bytes_away) : 0.0;
  if (lane == cpu_lane) return fetch;
  if (task.home == static_cast<int>(lane)) return copies(lane, task.bytes - task.bytes_away);
  return fetch + copies(lane, task.bytes);
}

double call_seconds(const View& view, const Task& task, const Candidate& candidate) {
  return std::max(candidate.cost.seconds(task.size.work, task.size.largest_row) + copy_seconds(view.lanes, task, candidate.lane), 1e-9);
}

int calls_that_overlap(const View& view, const Candidate& candidate) {
  const int slots = view.lanes[candidate.lane].traits.slots;
  return candidate.sharing * slots <= 1.0 ? std::max(slots, 2) : std::max(2, static_cast<int>(std::lround(1.0 / candidate.sharing)));
}

// Near the end of the run many more than overlap would keep batches waiting that another lane could do; while the end is far they do no harm, and
// would show if the device had become faster side by side.
std::size_t most_calls(const View& view, const Candidate& candidate, double horizon) {
  const auto slots = static_cast<std::size_t>(view.lanes[candidate.lane].traits.slots);
  if (candidate.on_cpu() || horizon > static_cast<double>(slots) * candidate.mean_call_seconds) return slots;
  return std::min(slots, 3 * static_cast<std::size_t>(calls_that_overlap(view, candidate)) / 2);
}

// A device begins with one, so that the first calls show how much they slow each other.
std::size_t calls_by_now(const View& view, const Candidate& candidate) {
  return candidate.on_cpu() ? static_cast<std::size_t>(view.lanes[candidate.lane].traits.slots) : 1 + static_cast<std::size_t>(candidate.observed);
}

std::size_t useful_calls(const View& view, const Candidate& candidate) {
  return std::min(most_calls(view, candidate, 0), calls_by_now(view, candidate));
}

double parallel_calls(const View& view, const Candidate& candidate) {
  return speedup(candidate.sharing, static_cast<double>(useful_calls(view, candidate)));
}

double finish_seconds(const View& view, const Task& task, const Candidate& candidate) {
  const LaneView& lane = view.lanes[candidate.lane];
  const double seconds = call_seconds(view, task, candidate);
  const double calls = std::min<double>(static_cast<double>(lane.running + lane.ready) + 1.0, lane.traits.slots);
  return std::max((lane.backlog + seconds) / speedup(candidate.sharing, calls), seconds);
}

// A group counts as so many tasks of its mean size: exact where one lane is left, else a little too long for tasks of very different shape.
double waiting_seconds_without(const View& view, std::size_t lane) {
  double seconds = 0;
  for (const WaitingGroup& group : view.waiting) {
    if (group.tasks.empty()) continue;
    const auto tasks = static_cast<double>(group.tasks.size());
    const bool gathers = group.tasks.begin()->second.like != 0;
    double rates = 0;
    for (const Candidate& other : view.stages[group.stage].candidates) {
      if (other.lane == lane || !other.known || !view.may_do(group, other)) continue;
      // On a device they would be in calls of many.
      const double constant = gathers && !other.on_cpu() && other.cost.per_work > 0 ? other.cost.constant : 0.0;
      const double of_task = other.cost.seconds(group.work / tasks, group.largest_row / tasks) - constant;
      rates += parallel_calls(view, other) / std::max(of_task + group.copy_seconds[other.lane] / tasks, 1e-9);
    }
    if (rates > 0) seconds += tasks / rates;
  }
  return seconds;
}

}  // namespace sluice
