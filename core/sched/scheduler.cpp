// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/scheduler.hpp"

#include <algorithm>
#include <cmath>

#include "sched/choice_check.hpp"
#include "sched/estimates.hpp"

namespace sluice {

Scheduler::Scheduler(std::vector<StageTraits> stages, int threads, std::unique_ptr<const Policy> policy)
    : policy_(std::move(policy)), if_refused_(make_policy("first_free")), waiting_(view_), stages_(stages.size()) {
  for (StageTraits& traits : stages) view_.stages.emplace_back().traits = std::move(traits);
  LaneTraits traits;
  traits.slots = threads;
  add_lane(traits, 0);
}

std::size_t Scheduler::add_lane(LaneTraits traits, double now) {
  const std::lock_guard lock(mutex_);
  LaneBooks& books = lanes_.emplace_back(LaneBooks{{}, LaneCalls(now), {}});
  books.statistics.name = traits.name;
  books.statistics.kind = traits.kind;
  books.statistics.slots = traits.slots;
  books.statistics.opened_after_seconds = now;
  view_.lanes.emplace_back().traits = std::move(traits);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) add_candidates(stage, lanes_.size() - 1);
  waiting_.lane_added();
  return lanes_.size() - 1;
}

void Scheduler::add_candidates(std::size_t stage, std::size_t lane) {
  const LaneTraits& lane_traits = view_.lanes[lane].traits;
  const StageTraits& traits = view_.stages[stage].traits;
  for (const StageTraits::Implementation& implementation : traits.implementations) {
    if (implementation.kind != lane_traits.kind) continue;
    if (lane != cpu_lane && !traits.only_lane.empty() && traits.only_lane != lane_traits.name) continue;
    // Threads share their speed, as a call spreads over the idle ones; streams are expected to hide a good part of each other.
    CandidateBooks books{SharedCallCost(lane == cpu_lane ? 4 : 2), lane == cpu_lane, {}};
    books.statistics.stage = stage;
    books.statistics.implementation = implementation.index;
    books.statistics.lane = lane_traits.name;
    stages_[stage].candidates.push_back(std::move(books));
    Candidate& candidate = view_.stages[stage].candidates.emplace_back();
    candidate.lane = lane;
    candidate.implementation = implementation.index;
    show_costs(stage, stages_[stage].candidates.size() - 1);
  }
}

// There is one wherever a call has been made.
std::size_t Scheduler::candidate_of(std::size_t stage, std::size_t lane, std::uint32_t implementation) const {
  const auto& candidates = view_.stages[stage].candidates;
  return static_cast<std::size_t>(
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.lane == lane && c.implementation == implementation; }) -
      candidates.begin());
}

void Scheduler::show_costs(std::size_t stage, std::size_t number) {
  const CandidateBooks& books = stages_[stage].candidates[number];
  Candidate& candidate = view_.stages[stage].candidates[number];
  candidate.cost = books.cost.cost();
  candidate.sharing = books.cost.sharing();
  candidate.known = books.cost.known();
  candidate.observed = books.cost.count();
  candidate.mean_call_seconds = books.statistics.seconds / std::max(books.cost.count(), 1);
}

void Scheduler::prime(std::size_t stage, std::uint32_t implementation, const std::string& lane, const Cost& cost) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < stages_[stage].candidates.size(); ++i) {
    CandidateBooks& books = stages_[stage].candidates[i];
    if (books.statistics.implementation != implementation || books.statistics.lane != lane) continue;
    books.cost.prime(cost);
    show_costs(stage, i);
  }
}

void Scheduler::retire(std::size_t lane, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!view_.lanes[lane].healthy) return;
  view_.lanes[lane].healthy = false;
  lanes_[lane].statistics.retired = true;
  lanes_[lane].statistics.retired_because = why;
  events_.push_back(view_.lanes[lane].traits.name + " was retired: " + why);
}

void Scheduler::pin(std::size_t stage, std::size_t lane) {
  const std::lock_guard lock(mutex_);
  view_.stages[stage].pinned = lane;
}

