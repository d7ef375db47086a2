// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/scheduler.hpp"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr std::size_t cpu = 0;
// A division costs two calls, copies and a join: it must be expected to finish a tenth earlier. Once a stage divides, the next batch is
// divided for less, so that noise does not change the mind.
constexpr double division_gain = 0.90, division_gain_again = 0.97;
// Copying rows out of a batch and joining the results: a memcpy each way.
constexpr double join_bytes_per_second = 2e9, join_seconds = 20e-6;
// The part of a batch that tries out a lane nobody has timed.
constexpr double explored_share = 0.125;
// A lane that has not been used for so many batches of a stage (times how much slower it was) is tried once more.
constexpr std::uint64_t explore_again_after = 64;

}  // namespace

Scheduler::Scheduler(std::vector<StageTraits> stages, int threads) : threads_(threads) {
  for (StageTraits& traits : stages) stages_.push_back({std::move(traits)});
  LaneTraits traits;
  traits.slots = threads;
  add_lane(traits, 0);
}

std::size_t Scheduler::add_lane(LaneTraits traits, double now) {
  const std::lock_guard lock(mutex_);
  Unit& unit = units_.emplace_back();
  unit.statistics.name = traits.name;
  unit.statistics.kind = traits.kind;
  unit.statistics.slots = traits.slots;
  unit.statistics.opened_after_seconds = now;
  unit.last_change = now;
  unit.traits = std::move(traits);
  for (StageState& stage : stages_) add_candidates(stage, units_.size() - 1);
  return units_.size() - 1;
}

void Scheduler::add_candidates(StageState& stage, std::size_t lane) {
  const LaneTraits& traits = units_[lane].traits;
  for (const StageTraits::Implementation& implementation : stage.traits.implementations) {
    if (implementation.kind != traits.kind) continue;
    if (lane != cpu && !stage.traits.only_lane.empty() && stage.traits.only_lane != traits.name) continue;
    // Threads share their speed, as a call spreads over the idle ones; streams are expected to hide a good part of each other.
    Candidate candidate{lane, implementation.index, SharedCallCost(lane == cpu ? 4 : 2), lane == cpu, 0, 0, {}};
    candidate.statistics.stage = static_cast<std::size_t>(&stage - stages_.data());
    candidate.statistics.implementation = implementation.index;
    candidate.statistics.lane = traits.name;
    stage.candidates.push_back(std::move(candidate));
  }
}

void Scheduler::prime(std::size_t stage, std::uint32_t implementation, const std::string& lane, const Cost& cost) {
  const std::lock_guard lock(mutex_);
  for (Candidate& candidate : stages_[stage].candidates)
    if (candidate.implementation == implementation && units_[candidate.lane].traits.name == lane) candidate.cost.prime(cost);
}

void Scheduler::retire(std::size_t lane, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Unit& unit = units_[lane];
  if (!unit.healthy) return;
  unit.healthy = false;
  unit.statistics.retired = true;
  unit.statistics.retired_because = why;
  events_.push_back(unit.traits.name + " was retired: " + why);
}

void Scheduler::add(Task task) {
  const std::lock_guard lock(mutex_);
  StageState& stage = stages_[task.stage];
  if (task.source_work > 0) {
    const double ratio = task.size.work / task.source_work;
    stage.work_per_source = stage.work_per_source == 0 ? ratio : 0.8 * stage.work_per_source + 0.2 * ratio;
    stage.mean_source_work = stage.mean_source_work == 0 ? task.source_work : 0.8 * stage.mean_source_work + 0.2 * task.source_work;
  }
  task.all_for_cpu = task.rows && task.rows->rows_above(stage.traits.max_row_work) == task.rows->rows() &&
                     std::any_of(stage.candidates.begin(), stage.candidates.end(), [](const Candidate& candidate) { return candidate.lane == cpu; });
  waiting_.push_back(std::move(task));
}

void Scheduler::pin(std::size_t stage, std::size_t lane) {
  const std::lock_guard lock(mutex_);
  stages_[stage].pinned = lane;
}

bool Scheduler::feasible(const Task& task, const Candidate& candidate) const {
  if (candidate.lane != cpu && task.all_for_cpu) return false;
  if (const std::optional<std::size_t>& pinned = stages_[task.stage].pinned; pinned && *pinned != candidate.lane) return false;
  return units_[candidate.lane].healthy && std::find(task.excluded.begin(), task.excluded.end(), candidate.lane) == task.excluded.end();
}

