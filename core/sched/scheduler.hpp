// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Decides which batch a lane takes next, whole or in part, when it has room for a call. Has no clock and runs nothing: times are
// arguments, so that tests drive it through years of virtual time.
//
// Batches wait here, undecided, until a lane is free: a decision made late knows most. A free lane takes a batch when it would finish it
// before the other lanes are expected to have finished everything (including what the source has not read yet). Of several batches it
// takes one that it does better than the others do.

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sched/cost_model.hpp"
#include "sched/division.hpp"
#include "sched/lane_statistics.hpp"
#include "sched/row_order.hpp"

namespace sluice {

struct Plan;

struct CallSize {
  double work = 0, largest_row = 0;  // in the stage's work unit
};

// A lane as the scheduler sees it. Lane 0 is the CPU.
struct LaneTraits {
  std::string name = "cpu", kind = "cpu";
  int slots = 1;  // calls at once
  double bytes_per_second = 0, seconds_per_copy = 0;
};

// A stage as the scheduler sees it.
struct StageTraits {
  struct Implementation {
    std::uint32_t index = 0;  // into the descriptor's implementations
    std::string kind;         // of the lanes that can run it
  };
  std::string name;
  std::vector<Implementation> implementations;
  std::string only_lane;                                          // "": any of the kind; else "cuda:1"
  double max_row_work = std::numeric_limits<double>::infinity();  // rows above are the CPU's
  bool serial = false;                                            // one call at a time
  int depth = 0;                                                  // place in the run: later stages go first, so that memory gets free
};
std::vector<StageTraits> stage_traits(const Plan& plan, const std::vector<std::vector<std::uint32_t>>& implementations);

// One batch at one stage.
struct Task {
  std::size_t stage = 0;
  std::uint64_t sequence = 0;
  std::uint64_t row_count = 0;
  CallSize size;
  double deadline = std::numeric_limits<double>::infinity();
  double source_work = 0;                // the same batch in the source's unit
  std::shared_ptr<const RowOrder> rows;  // null: not to be divided
  // Bytes of the columns that the stage needs; those that lie on a device only, and which (-1: the host has all).
  double bytes = 0, bytes_away = 0;
  int columns = 0;
  int home = -1;
  std::vector<std::size_t> excluded;  // lanes that have failed on this batch
  bool all_for_cpu = false;           // set by the scheduler: every row is above the stage's max_row_work
  std::shared_ptr<void> payload;      // the caller's
};

// A call that may start now.
struct Assignment {
  std::uint64_t call = 0;  // for completed()
  std::size_t lane = 0;
  Task task;      // size and rows are those of the whole batch
  CallSize size;  // of this call
  std::uint64_t row_count = 0;
  std::uint32_t implementation = 0;
  std::vector<std::uint32_t> rows;  // ascending; empty: all
  int part = 0, parts = 1;
};

enum class CallOutcome { finished, failed };

// How far the sources have read: what is left of the run decides whether a slow lane helps.
struct SourceProgress {
  double share = -1;  // 0 to 1; < 0: unknown
  bool ended = false;
};

// Thread-safe. Times are seconds since the run began.
class Scheduler {
 public:
  Scheduler(std::vector<StageTraits> stages, int threads);

  // A device that has been opened. Returns its number.
  std::size_t add_lane(LaneTraits traits, double now);
  void retire(std::size_t lane, const std::string& why);
  // From now on all batches of the stage are called on this lane. A batch that has failed there is stranded.
  void pin(std::size_t stage, std::size_t lane);
  // A cost that an earlier run has measured.
  void prime(std::size_t stage, std::uint32_t implementation, const std::string& lane, const Cost& cost);

  void add(Task task);
  // The next call that a lane with room should make. Call again until there is none.
  std::optional<Assignment> take(double now, const SourceProgress& progress);
  // Every assignment ends with exactly one of these. A failed call says nothing about speed.
  void completed(const Assignment& assignment, double now, CallOutcome outcome);
  // Tasks that no lane can do any more.
  std::vector<Task> stranded();