void Scheduler::add(Task task) {
  const std::lock_guard lock(mutex_);
  view_.stages[task.stage].work += task.size.work;
  if (task.source_work > 0) {
    double& per_source = view_.stages[task.stage].work_per_source;
    const double ratio = task.size.work / task.source_work;
    per_source = per_source == 0 ? ratio : 0.8 * per_source + 0.2 * ratio;
    view_.stages[task.stage].source_work += task.source_work;
  }
  waiting_.add(std::move(task));
}

std::optional<Assignment> Scheduler::take(double now, const SourceProgress& progress) {
  Payloads held;
  const std::lock_guard lock(mutex_);
  if (std::optional<Assignment> ready = take_ready(now, held)) return ready;
  if (waiting_.empty()) return std::nullopt;
  if (began_ < 0) began_ = now;
  if (std::none_of(view_.lanes.begin(), view_.lanes.end(), [](const LaneView& lane) { return lane.has_room(); })) return std::nullopt;
  show_load(now);
  show_progress(now, progress);
  const std::optional<Choice> choice = decide();
  return choice ? std::optional(carry_out(*choice, now, held)) : std::nullopt;
}

// Also where the device is lost: there the call fails, and the part is done elsewhere.
std::optional<Assignment> Scheduler::take_ready(double now, Payloads& held) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    std::deque<Assignment>& ready = lanes_[lane].ready;
    if (ready.empty() || view_.lanes[lane].running >= static_cast<std::size_t>(view_.lanes[lane].traits.slots)) continue;
    held.push_back(ready.front().task.payload);
    Assignment next = std::move(ready.front());
    ready.pop_front();
    return start(std::move(next), now);
  }
  return std::nullopt;
}

void Scheduler::show_load(double now) {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    LaneView& shown = view_.lanes[lane];
    shown.ready = lanes_[lane].ready.size();
    shown.backlog = lanes_[lane].calls.backlog(now);
    for (const Assignment& part : lanes_[lane].ready) {
      const std::size_t number = candidate_of(part.task.stage, lane, part.implementation);
      shown.backlog += view_.stages[part.task.stage].candidates[number].cost.seconds(part.size.work, part.size.largest_row);
    }
  }
}

// By what share of the sources has been read, and without that as long again as it has lasted.
void Scheduler::show_progress(double now, const SourceProgress& progress) {
  view_.source.progress = progress;
  const double elapsed = began_ < 0 ? 0.0 : now - began_;
  view_.source.horizon = progress.ended ? 0.0 : progress.share > 0 ? elapsed * (1.0 - progress.share) / progress.share : elapsed;
}

std::optional<Choice> Scheduler::decide() {
  std::optional<Choice> choice;
  std::string problem;
  try {
    choice = policy_->decide(view_);
    if (choice) problem = problem_with(*choice, view_, waiting_);
  } catch (const std::exception& exception) {
    problem = exception.what();
  }
  // Batches that only the CPU can do end without the scheduler, and it is asked again when they do.
  const bool idle = view_.source.progress.cpu_only_batches == 0 &&
                    std::all_of(lanes_.begin(), lanes_.end(), [](const LaneBooks& lane) { return lane.calls.size() + lane.ready.size() == 0; });
  if (problem.empty() && (choice || !idle)) return choice;
  // Nobody else would ever ask again: a batch that some lane can do is not left lying.
  std::optional<Choice> instead = if_refused_->decide(view_);
  if (instead && !problem_with(*instead, view_, waiting_).empty()) instead.reset();
  if (!problem.empty())
    refuse("a choice that can't be carried out", problem);
  else if (instead)
    refuse("no choice", "batches wait and every lane is idle");
  return instead;
}

void Scheduler::refuse(const std::string& what, const std::string& why) {
  if (++refused_ == 1)
    events_.push_back("internal error: the scheduling policy made " + what + " (" + why +
                      "); the oldest batch was given to the first free lane; run without --policy, and report this");
}