double Scheduler::transfer(const Task& task, std::size_t lane) const {
  const auto copies = [&](std::size_t device, double bytes) {
    const LaneTraits& traits = units_[device].traits;
    return bytes <= 0 ? 0.0 : traits.seconds_per_copy * task.columns + bytes / std::max(traits.bytes_per_second, 1.0);
  };
  const double fetch = task.home > 0 ? copies(static_cast<std::size_t>(task.home), task.bytes_away) : 0.0;
  if (lane == cpu) return fetch;
  if (task.home == static_cast<int>(lane)) return copies(lane, task.bytes - task.bytes_away);
  return fetch + copies(lane, task.bytes);
}

double Scheduler::alone(const Task& task, const Candidate& candidate) const {
  return std::max(candidate.cost.cost().seconds(task.size.work, task.size.largest_row) + transfer(task, candidate.lane), 1e-9);
}

// Calls' worth of work that the candidate's lane does at once when all its slots are busy with such calls.
double Scheduler::parallel(const Candidate& candidate) const {
  return speedup(candidate.cost.sharing(), static_cast<double>(useful_calls(candidate, 0)));
}

// Calls at once that the lane is given. A device begins with one, so that the first calls show how much they slow each other. Where they
// only share its speed, two are enough to hide copies, and near the end of the run more would keep batches waiting; while the end is far
// they do no harm, and would show if the device had become faster side by side.
std::size_t Scheduler::useful_calls(const Candidate& candidate, double horizon) const {
  const Unit& unit = units_[candidate.lane];
  const auto slots = static_cast<std::size_t>(unit.traits.slots);
  if (candidate.lane == cpu) return slots;
  const double usual_call = candidate.statistics.seconds / std::max(candidate.cost.count(), 1);
  const bool far = horizon > static_cast<double>(slots) * usual_call;
  const std::size_t most = far || candidate.cost.sharing() < 1.0 ? slots : std::min<std::size_t>(slots, 2);
  return std::min<std::size_t>(most, 1 + static_cast<std::size_t>(candidate.cost.count()) / 2);
}

void Scheduler::advance(Unit& unit, double now) const {
  const double passed = std::max(now - unit.last_change, 0.0);
  unit.calls_integral += passed * static_cast<double>(unit.running.size());
  if (!unit.running.empty()) unit.statistics.busy_seconds += passed;
  unit.last_change = std::max(now, unit.last_change);
}

Scheduler::Load Scheduler::load(double now) const {
  Load result;
  for (const Unit& unit : units_) {
    double backlog = 0;
    for (const Running& call : unit.running) {
      const double elapsed = now - call.start;
      const double integral = unit.calls_integral + (now - unit.last_change) * static_cast<double>(unit.running.size()) - call.calls_then;
      const double done = elapsed > 0 ? elapsed / slowdown(call.sharing, integral / elapsed) : 0.0;
      backlog += std::max(call.alone - done, 0.05 * call.alone);
    }
    for (const Assignment& assignment : unit.ready)
      for (const Candidate& candidate : stages_[assignment.task.stage].candidates)
        if (candidate.lane == assignment.lane && candidate.implementation == assignment.implementation)
          backlog += candidate.cost.cost().seconds(assignment.size.work, assignment.size.largest_row);
    result.backlog.push_back(backlog);
  }
  return result;
}

double Scheduler::finish(const Task& task, const Candidate& candidate, const Load& load) const {
  const Unit& unit = units_[candidate.lane];
  const double seconds = alone(task, candidate);
  const double calls = std::min<double>(static_cast<double>(unit.running.size() + unit.ready.size()) + 1.0, unit.traits.slots);
  return std::max((load.backlog[candidate.lane] + seconds) / speedup(candidate.cost.sharing(), calls), seconds);
}

// A lane that nobody has timed tries one part of one batch at a time.
bool Scheduler::should_explore(const StageState& stage, const Task& task, const Candidate& candidate) const {
  if (candidate.lane == cpu || candidate.under_way > 0) return false;
  if (!candidate.known()) return true;
  double fastest = alone(task, candidate);
  for (const Candidate& other : stage.candidates)
    if (feasible(task, other) && other.known()) fastest = std::min(fastest, alone(task, other));
  const double slower = std::min(alone(task, candidate) / fastest, 64.0);
  return static_cast<double>(stage.decisions.batches - candidate.last_observed) > static_cast<double>(explore_again_after) * (1.0 + slower);
}

