// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A free lane takes a batch when it would finish it before the other lanes are expected to have finished everything, including what the
// source has not read yet. Of several batches it takes one that it does better than the others do. A batch is divided where that is
// expected to be done earlier. Why, with numbers: docs/scheduling.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/batch_division.hpp"
#include "sched/estimates.hpp"
#include "sched/gathering.hpp"

namespace sluice::policies {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Never so far out of order that finished batches pile up behind one that nobody likes.
constexpr std::uint64_t sequence_window = 32;
// Of each group so many are looked at: what lies behind them may not be taken before them, but for gaps in the sequence.
constexpr std::size_t tasks_looked_at = 2 * sequence_window;
// A lane that has not been used for so many batches of a stage (times how much slower it was) is tried once more.
constexpr std::uint64_t explore_again_after = 64;
// The first calls on a device are small, and say little about the others: there have to be some, and one of several batches where there can be.
constexpr int calls_to_know_a_device = 3;
constexpr double batches_to_know_a_device = 8;
constexpr double soon = 5e-3;  // seconds; reads and decoding that wait so long are noticed by nobody

bool well_known(const StageView& stage, const WaitingGroup& group, const Candidate& device) {
  if (!device.known || device.observed < calls_to_know_a_device) return false;
  const double batch = group.work / static_cast<double>(group.tasks.size());
  return group.tasks.begin()->second.like == 0 || stage.traits.serial || device.largest_work >= batches_to_know_a_device * batch;
}

bool for_devices(const StageView& stage) {
  return std::any_of(stage.traits.implementations.begin(), stage.traits.implementations.end(),
                     [](const auto& implementation) { return implementation.kind != "cpu"; });
}

// A call that could begin now.
struct Option {
  const WaitingGroup* group;
  const Task* task;
  const Candidate* candidate;
  double advantage = never;  // how much faster than all other lanes together
  bool explores = false;
};

// The options of one view, each compared with the best so far.
class Options {
 public:
  explicit Options(const View& view) : view_(view), waiting_seconds_(view.lanes.size(), -1.0) {
    for (const WaitingGroup& group : view.waiting) add(group);
  }
  const std::optional<Option>& best() const { return best_; }

 private:
  void add(const WaitingGroup& group);
  bool cpu_helps(const WaitingGroup& group, const Task& task) const;
  bool soon_done_on_cpu(const WaitingGroup& group) const;
  bool cpu_has_other_work(const WaitingGroup& group) const;
  std::optional<Option> consider(const WaitingGroup& group, const Task& task, const Candidate& candidate, bool cpu_helps);
  std::optional<Option> untimed(Option option) const;
  bool should_explore(const Option& option) const;
  bool better(const Option& a, const Option& b) const;
  // others: lanes beside the candidate's that could do what waits.
  bool may_begin(const WaitingGroup& group, const Candidate& candidate, bool others) const {
    const LaneView& lane = view_.lanes[candidate.lane];
    if (!view_.may_do(group, candidate) || static_cast<std::size_t>(candidate.under_way) >= calls_by_now(view_, candidate)) return false;
    return others ? lane.running < most_calls(view_, candidate, view_.source.horizon) : lane.has_room();
  }
  bool others_help(const WaitingGroup& group, const Candidate& candidate) const;
  // As waiting_seconds_without(), computed once.
  double waiting_seconds(std::size_t lane) {
    if (waiting_seconds_[lane] < 0) waiting_seconds_[lane] = waiting_seconds_without(view_, lane);
    return waiting_seconds_[lane];
  }