// The first share begins now, the others as soon as their lanes have room.
Assignment Scheduler::carry_out(const Choice& choice, double now, Payloads& held) {
  held.push_back(waiting_.find(choice.task).task->payload);
  for (const std::uint64_t number : choice.more) held.push_back(waiting_.find(number).task->payload);
  const Task task = waiting_.remove(choice.task);
  StageView& stage = view_.stages[task.stage];
  StageBooks& books = stages_[task.stage];
  const bool whole = choice.shares.size() == 1;
  std::vector<Task> more;
  for (const std::uint64_t number : choice.more) more.push_back(waiting_.remove(number));
  stage.batches = books.decisions.batches += 1 + more.size();
  stage.under_way += static_cast<int>(choice.shares.size());
  if (!whole && choice.reason != Reason::trial) ++books.decisions.divided;
  if (task.rows && choice.reason != Reason::trial) stage.divided_last = choice.reason == Reason::division;
  std::vector<Assignment> calls;
  for (const LaneShare& share : choice.shares) {
    const std::size_t number = candidate_of(task.stage, share.lane, share.implementation);
    PlacementStatistics& statistics = books.candidates[number].statistics;
    (whole ? statistics.whole_batches : statistics.parts) += 1 + more.size();
    if (!more.empty()) ++statistics.gathered_calls;
    statistics.tail_rows += share.tail_rows;
    if (choice.reason == Reason::trial && calls.empty()) ++statistics.explored;
    Assignment& call = calls.emplace_back();
    call.lane = share.lane;
    call.implementation = share.implementation;
    call.task = task;
    call.size = task.size;
    call.row_count = task.row_count;
    call.part = calls.size() - 1;
    call.parts = choice.shares.size();
    for (const Task& other : more) {
      call.size.work += other.size.work;
      call.size.largest_row = std::max(call.size.largest_row, other.size.largest_row);
      call.row_count += other.row_count;
    }
    call.more = more;
    if (whole) continue;
    call.rows = share.rows;
    call.row_count = share.rows.size();
    call.size = {};
    for (const std::uint32_t row : share.rows) {
      call.size.work += task.rows->work_of(row);
      call.size.largest_row = std::max(call.size.largest_row, task.rows->work_of(row));
    }
  }
  for (const Assignment& call : calls) {
    Candidate& candidate = stage.candidates[candidate_of(task.stage, call.lane, call.implementation)];
    ++candidate.under_way;
    candidate.work_under_way += call.size.work;
  }
  for (std::size_t i = 1; i < calls.size(); ++i) lanes_[calls[i].lane].ready.push_back(std::move(calls[i]));
  return start(std::move(calls.front()), now);
}

// The copies of a part are its share of the whole batch's.
double Scheduler::share_of_copies(const Assignment& call) const {
  if (!call.more.empty()) {
    double seconds = copy_seconds(view_.lanes, call.task, call.lane);
    for (const Task& other : call.more) seconds += copy_seconds(view_.lanes, other, call.lane);
    return seconds;
  }
  const double share = call.task.size.work > 0 ? call.size.work / call.task.size.work : 1.0;
  return share * copy_seconds(view_.lanes, call.task, call.lane);
}

double Scheduler::expected_seconds(const Assignment& call, const Candidate& candidate) const {
  return candidate.cost.seconds(call.size.work, call.size.largest_row) + share_of_copies(call);
}

Assignment Scheduler::start(Assignment call, double now) {
  const Candidate& candidate = view_.stages[call.task.stage].candidates[candidate_of(call.task.stage, call.lane, call.implementation)];
  call.call = next_call_++;
  lanes_[call.lane].calls.begin(call.call, expected_seconds(call, candidate), candidate.sharing, now);
  view_.lanes[call.lane].running = lanes_[call.lane].calls.size();
  return call;
}