// Seconds that the run is expected to go on reading: by what share of the sources has been read, and without that as long again as it has
// lasted.
double Scheduler::horizon(double now, const SourceProgress& progress) const {
  if (progress.ended || began_ < 0) return 0;
  const double elapsed = now - began_;
  if (progress.share > 0) return elapsed * (1.0 - progress.share) / progress.share;
  return elapsed;
}

std::optional<Scheduler::Option> Scheduler::consider(std::size_t index, std::size_t candidate_index, const Load& load, double horizon) const {
  const Task& task = waiting_[index];
  const StageState& stage = stages_[task.stage];
  const Candidate& candidate = stage.candidates[candidate_index];
  const Unit& unit = units_[candidate.lane];
  if (!feasible(task, candidate) || unit.running.size() >= useful_calls(candidate, horizon) || (stage.traits.serial && stage.under_way > 0))
    return std::nullopt;
  Option option{index, candidate_index, std::numeric_limits<double>::infinity(), false};
  const bool only_one =
      std::none_of(stage.candidates.begin(), stage.candidates.end(), [&](const Candidate& o) { return &o != &candidate && feasible(task, o); });
  if (only_one) return option;
  const bool urgent = std::isfinite(task.deadline);
  if (!urgent && should_explore(stage, task, candidate)) {
    option.explores = true;
    return option;
  }
  // Threads that have nothing better to do are how the CPU's speed becomes known.
  if (!candidate.known()) return candidate.lane == cpu ? std::optional(option) : std::nullopt;

  const double mine = finish(task, candidate, load);
  double best = std::numeric_limits<double>::infinity(), rates = 0, backlog = 0;
  for (const Candidate& other : stage.candidates) {
    if (&other == &candidate || !feasible(task, other) || !other.known()) continue;
    best = std::min(best, finish(task, other, load));
    const double rate = parallel(other) / alone(task, other);
    rates += rate;
    backlog += rate * load.backlog[other.lane] / parallel(other);
  }
  if (rates <= 0) return option;
  option.advantage = parallel(candidate) / alone(task, candidate) / rates;
  if (mine <= best) return option;
  if (urgent) return std::nullopt;  // it would be done earlier elsewhere
  // When the others would have finished all that waits, with this batch.
  double others_end = backlog / rates;
  for (const Task& waits : waiting_) {
    double their_rate = 0;
    for (const Candidate& other : stages_[waits.stage].candidates)
      if (other.lane != candidate.lane && feasible(waits, other) && other.known()) their_rate += parallel(other) / alone(waits, other);
    if (their_rate > 0) others_end += 1.0 / their_rate;
  }
  return mine <= others_end + horizon ? std::optional(option) : std::nullopt;
}

bool Scheduler::better(const Option& a, const Option& b) const {
  const Task &x = waiting_[a.task], &y = waiting_[b.task];
  if (x.deadline != y.deadline) return x.deadline < y.deadline;
  // Never so far out of order that finished batches pile up behind one that nobody likes.
  constexpr std::uint64_t window = 32;
  if (x.sequence + window < y.sequence) return true;
  if (y.sequence + window < x.sequence) return false;
  if (a.explores != b.explores) return a.explores;
  const auto bucket = [](double advantage) { return std::isinf(advantage) ? 1e9 : std::floor(std::log2(std::max(advantage, 1e-9))); };
  if (bucket(a.advantage) != bucket(b.advantage)) return bucket(a.advantage) > bucket(b.advantage);
  if (stages_[x.stage].traits.depth != stages_[y.stage].traits.depth) return stages_[x.stage].traits.depth > stages_[y.stage].traits.depth;
  return x.sequence < y.sequence;
}

