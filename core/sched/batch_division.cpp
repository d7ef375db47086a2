// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/batch_division.hpp"

#include <algorithm>

#include "sched/estimates.hpp"
#include "sched/gathering.hpp"

namespace sluice {
namespace {

// A division costs two calls, copies and a join: it must be expected to finish a tenth earlier. Once a stage divides, the next batch is
// divided for less, so that noise does not change the mind.
constexpr double division_gain = 0.90, division_gain_again = 0.97;
// What lanes beyond two must gain over the best division between two.
constexpr double further_lanes_gain = 0.97;
// Copying rows out of a batch and joining the results: a memcpy each way.
constexpr double join_bytes_per_second = 2e9, join_seconds = 20e-6;
// The part of a batch that tries out a lane nobody has timed.
constexpr double explored_share = 0.125;

}  // namespace

BatchDivision::BatchDivision(const View& view, const WaitingGroup& group, const Task& task, const Candidate& chosen)
    : view_(view), group_(group), task_(task), chosen_(chosen), gain_(view.stages[group.stage].divided_last ? division_gain_again : division_gain) {
  for (const Candidate& candidate : view.stages[group.stage].candidates)
    if (candidate.on_cpu() && view.may_do(group, candidate)) on_cpu_ = &candidate;
  least_ = view.rows_for_cpu(group, task);
  cpu_may_help_ = on_cpu_ != nullptr && (group.urgent || chosen.on_cpu() || !DeviceOutlook(view, group, task).done_before_cpu(*on_cpu_));
}

bool BatchDivision::possible() const { return task_.rows && task_.rows->rows() > 1 && !view_.stages[group_.stage].traits.serial; }

// For lanes other than the chosen one.
bool BatchDivision::nothing_else_waits() const {
  return std::none_of(view_.waiting.begin(), view_.waiting.end(), [&](const WaitingGroup& group) {
    const auto& candidates = view_.stages[group.stage].candidates;
    return group.tasks.size() > (&group == &group_ ? 1u : 0u) &&
           std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.lane != chosen_.lane && view_.may_do(group, c); });
  });
}

// The device that shares the batch with the CPU: the chosen one, or that which would have done it first. Null: there is none.
const Candidate* BatchDivision::partner() const {
  if (!chosen_.on_cpu()) return &chosen_;
  const Candidate* soonest = nullptr;
  for (const Candidate& candidate : view_.stages[group_.stage].candidates) {
    if (candidate.on_cpu() || !candidate.known || !view_.may_do(group_, candidate)) continue;
    if (soonest == nullptr || finish_seconds(view_, task_, candidate) < finish_seconds(view_, task_, *soonest)) soonest = &candidate;
  }
  return soonest;
}

double BatchDivision::join_cost(std::size_t parts) const {
  return (task_.bytes + task_.bytes_away) / join_bytes_per_second + join_seconds * static_cast<double>(parts - 1);
}

DivisionSide BatchDivision::side(const Candidate& candidate, double calls) const {
  const LaneView& lane = view_.lanes[candidate.lane];
  return {candidate.cost, candidate.sharing, lane.backlog, std::min<double>(calls, lane.traits.slots),
          copy_seconds(view_.lanes, task_, candidate.lane)};
}

// Beside what the lane has to do already.
DivisionSide BatchDivision::idle_side(const Candidate& candidate) const {
  const LaneView& lane = view_.lanes[candidate.lane];
  return side(candidate, static_cast<double>(lane.running + lane.ready) + 1.0);
}

// The chosen lane's share comes first: it is the one that begins now.
Choice BatchDivision::with_cpu(const Candidate& device, std::size_t largest, std::size_t tail, Reason reason) const {
  Choice choice{task_.number, {}, reason};
  choice.shares.push_back({on_cpu_->lane, on_cpu_->implementation, task_.rows->between(0, largest), tail});
  choice.shares.push_back({device.lane, device.implementation, task_.rows->between(largest, task_.rows->rows()), 0});
  if (!chosen_.on_cpu()) std::swap(choice.shares.front(), choice.shares.back());
  return choice;
}

// The smallest rows, together at most an eighth of the work.
std::optional<Choice> BatchDivision::trial() const {
  if (!possible() || on_cpu_ == nullptr || chosen_.on_cpu()) return std::nullopt;
  std::size_t largest = task_.rows->rows() - 1;
  while (largest > std::max<std::size_t>(least_, 1) && task_.rows->other_work(largest - 1) <= explored_share * task_.size.work) --largest;
  return with_cpu(chosen_, largest, least_, Reason::trial);
}