void Scheduler::completed(const Assignment& call, double now, CallOutcome outcome) {
  const std::lock_guard lock(mutex_);
  LaneBooks& lane = lanes_[call.lane];
  const std::optional<LaneCalls::Ended> ended = lane.calls.end(call.call, now);
  if (!ended) return;
  view_.lanes[call.lane].running = lane.calls.size();
  ++lane.statistics.calls;
  lane.statistics.call_seconds += ended->seconds;
  StageView& stage = view_.stages[call.task.stage];
  --stage.under_way;
  const std::size_t number = candidate_of(call.task.stage, call.lane, call.implementation);
  Candidate& candidate = stage.candidates[number];
  CandidateBooks& books = stages_[call.task.stage].candidates[number];
  candidate.work_under_way = --candidate.under_way == 0 ? 0 : candidate.work_under_way - call.size.work;
  candidate.last_used_at = stage.batches;
  if (outcome == CallOutcome::failed) {
    ++books.statistics.failed;
    ++lane.statistics.failed_calls;
    return;
  }
  books.statistics.rows += call.row_count;
  books.statistics.work += call.size.work;
  books.statistics.seconds += ended->seconds;
  // The copies are estimated for each batch by where its columns lie: what is learned is the call without them.
  if (books.warm) {
    books.cost.observe(call.size.work, call.size.largest_row, ended->seconds - std::min(share_of_copies(call), 0.9 * ended->seconds),
                       ended->mean_calls);
    candidate.largest_work = std::max(candidate.largest_work, call.size.work);
  }
  books.warm = true;
  show_costs(call.task.stage, number);
}

std::vector<Task> Scheduler::stranded() {
  const std::lock_guard lock(mutex_);
  return waiting_.remove_stranded();
}

std::optional<Assignment> Scheduler::give_up() {
  const std::lock_guard lock(mutex_);
  for (LaneBooks& lane : lanes_) {
    if (lane.ready.empty()) continue;
    Assignment part = std::move(lane.ready.front());
    lane.ready.pop_front();
    return part;
  }
  std::optional<Task> task = waiting_.remove_any();
  if (!task) return std::nullopt;
  Assignment whole;
  whole.task = std::move(*task);
  return whole;
}

double Scheduler::batch_work(double usual, double largest, const SourceProgress& progress) {
  const std::lock_guard lock(mutex_);
  view_.source.progress = progress;
  double work = policy_->batch_size(view_, usual, largest);
  if (!std::isfinite(work) || work <= 0 || work > std::max(usual, largest)) {
    refuse("a wish for a batch that can't be read", std::to_string(work) + " units of work");
    work = usual;
  }
  view_.source.read_work += work;
  return work;
}

SchedulerStatistics Scheduler::statistics(double now) const {
  const std::lock_guard lock(mutex_);
  SchedulerStatistics result;
  result.refused_choices = refused_;
  for (const LaneBooks& lane : lanes_) result.lanes.emplace_back(lane.statistics).busy_seconds = lane.calls.busy_seconds(now);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const std::vector<Candidate>& candidates = view_.stages[stage].candidates;
    result.stages.push_back(stages_[stage].decisions);
    if (candidates.empty() || (candidates.size() == 1 && candidates.front().on_cpu())) continue;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      PlacementStatistics& placement = result.placements.emplace_back(stages_[stage].candidates[i].statistics);
      placement.constant = candidates[i].cost.constant;
      placement.per_work = candidates[i].cost.per_work;
      placement.per_largest_row = candidates[i].cost.per_largest_row;
      placement.sharing = candidates[i].sharing;
      placement.calls_at_once = static_cast<int>(useful_calls(view_, candidates[i]));
    }
  }
  return result;
}

std::vector<std::string> Scheduler::decisions() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result = events_;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    if (stages_[stage].candidates.size() < 2) continue;
    std::string line = "stage '" + view_.stages[stage].traits.name + "':";
    for (const CandidateBooks& candidate : stages_[stage].candidates) {
      const PlacementStatistics& done = candidate.statistics;
      line += " " + done.lane + " " + std::to_string(done.whole_batches) + " batches";
      if (done.parts > 0) line += " and " + std::to_string(done.parts) + " parts";
      if (done.seconds > 0) line += " at " + std::to_string(done.work / done.seconds) + " per second of a call";
      line += ";";
    }
    result.push_back(line);
  }
  return result;
}

}  // namespace sluice