std::optional<Assignment> Scheduler::take(double now, const SourceProgress& progress) {
  const std::lock_guard lock(mutex_);
  for (Unit& unit : units_)
    if (!unit.ready.empty() && has_room(unit)) {
      Assignment next = std::move(unit.ready.front());
      unit.ready.pop_front();
      return start(std::move(next), now);
    }
  if (waiting_.empty()) return std::nullopt;
  if (began_ < 0) began_ = now;
  if (std::none_of(units_.begin(), units_.end(), [&](const Unit& unit) { return unit.healthy && has_room(unit); })) return std::nullopt;
  const Load at = load(now);
  const double left = horizon(now, progress);
  std::optional<Option> chosen;
  for (std::size_t task = 0; task < waiting_.size(); ++task)
    for (std::size_t candidate = 0; candidate < stages_[waiting_[task].stage].candidates.size(); ++candidate)
      if (const std::optional<Option> option = consider(task, candidate, at, left); option && (!chosen || better(*option, *chosen))) chosen = option;
  if (!chosen) return std::nullopt;
  return assign(*chosen, at, now);
}

Assignment Scheduler::start(Assignment assignment, double now) {
  Unit& unit = units_[assignment.lane];
  advance(unit, now);
  double seconds = 0, sharing = 1;
  for (Candidate& candidate : stages_[assignment.task.stage].candidates)
    if (candidate.lane == assignment.lane && candidate.implementation == assignment.implementation) {
      const double share = assignment.task.size.work > 0 ? assignment.size.work / assignment.task.size.work : 1.0;
      seconds = candidate.cost.cost().seconds(assignment.size.work, assignment.size.largest_row) + share * transfer(assignment.task, assignment.lane);
      sharing = candidate.cost.sharing();
    }
  assignment.call = next_call_++;
  unit.running.push_back({assignment.call, assignment.task.stage, now, unit.calls_integral, seconds, sharing});
  return assignment;
}

Assignment Scheduler::assign(const Option& option, const Load& load, double now) {
  Task task = std::move(waiting_[option.task]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(option.task));
  StageState& stage = stages_[task.stage];
  Candidate& chosen = stage.candidates[option.candidate];
  ++stage.decisions.batches;
  ++stage.under_way;

  Candidate* on_cpu = nullptr;
  Candidate* on_device = chosen.lane == cpu ? nullptr : &chosen;
  double soonest = std::numeric_limits<double>::infinity();
  for (Candidate& candidate : stage.candidates) {
    if (!feasible(task, candidate)) continue;
    if (candidate.lane == cpu) on_cpu = &candidate;
    if (chosen.lane == cpu && candidate.lane != cpu && candidate.known() && finish(task, candidate, load) < soonest) {
      soonest = finish(task, candidate, load);
      on_device = &candidate;
    }
  }
  if (task.rows && on_cpu != nullptr && on_device != nullptr && task.rows->rows() > 1 && !stage.traits.serial) {
    if (option.explores) {
      // The smallest rows, together at most an eighth of the work.
      const std::size_t least = task.rows->rows_above(stage.traits.max_row_work);
      Cut cut{task.rows->rows() - 1, least};
      while (cut.largest > std::max<std::size_t>(least, 1) && task.rows->other_work(cut.largest - 1) <= explored_share * task.size.work)
        --cut.largest;
      ++chosen.statistics.explored;
      return divided(std::move(task), cut, *on_cpu, *on_device, chosen.lane, now);
    }
    const bool last = std::none_of(waiting_.begin(), waiting_.end(), [&](const Task& other) {
      return std::any_of(stages_[other.stage].candidates.begin(), stages_[other.stage].candidates.end(),
                         [&](const Candidate& c) { return c.lane != chosen.lane && feasible(other, c); });
    });
    if (const auto cut = division(task, *on_cpu, *on_device, load, last, chosen.lane)) {
      ++stage.decisions.divided;
      return divided(std::move(task), *cut, *on_cpu, *on_device, chosen.lane, now);
    }
  }
  if (option.explores) ++chosen.statistics.explored;
  ++chosen.statistics.whole_batches;
  ++chosen.under_way;
  Assignment assignment;
  assignment.lane = chosen.lane;
  assignment.implementation = chosen.implementation;
  assignment.size = task.size;
  assignment.row_count = task.row_count;
  assignment.task = std::move(task);
  return start(std::move(assignment), now);
}

