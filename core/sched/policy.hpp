// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a policy is, what it sees and what it answers. A policy says which waiting batch is called next, where, and whether in parts. It is
// one file in sched/policies, chosen by `sluice run --policy NAME`; docs/scheduling.md has an example.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sched/cost_model.hpp"
#include "sched/task.hpp"

namespace sluice {

// One lane: the CPU (number cpu_lane), or one device with all its streams.
struct LaneView {
  LaneTraits traits;
  bool healthy = true;      // false: the device is lost, nothing may be called there any more
  std::size_t running = 0;  // calls under way
  std::size_t ready = 0;    // parts of divided batches that begin here as soon as there is room
  double backlog = 0;       // seconds of the calls under way and ready, as if each had the lane to itself
  bool has_room() const { return healthy && running < static_cast<std::size_t>(traits.slots); }
};

// One implementation of one stage on one lane that can run it.
struct Candidate {
  std::size_t lane = 0;
  std::uint32_t implementation = 0;
  Cost cost;                       // of a call that has the lane to itself, copies not counted
  double sharing = 1;              // how much calls side by side slow each other: see slowdown()
  bool known = false;              // cost has been learned, in this run or an earlier one
  int observed = 0;                // calls of this run that it was learned from
  double mean_call_seconds = 0;    // of those, beside whatever ran with them
  double largest_work = 0;         // of those
  int under_way = 0;               // calls, those that are ready included
  double work_under_way = 0;       // of these
  std::uint64_t last_used_at = 0;  // StageView::batches when a call here ended last

  bool on_cpu() const { return lane == cpu_lane; }
};

struct StageView {
  StageTraits traits;
  std::vector<Candidate> candidates;
  std::optional<std::size_t> pinned;  // the only lane that may be used
  int under_way = 0;                  // calls of the stage, those that are ready included
  std::uint64_t batches = 0;          // that have been given to lanes
  bool divided_last = false;          // the last batch that could be divided was, as that was expected to pay
  double work_per_source = 0;         // the stage's work unit per source unit; 0: not known yet
  double work = 0, source_work = 0;   // of all batches that have come here so far, in its unit and in the source's
};

// The place of a task in its group.
struct Turn {
  double deadline = 0;
  std::uint64_t sequence = 0, number = 0;
  auto operator<=>(const Turn&) const = default;
};

// Waiting tasks of one stage that the same lanes may do: looking at the first few says enough about thousands. May be empty.
struct WaitingGroup {
  std::size_t stage = 0;
  bool urgent = false;                // each has a deadline; otherwise none has
  bool cpu_only = false;              // devices may not do their rows
  std::vector<std::size_t> excluded;  // lanes that have failed on them
  std::map<Turn, Task> tasks;         // by deadline, then by age
  // Sums over all of them: work, largest rows, and seconds of copies that calls on a lane would need.
  double work = 0, largest_row = 0;
  std::vector<double> copy_seconds;  // per lane
};

struct SourceView {
  SourceProgress progress;
  double horizon = 0;    // seconds that the sources are expected to go on reading
  double read_work = 0;  // of all batches so far, in the source's unit
};

// All that a policy knows. The book-keeping keeps it up to date; nothing in it looks at a clock.
struct View {
  std::vector<LaneView> lanes;
  std::vector<StageView> stages;  // as in the plan
  std::vector<WaitingGroup> waiting;
  SourceView source;

  // May a part of a task of this group be called there? (Now or later: see has_room and may_begin.)
  bool may_do(const WaitingGroup& group, const Candidate& candidate) const {
    const std::optional<std::size_t>& pinned = stages[group.stage].pinned;
    return lanes[candidate.lane].healthy && !(group.cpu_only && !candidate.on_cpu()) && (!pinned || *pinned == candidate.lane) &&
           std::find(group.excluded.begin(), group.excluded.end(), candidate.lane) == group.excluded.end();
  }
  // And all of it in one call? A batch with rows above StageTraits::max_row_work has to be divided, or called on the CPU.
  bool may_do_whole(const WaitingGroup& group, const Task& task, const Candidate& candidate) const {
    return may_do(group, candidate) && (candidate.on_cpu() || rows_for_cpu(group, task) == 0);
  }
  // How many rows, the largest of the batch, only the CPU may do.
  std::size_t rows_for_cpu(const WaitingGroup& group, const Task& task) const {
    const StageView& stage = stages[group.stage];
    if (!task.rows || std::none_of(stage.candidates.begin(), stage.candidates.end(),
                                   [&](const Candidate& candidate) { return candidate.on_cpu() && may_do(group, candidate); }))
      return 0;
    return task.rows->rows_above(stage.traits.max_row_work);
  }
  // False: the stage makes one call at a time, and makes it now.
  bool may_begin(const StageView& stage) const { return !stage.traits.serial || stage.under_way == 0; }
};

// One call.
struct LaneShare {
  std::size_t lane = 0;
  std::uint32_t implementation = 0;
  std::vector<std::uint32_t> rows = {};  // ascending; empty: all
  std::uint64_t tail_rows = 0;           // for the report: of these, those that were taken out of another lane's share because of their size
};

// Why a batch is called so, for the report.
enum class Reason {
  placement,  // in one piece, where it does best
  trial,      // the first share shows how fast its lane is
  division,   // in parts, as that is expected to be done earlier
  row_limit,  // in parts, as a device may not do all rows
};

struct Choice {
  std::uint64_t task = 0;         // Task::number
  std::vector<LaneShare> shares;  // any number of lanes; together they have every row once. The first one's lane has room
  Reason reason = Reason::placement;
  // Further tasks of the same group that are gathered into the call, all like the first one (Task::like): only where there is one share, on a device.
  std::vector<std::uint64_t> more = {};
};

// Has no state: the same view gives the same answer. Called under the scheduler's lock, so it should take microseconds.
//
// A choice that can't be carried out (an unknown task, lane or implementation; a lane that may not do it; no room on the first lane; rows
// twice, missing or not the lane's; a division of what can't be divided) is refused: the oldest batch goes to the first lane that is free, and
// the report says what was wrong. The same happens when nothing is chosen while every lane is idle.
class Policy {
 public:
  virtual ~Policy() = default;
  // The next batch to call. Nothing: what waits goes on waiting until a call has ended or a batch has come. Called again until there is nothing.
  virtual std::optional<Choice> decide(const View& view) const = 0;
  // How much to read for the next batch, in the source's unit. usual: where only the CPU works; largest: what memory allows.
  virtual double batch_size(const View&, double usual, double /*largest*/) const { return usual; }
};

}  // namespace sluice
