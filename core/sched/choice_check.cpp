// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/choice_check.hpp"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

std::string problem_with_place(const LaneShare& share, const View& view, const WaitingGroup& group) {
  if (share.lane >= view.lanes.size()) return "there is no lane " + std::to_string(share.lane);
  const auto& candidates = view.stages[group.stage].candidates;
  const auto candidate = std::find_if(candidates.begin(), candidates.end(),
                                      [&](const Candidate& c) { return c.lane == share.lane && c.implementation == share.implementation; });
  const std::string& lane = view.lanes[share.lane].traits.name;
  if (candidate == candidates.end()) return "lane " + lane + " has no implementation " + std::to_string(share.implementation) + " of the stage";
  if (!view.may_do(group, *candidate)) return "lane " + lane + " may not do this batch";
  return "";
}

// Every row once, and none where it may not be.
std::string problem_with_rows(const Choice& choice, const View& view, const WaitingGroup& group, const Task& task) {
  const bool limited = view.rows_for_cpu(group, task) > 0;
  if (choice.shares.size() == 1 && choice.shares.front().rows.empty())
    return limited && choice.shares.front().lane != cpu_lane ? "rows above max_row_work are the CPU's" : "";
  if (!task.rows || view.stages[group.stage].traits.serial) return "the batch can't be divided";
  std::vector<bool> placed(task.rows->rows(), false);
  std::size_t rows = 0;
  for (const LaneShare& share : choice.shares) {
    if (share.rows.empty()) return "a share of a divided batch has no rows";
    if (!std::is_sorted(share.rows.begin(), share.rows.end())) return "rows of a share are not in ascending order";
    for (const std::uint32_t row : share.rows) {
      if (row >= placed.size()) return "there is no row " + std::to_string(row);
      if (placed[row]) return "row " + std::to_string(row) + " is placed twice";
      if (limited && share.lane != cpu_lane && task.rows->work_of(row) > view.stages[group.stage].traits.max_row_work)
        return "rows above max_row_work are the CPU's";
      placed[row] = true;
    }
    rows += share.rows.size();
  }
  return rows == placed.size() ? "" : std::to_string(placed.size() - rows) + " rows are placed nowhere";
}

// Whole batches of one kind, on a device.
std::string problem_with_gathering(const Choice& choice, const View& view, const WaitingTasks& waiting, const WaitingGroup& group,
                                   const Task& first) {
  if (choice.more.empty()) return "";
  if (choice.shares.size() != 1 || !choice.shares.front().rows.empty()) return "a batch that is divided can't be gathered with others";
  if (choice.shares.front().lane == cpu_lane) return "only calls on devices take several batches";
  if (first.like == 0) return "the batch can't be gathered with others";
  std::set<std::uint64_t> tasks = {choice.task};
  for (const std::uint64_t number : choice.more) {
    const auto [of, task] = waiting.find(number);
    if (task == nullptr) return "no task " + std::to_string(number) + " waits";
    if (of != &group || task->like != first.like) return "batches of different kinds can't be gathered";
    if (!tasks.insert(number).second) return "task " + std::to_string(number) + " is gathered twice";
    if (view.rows_for_cpu(group, *task) > 0) return "rows above max_row_work are the CPU's";
  }
  return "";
}

}  // namespace

std::string problem_with(const Choice& choice, const View& view, const WaitingTasks& waiting) {
  const auto [group, task] = waiting.find(choice.task);
  if (task == nullptr) return "no task " + std::to_string(choice.task) + " waits";
  if (choice.shares.empty()) return "it has no shares";
  for (const LaneShare& share : choice.shares)
    if (const std::string problem = problem_with_place(share, view, *group); !problem.empty()) return problem;
  const LaneView& first = view.lanes[choice.shares.front().lane];
  if (!first.has_room()) return "lane " + first.traits.name + " has no room";
  if (!view.may_begin(view.stages[group->stage])) return "the stage makes one call at a time, and makes it now";
  if (const std::string problem = problem_with_gathering(choice, view, waiting, *group, *task); !problem.empty()) return problem;
  return problem_with_rows(choice, view, *group, *task);
}

}  // namespace sluice