// Nothing: the batch stays whole.
std::optional<Scheduler::Cut> Scheduler::division(const Task& task, const Candidate& on_cpu, const Candidate& on_device, const Load& load,
                                                  bool nothing_else_waits, std::size_t chosen) {
  StageState& stage = stages_[task.stage];
  const std::size_t least = task.rows->rows_above(stage.traits.max_row_work);
  if (least == task.rows->rows()) return std::nullopt;
  const std::optional<Cut> forced = least > 0 ? std::optional(Cut{least, least}) : std::nullopt;
  if (!on_cpu.known() || !on_device.known()) return forced;
  const auto side = [&](const Candidate& candidate, double calls) {
    return DivisionSide{candidate.cost.cost(), candidate.cost.sharing(), load.backlog[candidate.lane],
                        std::min<double>(calls, units_[candidate.lane].traits.slots), transfer(task, candidate.lane)};
  };
  const double waste = (task.bytes + task.bytes_away) / join_bytes_per_second + join_seconds;
  const double gain = stage.divides ? division_gain_again : division_gain;
  std::optional<Division> found;
  bool pays = false;
  if (nothing_else_waits) {
    const auto calls = [&](const Candidate& c) { return static_cast<double>(units_[c.lane].running.size() + units_[c.lane].ready.size()) + 1.0; };
    found = balanced_division(*task.rows, side(on_cpu, calls(on_cpu)), side(on_device, calls(on_device)), least);
    const double whole = std::min(finish(task, on_cpu, load), finish(task, on_device, load));
    pays = found && found->seconds + waste < gain * whole;
  } else if (chosen != cpu) {
    found = tail_division(*task.rows, side(on_cpu, threads_), side(on_device, 1e9), least);
    const double whole = alone(task, on_device) / parallel(on_device);
    pays = found && found->seconds > waste + (1.0 - gain) * whole;
  }
  stage.divides = pays;
  if (!pays) return forced;
  return Cut{found->largest, nothing_else_waits ? least : found->largest};
}

Assignment Scheduler::divided(Task task, const Cut& cut, Candidate& on_cpu, Candidate& on_device, std::size_t now_on, double now) {
  StageState& stage = stages_[task.stage];
  ++stage.under_way;  // two calls instead of one
  const auto part = [&](Candidate& candidate, int number, std::vector<std::uint32_t> rows, double work, double largest_row) {
    ++candidate.statistics.parts;
    ++candidate.under_way;
    Assignment assignment;
    assignment.lane = candidate.lane;
    assignment.implementation = candidate.implementation;
    assignment.size = {work, largest_row};
    assignment.row_count = rows.size();
    assignment.rows = std::move(rows);
    assignment.part = number;
    assignment.parts = 2;
    assignment.task = task;
    return assignment;
  };
  on_cpu.statistics.tail_rows += cut.tail;
  const std::size_t k = cut.largest;
  Assignment cpu_part = part(on_cpu, 0, task.rows->largest(k), task.rows->largest_work(k), task.rows->row_behind(0));
  Assignment device_part = part(on_device, 1, task.rows->others(k), task.rows->other_work(k), task.rows->row_behind(k));
  Assignment& first = now_on == cpu ? cpu_part : device_part;
  Assignment& second = now_on == cpu ? device_part : cpu_part;
  units_[second.lane].ready.push_back(std::move(second));
  return start(std::move(first), now);
}

void Scheduler::completed(const Assignment& assignment, double now, CallOutcome outcome) {
  const std::lock_guard lock(mutex_);
  Unit& unit = units_[assignment.lane];
  advance(unit, now);
  const auto call = std::find_if(unit.running.begin(), unit.running.end(), [&](const Running& r) { return r.call == assignment.call; });
  if (call == unit.running.end()) return;
  const double seconds = std::max(now - call->start, 1e-9);
  const double calls = (unit.calls_integral - call->calls_then) / seconds;
  unit.running.erase(call);
  ++unit.statistics.calls;
  unit.statistics.call_seconds += seconds;
  StageState& stage = stages_[assignment.task.stage];
  --stage.under_way;
  for (Candidate& candidate : stage.candidates) {
    if (candidate.lane != assignment.lane || candidate.implementation != assignment.implementation) continue;
    --candidate.under_way;
    candidate.last_observed = stage.decisions.batches;
    if (outcome == CallOutcome::failed) {
      ++candidate.statistics.failed;
      ++unit.statistics.failed_calls;
      continue;
    }
    candidate.statistics.rows += assignment.row_count;
    candidate.statistics.work += assignment.size.work;
    candidate.statistics.seconds += seconds;
    if (!candidate.warm) {
      candidate.warm = true;
      continue;
    }
    // The copies are estimated for each batch by where its columns lie: what is learned is the call without them.
    const double share = assignment.task.size.work > 0 ? assignment.size.work / assignment.task.size.work : 1.0;
    const double copies = std::min(share * transfer(assignment.task, assignment.lane), 0.9 * seconds);
    candidate.cost.observe(assignment.size.work, assignment.size.largest_row, seconds - copies, calls);
  }
}