  const View& view_;
  std::vector<double> waiting_seconds_;
  std::optional<Option> best_;
};

void Options::add(const WaitingGroup& group) {
  const StageView& stage = view_.stages[group.stage];
  if (group.tasks.empty() || !view_.may_begin(stage)) return;
  std::vector<const Candidate*> free;
  for (const Candidate& candidate : stage.candidates)
    if (may_begin(group, candidate, others_help(group, candidate)) && !waits_for_more(view_, group, candidate)) free.push_back(&candidate);
  if (free.empty()) return;
  if (cpu_has_other_work(group)) {
    std::erase_if(free, [](const Candidate* candidate) { return candidate->on_cpu(); });
    if (free.empty()) return;
  }
  std::size_t looked_at = 0;
  for (const auto& [turn, task] : group.tasks) {
    if (++looked_at > tasks_looked_at) return;
    const bool with_cpu = cpu_helps(group, task);
    for (const Candidate* candidate : free)
      if (const std::optional<Option> option = consider(group, task, *candidate, with_cpu); option && (!best_ || better(*option, *best_)))
        best_ = option;
  }
}

// Is the oldest batch of the group done soon on the CPU, as far as one knows?
bool Options::soon_done_on_cpu(const WaitingGroup& group) const {
  const auto& candidates = view_.stages[group.stage].candidates;
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.on_cpu() && candidate.known && call_seconds(view_, group.tasks.begin()->second, candidate) < soon;
  });
}

// Do all threads have enough to do that nobody else can, while a device that could do this group's batches is there, or about to be? In front of
// one that is about to be, or has just come, three quarters of them are kept for what the sources bring: a call that lasts would hold it up. With
// short calls one quarter is enough: where sources bring little work, as in front of `map`, the others would be idle until the device is open.
bool Options::cpu_has_other_work(const WaitingGroup& group) const {
  const LaneView& cpu = view_.lanes[cpu_lane];
  const SourceProgress& progress = view_.source.progress;
  const StageView& stage = view_.stages[group.stage];
  if (group.urgent || group.cpu_only || stage.pinned) return false;
  bool device_is_there = false, device_comes = progress.devices_come && for_devices(stage);
  for (const Candidate& candidate : stage.candidates) {
    if (candidate.on_cpu() || !view_.may_do(group, candidate)) continue;
    device_is_there = true;
    if (well_known(stage, group, candidate)) device_comes = false;
  }
  const auto slots = static_cast<std::size_t>(cpu.traits.slots);
  const std::size_t busy = static_cast<std::size_t>(progress.cpu_only_batches) + cpu.running;
  if (device_comes && !progress.ended && 4 * cpu.running >= slots && (4 * busy >= 3 * slots || !soon_done_on_cpu(group))) return true;
  return (device_is_there || device_comes) && busy >= slots;
}

bool Options::cpu_helps(const WaitingGroup& group, const Task& task) const {
  if (group.urgent) return true;
  const DeviceOutlook devices(view_, group, task);
  const auto& candidates = view_.stages[group.stage].candidates;
  return std::none_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.on_cpu() && candidate.known &&
           (devices.done_before_cpu(candidate) || devices.cpu_adds_little(candidate) || devices.would_run_dry(candidate));
  });
}

bool Options::others_help(const WaitingGroup& group, const Candidate& candidate) const {
  const auto& candidates = view_.stages[group.stage].candidates;
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
    return other.lane != candidate.lane && view_.may_do(group, other) && !(other.on_cpu() && !cpu_helps(group, group.tasks.begin()->second));
  });
}

std::optional<Option> Options::consider(const WaitingGroup& group, const Task& task, const Candidate& candidate, bool cpu_helps) {
  Option option{&group, &task, &candidate};
  double best = never, rates = 0, backlog = 0;
  bool only_one = true;
  for (const Candidate& other : view_.stages[group.stage].candidates) {
    if (&other == &candidate || !view_.may_do(group, other)) continue;
    only_one = false;
    if (!other.known || (other.on_cpu() && !cpu_helps)) continue;
    best = std::min(best, finish_seconds(view_, task, other));
    const double parallel = parallel_calls(view_, other), rate = parallel / call_seconds(view_, task, other);
    rates += rate;
    backlog += rate * view_.lanes[other.lane].backlog / parallel;
  }
  if (only_one) return option;
  if (!group.urgent && should_explore(option)) {
    option.explores = true;
    return option;
  }
  if (!candidate.known) return untimed(option);
  if (candidate.on_cpu() && !cpu_helps) return std::nullopt;
  if (rates <= 0) return option;
  option.advantage = parallel_calls(view_, candidate) / call_seconds(view_, task, candidate) / rates;
  const double mine = finish_seconds(view_, task, candidate);
  if (mine <= best) return option;
  if (group.urgent) return std::nullopt;  // it would be done earlier elsewhere
  // When the others would have finished all that waits, with this batch.
  const double others_end = backlog / rates + waiting_seconds(candidate.lane);
  return mine <= others_end + view_.source.horizon ? std::optional(option) : std::nullopt;
}

