// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/gathering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/estimates.hpp"

namespace sluice {
namespace {

// A call may take many times the bytes of its input on the device: what it gives, and what it works with; and some are under way at once.
constexpr double memory_per_input_byte = 64;

// The work of a call of which a twentieth is constant, and never less than eight batches: calls of one size would not show what of their time is
// constant (the first calls, of which nothing is known, are smaller). The largest row counts as constant, as nothing hides it but other rows.
double efficient_work(const Candidate& candidate, double batch_work, double largest_row) {
  const double constant = candidate.cost.constant + candidate.cost.per_largest_row * largest_row;
  const double known = candidate.cost.per_work > 0 ? 20.0 * constant / candidate.cost.per_work : std::numeric_limits<double>::infinity();
  const int sizes = 8 << candidate.observed % 3, first = 1 << std::min(candidate.observed, 5);
  return first < sizes ? batch_work * first : std::max(known, batch_work * sizes);
}

// The work of a call of which half is constant. Shorter calls would hardly end earlier, and there would be more of them, one behind the other: the
// end of a run then takes many times what is constant.
double least_work(const Candidate& candidate, double largest_row) {
  const double constant = candidate.cost.constant + candidate.cost.per_largest_row * largest_row;
  return candidate.cost.per_work > 0 ? constant / candidate.cost.per_work : 0.0;
}

// What part of the group's work is the candidate's, if all lanes are to end together.
double share_of(const View& view, const WaitingGroup& group, const Candidate& candidate) {
  const auto tasks = static_cast<double>(std::max<std::size_t>(group.tasks.size(), 1));
  const auto rate = [&](const Candidate& c) {
    const double seconds = c.cost.seconds(group.work / tasks, group.largest_row / tasks) + group.copy_seconds[c.lane] / tasks;
    return parallel_calls(view, c) / std::max(seconds, 1e-9);
  };
  const double mine = rate(candidate);
  double others = 0;
  for (const Candidate& other : view.stages[group.stage].candidates)
    if (&other != &candidate && view.may_do(group, other)) others += other.known ? rate(other) : mine;  // who knows
  return mine / (mine + others);
}

// What the candidate should take of the group: what it has begun is part of its share. Calls that each took a share of what waits would leave nothing
// to the other lanes until the source goes on.
double still_its_own(const View& view, const WaitingGroup& group, const Candidate& candidate) {
  const double under_way = candidate.work_under_way;
  return share_of(view, group, candidate) * (group.work + under_way) - under_way;
}

// What waits and what is still to be read.
double work_left(const View& view, const WaitingGroup& group) {
  const SourceView& source = view.source;
  const double share = source.progress.share;
  // Where nobody knows how much there is to read, the end is taken to be near: calls stay shorter.
  const double unread = source.progress.ended || share <= 0 ? 0 : source.read_work * (1.0 - share) / share;
  return group.work + unread * view.stages[group.stage].work_per_source;
}

// How much work is still to come to a stage, relative to what has come. Where nobody knows how much there is to read, it is taken to be as much as
// has been read.
double still_to_come(const View& view, const StageView& stage) {
  const SourceView& source = view.source;
  double come = source.progress.ended ? 1.0 : source.progress.share > 0 ? source.progress.share : 0.5;
  if (stage.source_work > 0 && source.read_work > 0) come *= std::min(stage.source_work / source.read_work, 1.0);
  return (1.0 - come) / std::max(come, 1e-6);
}

}  // namespace

Gathering tasks_to_gather(const View& view, const WaitingGroup& group, const Task& first, const Candidate& candidate) {
  Gathering result;
  if (candidate.on_cpu() || !candidate.known || group.urgent || first.like == 0) return result;
  const double memory = view.lanes[candidate.lane].traits.memory_bytes;
  const double most_bytes = memory > 0 ? memory / memory_per_input_byte : std::numeric_limits<double>::infinity();
  // What waits is for all calls that overlap; and never all of a lane's share of the rest: calls get shorter towards the end of a run, so that all
  // lanes end together.
  const int overlap = calls_that_overlap(view, candidate);
  const double of_the_rest = share_of(view, group, candidate) * work_left(view, group) / (2.0 * overlap);
  const double most_work = std::max(std::min(still_its_own(view, group, candidate) / std::max(1, overlap - candidate.under_way), of_the_rest),
                                    least_work(candidate, first.size.largest_row));
  double work = first.size.work, largest_row = first.size.largest_row, bytes = first.bytes;
  const Candidate* on_cpu = nullptr;
  for (const Candidate& other : view.stages[group.stage].candidates)
    if (other.on_cpu() && other.known && view.may_do(group, other)) on_cpu = &other;
  for (const auto& [turn, task] : group.tasks) {
    if (work >= efficient_work(candidate, first.size.work, largest_row)) break;
    if (task.number == first.number || task.like != first.like || view.rows_for_cpu(group, task) > 0) continue;
    // A row that would hold the call up for longer than the CPU needs for all of its batch is left to the CPU.
    const double longer = candidate.cost.per_largest_row * std::max(0.0, task.size.largest_row - largest_row);
    if (on_cpu != nullptr && longer > call_seconds(view, task, *on_cpu)) continue;
    if (work + task.size.work > most_work || bytes + task.bytes > most_bytes) break;
    work += task.size.work;
    largest_row = std::max(largest_row, task.size.largest_row);
    bytes += task.bytes;
    result.more.push_back(task.number);
  }
  result.hides_largest_row = !result.more.empty() && candidate.cost.per_largest_row * largest_row < 0.1 * candidate.cost.seconds(work, largest_row);
  return result;
}

DeviceOutlook::DeviceOutlook(const View& view, const WaitingGroup& group, const Task& task) : view_(view), group_(group), task_(task) {
  for (const Candidate& device : view.stages[group.stage].candidates) {
    if (device.on_cpu() || !device.known || !view.may_do_whole(group, task, device)) continue;
    // In calls of many batches what is constant does not count.
    const double copies = copy_seconds(view.lanes, task, device.lane);
    const double seconds = device.cost.per_work > 0 ? device.cost.per_work * task.size.work + copies : call_seconds(view, task, device);
    const double parallel = parallel_calls(view, device);
    rate_ += parallel * task.size.work / std::max(seconds, 1e-9);
    rate_with_row_ += parallel * task.size.work / std::max(seconds + device.cost.per_largest_row * task.size.largest_row, 1e-9);
    under_way_ = std::max(under_way_, view.lanes[device.lane].backlog / parallel);
    if (device.under_way > 0) next_calls_ += device.work_under_way / device.under_way;
  }
  to_come_ = still_to_come(view, view.stages[group.stage]);
}

bool DeviceOutlook::done_before_cpu(const Candidate& on_cpu) const {
  const double only_on_cpu = view_.source.progress.cpu_seconds;
  if (rate_ <= 0 || only_on_cpu <= 0) return false;
  const LaneView& cpu = view_.lanes[cpu_lane];
  const double on_devices = under_way_ + (group_.work + to_come_ * view_.stages[group_.stage].work) / rate_;
  return on_devices <= (to_come_ * only_on_cpu + cpu.backlog + call_seconds(view_, task_, on_cpu)) / cpu.traits.slots;
}

bool DeviceOutlook::cpu_adds_little(const Candidate& on_cpu) const {
  // A call on the CPU lasts as long as many batches on a device, and keeps a thread from the work that feeds it, or makes its calls' host parts
  // slower.
  constexpr double little = 0.15;
  const StageView& stage = view_.stages[group_.stage];
  if (rate_ <= 0 || stage.work <= 0 || (group_.tasks.size() == 1 && under_way_ <= 0)) return false;
  // The threads that it takes to bring what the devices do, and to do what is behind it.
  const double busy = rate_ * view_.source.progress.cpu_seconds / stage.work / view_.lanes[cpu_lane].traits.slots;
  const double rate = parallel_calls(view_, on_cpu) * task_.size.work / call_seconds(view_, task_, on_cpu);
  return std::max(1.0 - busy, 0.0) * rate < little * rate_with_row_;
}

bool DeviceOutlook::would_run_dry(const Candidate& on_cpu) const {
  const double only_on_cpu = view_.source.progress.cpu_seconds;
  if (rate_ <= 0 || only_on_cpu <= 0 || to_come_ <= 0) return false;
  const LaneView& cpu = view_.lanes[cpu_lane];
  const double others = std::max(cpu.traits.slots - static_cast<double>(cpu.running) - 1.0, 0.0);
  const double taken = (rate_ - others * view_.stages[group_.stage].work / only_on_cpu) * call_seconds(view_, task_, on_cpu);
  return group_.work - task_.size.work < std::max(next_calls_, taken);
}

bool waits_for_more(const View& view, const WaitingGroup& group, const Candidate& candidate) {
  if (candidate.on_cpu() || !candidate.known || group.urgent || group.tasks.empty() || candidate.under_way < calls_that_overlap(view, candidate))
    return false;
  if (view.source.progress.ended || group.tasks.begin()->second.like == 0) return false;
  const auto tasks = static_cast<double>(group.tasks.size());
  return still_its_own(view, group, candidate) < efficient_work(candidate, group.work / tasks, group.largest_row / tasks);
}

}  // namespace sluice