std::vector<Task> Scheduler::stranded() {
  const std::lock_guard lock(mutex_);
  std::vector<Task> result;
  std::erase_if(waiting_, [&](Task& task) {
    const auto& candidates = stages_[task.stage].candidates;
    if (std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) { return feasible(task, candidate); })) return false;
    result.push_back(std::move(task));
    return true;
  });
  return result;
}

double Scheduler::batch_work(double usual, double largest, const SourceProgress& progress) {
  const std::lock_guard lock(mutex_);
  double wish = usual;
  bool tell_apart = false;
  for (const StageState& stage : stages_) {
    if (stage.work_per_source <= 0) continue;
    const Candidate* on_cpu = nullptr;
    for (const Candidate& candidate : stage.candidates)
      if (candidate.lane == cpu) on_cpu = &candidate;
    for (const Candidate& candidate : stage.candidates) {
      if (candidate.lane == cpu || !units_[candidate.lane].healthy || !candidate.known()) continue;
      const Cost& cost = candidate.cost.cost();
      if (cost.per_work <= 0) continue;
      // There the constant is a twentieth of the rest.
      const double work = std::max(20.0 * cost.constant / cost.per_work, usual * stage.work_per_source);
      const auto time = [&](const Candidate& c) { return c.cost.cost().seconds(work, 0) / parallel(c); };
      if (on_cpu != nullptr && on_cpu->known() && time(*on_cpu) < time(candidate)) continue;
      tell_apart = tell_apart || candidate.cost.count() < 16;
      wish = std::max(wish, work / stage.work_per_source);
    }
  }
  if (wish < 1.5 * usual) wish = usual;  // noise, or not worth it
  // Calls of one size would never show what of their time is constant.
  if (tell_apart && ++sizes_tried_ % 2 == 0) wish = std::max(wish, 2.0 * usual);
  // Two batches for every thread and device must be left to read (as much as has been read where nobody knows what is left): the end of a
  // run needs work for every lane. And never suddenly.
  const double lanes = static_cast<double>(threads_) + 2.0 * static_cast<double>(units_.size() - 1);
  const double left = progress.share > 0 ? read_work_ * (1.0 - progress.share) / progress.share : read_work_;
  const double next = std::max(usual, std::min({wish, largest, left / (2.0 * lanes), 2.0 * std::max(last_batch_work_, usual)}));
  last_batch_work_ = next;
  read_work_ += next;
  return next;
}

SchedulerStatistics Scheduler::statistics(double now) const {
  const std::lock_guard lock(mutex_);
  SchedulerStatistics result;
  for (Unit unit : units_) {
    advance(unit, now);
    result.lanes.push_back(unit.statistics);
  }
  for (const StageState& stage : stages_) {
    result.stages.push_back(stage.decisions);
    if (stage.candidates.empty() || (stage.candidates.size() == 1 && stage.candidates.front().lane == cpu)) continue;
    for (const Candidate& candidate : stage.candidates) {
      PlacementStatistics& placement = result.placements.emplace_back(candidate.statistics);
      placement.constant = candidate.cost.cost().constant;
      placement.per_work = candidate.cost.cost().per_work;
      placement.per_largest_row = candidate.cost.cost().per_largest_row;
      placement.sharing = candidate.cost.sharing();
      placement.calls_at_once = static_cast<int>(useful_calls(candidate, 0));
    }
  }
  return result;
}

std::vector<std::string> Scheduler::decisions() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result = events_;
  for (const StageState& stage : stages_) {
    if (stage.candidates.size() < 2) continue;
    std::string line = "stage '" + stage.traits.name + "':";
    for (const Candidate& candidate : stage.candidates) {
      const PlacementStatistics& done = candidate.statistics;
      line += " " + units_[candidate.lane].traits.name + " " + std::to_string(done.whole_batches) + " batches";
      if (done.parts > 0) line += " and " + std::to_string(done.parts) + " parts";
      if (done.seconds > 0) line += " at " + std::to_string(done.work / done.seconds) + " per second of a call";
      line += ";";
    }
    result.push_back(line);
  }
  return result;
}

}  // namespace sluice