std::optional<Choice> BatchDivision::best() const {
  if (!possible() || least_ == task_.rows->rows()) return std::nullopt;
  const Candidate* device = partner();
  if (std::optional<Choice> choice = nothing_else_waits() ? at_the_end(device) : without_tail()) return choice;
  if (least_ > 0 && device != nullptr) return with_cpu(*device, least_, least_, Reason::row_limit);
  return std::nullopt;
}

// Nothing else waits: as many lanes as it takes to be done first.
std::optional<Choice> BatchDivision::at_the_end(const Candidate* device) const {
  std::optional<Found> two = device == nullptr ? std::nullopt : in_two(*device);
  if (two && two->seconds >= gain_ * std::min(finish_seconds(view_, task_, *on_cpu_), finish_seconds(view_, task_, *device))) two.reset();
  std::optional<Found> all = over_all();
  const double otherwise = two ? further_lanes_gain * two->seconds : gain_ * finish_seconds(view_, task_, chosen_);
  if (all && all->seconds < otherwise) return std::move(all->choice);
  return two ? std::optional(std::move(two->choice)) : std::nullopt;
}

std::optional<BatchDivision::Found> BatchDivision::in_two(const Candidate& device) const {
  if (!cpu_may_help_ || !on_cpu_->known || !device.known) return std::nullopt;
  const auto division = balanced_division(*task_.rows, idle_side(*on_cpu_), idle_side(device), least_);
  if (!division) return std::nullopt;
  return Found{with_cpu(device, division->largest, least_, Reason::division), division->seconds + join_cost(2)};
}

// Over every lane whose speed is known; while there is more to read only over those that are idle, as a busy one does more with whole batches.
// Nothing: they are no more than the CPU and a device would be, or the chosen one would get no rows.
std::optional<BatchDivision::Found> BatchDivision::over_all() const {
  std::vector<const Candidate*> lanes;
  for (const Candidate& candidate : view_.stages[group_.stage].candidates) {
    if (!candidate.known || !view_.may_do(group_, candidate) || (candidate.on_cpu() && !cpu_may_help_)) continue;
    const LaneView& lane = view_.lanes[candidate.lane];
    if (&candidate != &chosen_ && view_.source.horizon > 0 && lane.running + lane.ready > 0) continue;
    const bool once = std::none_of(lanes.begin(), lanes.end(), [&](const Candidate* other) { return other->lane == candidate.lane; });
    if (once) lanes.push_back(&candidate);
  }
  // The largest rows go to the CPU, the next to the devices that mind them least.
  std::stable_sort(lanes.begin(), lanes.end(), [](const Candidate* a, const Candidate* b) {
    return a->on_cpu() != b->on_cpu() ? a->on_cpu() : a->cost.per_largest_row < b->cost.per_largest_row;
  });
  if (lanes.size() < (on_cpu_ != nullptr ? 3 : 2) || (least_ > 0 && !lanes.front()->on_cpu())) return std::nullopt;
  std::vector<DivisionSide> sides;
  for (const Candidate* candidate : lanes) sides.push_back(idle_side(*candidate));
  const Spread spread = balanced_spread(*task_.rows, sides, least_);
  Choice choice{task_.number, {}, Reason::division};
  for (std::size_t i = 0, begin = 0; i < lanes.size(); begin = spread.ends[i++]) {
    if (spread.ends[i] == begin) continue;
    choice.shares.push_back({lanes[i]->lane, lanes[i]->implementation, task_.rows->between(begin, spread.ends[i]), i == 0 ? least_ : 0});
  }
  const auto mine = std::find_if(choice.shares.begin(), choice.shares.end(), [&](const LaneShare& share) { return share.lane == chosen_.lane; });
  if (mine == choice.shares.end() || choice.shares.size() < 2) return std::nullopt;
  std::rotate(choice.shares.begin(), mine, mine + 1);
  const double seconds = spread.seconds + join_cost(choice.shares.size());
  return Found{std::move(choice), seconds};
}

// Other batches wait too: a device is spared the rows that would hold it up for longer than their share of the work.
std::optional<Choice> BatchDivision::without_tail() const {
  if (chosen_.on_cpu() || on_cpu_ == nullptr || !on_cpu_->known || !chosen_.known) return std::nullopt;
  const double threads = view_.lanes[cpu_lane].traits.slots, all_streams = 1e9;
  const auto division = tail_division(*task_.rows, side(*on_cpu_, threads), side(chosen_, all_streams), least_);
  const double whole = call_seconds(view_, task_, chosen_) / parallel_calls(view_, chosen_);
  if (!division || division->seconds <= join_cost(2) + (1.0 - gain_) * whole) return std::nullopt;
  return with_cpu(chosen_, division->largest, division->largest, Reason::division);
}

}  // namespace sluice
