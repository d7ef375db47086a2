// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/choice_check.hpp"

#include <algorithm>

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
  return problem_with_rows(choice, view, *group, *task);
}

}  // namespace sluice
