// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/waiting_tasks.hpp"

#include <algorithm>
#include <cmath>

#include "sched/estimates.hpp"

namespace sluice {
namespace {

// Rows above the limit are the CPU's; a stage that makes one call at a time does not divide its batches.
bool only_for_cpu(const StageView& stage, const Task& task) {
  if (!task.rows || std::none_of(stage.candidates.begin(), stage.candidates.end(), [](const Candidate& c) { return c.on_cpu(); })) return false;
  const std::size_t above = task.rows->rows_above(stage.traits.max_row_work);
  return above == task.rows->rows() || (above > 0 && stage.traits.serial);
}

}  // namespace

// There are few: two for a stage, more where lanes have failed.
std::size_t WaitingTasks::group_of(const Task& task) {
  WaitingGroup wanted;
  wanted.stage = task.stage;
  wanted.urgent = std::isfinite(task.deadline);
  wanted.cpu_only = only_for_cpu(view_.stages[task.stage], task);
  wanted.excluded = task.excluded;
  std::sort(wanted.excluded.begin(), wanted.excluded.end());
  const auto found = std::find_if(view_.waiting.begin(), view_.waiting.end(), [&](const WaitingGroup& group) {
    return group.stage == wanted.stage && group.urgent == wanted.urgent && group.cpu_only == wanted.cpu_only && group.excluded == wanted.excluded;
  });
  if (found != view_.waiting.end()) return static_cast<std::size_t>(found - view_.waiting.begin());
  wanted.copy_seconds.resize(view_.lanes.size());
  view_.waiting.push_back(std::move(wanted));
  return view_.waiting.size() - 1;
}

void WaitingTasks::count(WaitingGroup& group, const Task& task, double sign) const {
  group.work += sign * task.size.work;
  group.largest_row += sign * task.size.largest_row;
  for (std::size_t lane = 0; lane < group.copy_seconds.size(); ++lane) group.copy_seconds[lane] += sign * copy_seconds(view_.lanes, task, lane);
}

void WaitingTasks::add(Task task) {
  task.number = next_number_++;
  const Place place{group_of(task), {task.deadline, task.sequence, task.number}};
  places_.emplace(task.number, place);
  WaitingGroup& group = view_.waiting[place.group];
  count(group, task, 1);
  group.tasks.emplace(place.turn, std::move(task));
}

WaitingTasks::Found WaitingTasks::find(std::uint64_t number) const {
  const auto found = places_.find(number);
  if (found == places_.end()) return {};
  const WaitingGroup& group = view_.waiting[found->second.group];
  return {&group, &group.tasks.at(found->second.turn)};
}

Task WaitingTasks::remove(std::uint64_t number) {
  const Place place = places_.at(number);
  places_.erase(number);
  WaitingGroup& group = view_.waiting[place.group];
  Task task = std::move(group.tasks.extract(place.turn).mapped());
  count(group, task, -1);
  if (group.tasks.empty()) {
    // Rounding does not add up over a run.
    group.work = group.largest_row = 0;
    std::fill(group.copy_seconds.begin(), group.copy_seconds.end(), 0.0);
  }
  return task;
}

std::vector<Task> WaitingTasks::remove_stranded() {
  std::vector<Task> result;
  for (WaitingGroup& group : view_.waiting) {
    const auto& candidates = view_.stages[group.stage].candidates;
    if (std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) { return view_.may_do(group, candidate); })) continue;
    if (!group.tasks.empty()) result.reserve(places_.size());  // once: no task may be lost for want of room
    while (!group.tasks.empty()) result.push_back(remove(group.tasks.begin()->second.number));
  }
  return result;
}

std::optional<Task> WaitingTasks::remove_any() {
  for (WaitingGroup& group : view_.waiting)
    if (!group.tasks.empty()) return remove(group.tasks.begin()->second.number);
  return std::nullopt;
}

void WaitingTasks::lane_added() {
  for (WaitingGroup& group : view_.waiting) {
    double& seconds = group.copy_seconds.emplace_back(0.0);
    for (const auto& [turn, task] : group.tasks) seconds += copy_seconds(view_.lanes, task, view_.lanes.size() - 1);
  }
}

}  // namespace sluice