// Threads that have nothing better to do are how the CPU's speed becomes known. A device is tried out with a small part of a batch that nobody
// waits for, see should_explore; a batch with a deadline goes there if nobody else is known to be faster, or free.
std::optional<Option> Options::untimed(Option option) const {
  if (option.candidate->on_cpu()) return option;
  if (!option.group->urgent) return std::nullopt;
  for (const Candidate& other : view_.stages[option.group->stage].candidates)
    if (view_.may_do(*option.group, other) && (other.known || (other.on_cpu() && may_begin(*option.group, other, true)))) return std::nullopt;
  return option;
}

// A lane that nobody has timed tries one part of one batch at a time.
bool Options::should_explore(const Option& option) const {
  const StageView& stage = view_.stages[option.group->stage];
  const Candidate& candidate = *option.candidate;
  if (candidate.on_cpu() || candidate.under_way > 0) return false;
  if (!candidate.known) return true;
  const std::uint64_t unused_for = stage.batches - candidate.last_used_at;
  if (unused_for <= explore_again_after) return false;
  const double mine = call_seconds(view_, *option.task, candidate);
  double fastest = mine;
  for (const Candidate& other : stage.candidates)
    if (other.known && view_.may_do(*option.group, other)) fastest = std::min(fastest, call_seconds(view_, *option.task, other));
  return static_cast<double>(unused_for) > static_cast<double>(explore_again_after) * (1.0 + std::min(mine / fastest, 64.0));
}

bool Options::better(const Option& a, const Option& b) const {
  const Task &x = *a.task, &y = *b.task;
  if (x.deadline != y.deadline) return x.deadline < y.deadline;
  // Behind a regroup numbers say nothing of those in front of it: `correct` has more windows than piles, and the letters of windows, which the device
  // waited for, stood behind all piles that waited.
  const StageView &stage_a = view_.stages[a.group->stage], &stage_b = view_.stages[b.group->stage];
  if (stage_a.traits.stream == stage_b.traits.stream) {
    if (x.sequence + sequence_window < y.sequence) return true;
    if (y.sequence + sequence_window < x.sequence) return false;
  }
  if (a.explores != b.explores) return a.explores;
  const auto bucket = [](double advantage) { return std::isinf(advantage) ? 1e9 : std::floor(std::log2(std::max(advantage, 1e-9))); };
  if (bucket(a.advantage) != bucket(b.advantage)) return bucket(a.advantage) > bucket(b.advantage);
  if (stage_a.traits.depth != stage_b.traits.depth) return stage_a.traits.depth > stage_b.traits.depth;
  return x.sequence < y.sequence;
}

class Adaptive : public Policy {
 public:
  std::optional<Choice> decide(const View& view) const override {
    const Options options(view);
    const std::optional<Option>& option = options.best();
    if (!option) return std::nullopt;
    const Candidate& candidate = *option->candidate;
    const BatchDivision division(view, *option->group, *option->task, candidate);
    Choice whole{option->task->number, {{candidate.lane, candidate.implementation}}, Reason::placement};
    if (option->explores) {
      whole.reason = Reason::trial;
      const std::optional<Choice> trial = division.trial();
      return trial ? trial : whole;
    }
    // Beside many others a row that holds the device up costs little.
    Gathering gathering;
    if (view.may_do_whole(*option->group, *option->task, candidate)) gathering = tasks_to_gather(view, *option->group, *option->task, candidate);
    if (!gathering.hides_largest_row)
      if (std::optional<Choice> divided = division.best()) return divided;
    whole.more = std::move(gathering.more);
    return whole;
  }
};

}  // namespace

std::unique_ptr<const Policy> adaptive() { return std::make_unique<Adaptive>(); }

}  // namespace sluice::policies