  // The size of the next batch to read, in the source's work unit. Without a device that gains from larger batches it is `usual`.
  // largest: what memory allows.
  double batch_work(double usual, double largest, const SourceProgress& progress);

  SchedulerStatistics statistics(double now) const;
  std::vector<std::string> decisions() const;

 private:
  struct Running {
    std::uint64_t call;
    std::size_t stage;
    double start, calls_then;  // Unit::calls_integral when it began
    double alone, sharing;     // expected seconds
  };
  struct Unit {
    LaneTraits traits;
    LaneStatistics statistics;
    std::vector<Running> running;
    std::deque<Assignment> ready;  // parts of divided batches, begun as soon as there is room
    double calls_integral = 0;     // integral over time of the number of calls under way
    double last_change = 0;
    bool healthy = true;
  };
  struct Candidate {
    std::size_t lane;
    std::uint32_t implementation;
    SharedCallCost cost;
    bool warm;  // the first call on a device loads its code: its time is not the device's speed
    int under_way = 0;
    std::uint64_t last_observed = 0;  // StageState::batches then
    PlacementStatistics statistics;
    // Learned enough to compare.
    bool known() const { return cost.known(); }
  };
  struct StageState {
    StageTraits traits;
    std::vector<Candidate> candidates;
    StageDecisions decisions;
    std::optional<std::size_t> pinned;  // the only lane that may be used
    int under_way = 0;
    bool divides = false;        // the last batch was divided: hysteresis
    double work_per_source = 0;  // the stage's unit per source unit
    double mean_source_work = 0;
  };
  // What the lanes have to do, at one moment.
  struct Load {
    std::vector<double> backlog;  // per lane: seconds of calls under way or ready, each as if alone
  };
  // Where a batch is cut.
  struct Cut {
    std::size_t largest = 0;  // rows for the CPU
    std::size_t tail = 0;     // of those: taken out because they would hold the device up, or may not be done there
  };
  struct Option {
    std::size_t task = 0, candidate = 0;
    double advantage = 0;
    bool explores = false;
  };

  void add_candidates(StageState& stage, std::size_t lane);
  bool feasible(const Task& task, const Candidate& candidate) const;
  bool has_room(const Unit& unit) const { return unit.running.size() < static_cast<std::size_t>(unit.traits.slots); }
  double transfer(const Task& task, std::size_t lane) const;
  double alone(const Task& task, const Candidate& candidate) const;
  double parallel(const Candidate& candidate) const;
  std::size_t useful_calls(const Candidate& candidate, double horizon) const;
  Load load(double now) const;
  double finish(const Task& task, const Candidate& candidate, const Load& load) const;
  bool should_explore(const StageState& stage, const Task& task, const Candidate& candidate) const;
  std::optional<Option> consider(std::size_t task, std::size_t candidate, const Load& load, double horizon) const;
  bool better(const Option& a, const Option& b) const;
  // Turns the choice into one call, or two; the second waits in its unit's `ready`.
  Assignment assign(const Option& option, const Load& load, double now);
  std::optional<Cut> division(const Task& task, const Candidate& on_cpu, const Candidate& on_device, const Load& load, bool nothing_else_waits,
                              std::size_t chosen);
  Assignment start(Assignment assignment, double now);
  Assignment divided(Task task, const Cut& cut, Candidate& on_cpu, Candidate& on_device, std::size_t now_on, double now);
  void advance(Unit& unit, double now) const;
  double horizon(double now, const SourceProgress& progress) const;

  const int threads_;
  mutable std::mutex mutex_;  // guards everything below
  std::vector<Unit> units_;
  std::vector<StageState> stages_;
  std::vector<Task> waiting_;
  std::vector<std::string> events_;
  std::uint64_t next_call_ = 1;
  double began_ = -1;
  double read_work_ = 0, last_batch_work_ = 0;
  std::uint64_t sizes_tried_ = 0;
};

}  // namespace sluice
