// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Keeps the books of a run: which batches wait, what is under way where, what calls have cost. What is called next a Policy decides, by a view
// of these books (docs/scheduling.md). Has no clock and runs nothing: times are arguments, so that tests drive it through years of virtual
// time.
//
// Batches wait here, undecided, until a lane is free: a decision made late knows most.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sched/cost_model.hpp"
#include "sched/lane_calls.hpp"
#include "sched/lane_statistics.hpp"
#include "sched/policy_table.hpp"
#include "sched/task.hpp"
#include "sched/waiting_tasks.hpp"

namespace sluice {

// Thread-safe. Times are seconds since the run began.
class Scheduler {
 public:
  // threads: the slots of the CPU's lane.
  Scheduler(std::vector<StageTraits> stages, int threads, std::unique_ptr<const Policy> policy = make_policy(default_policy));

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
  // Of a run that ends early: one batch that waits, or part of one that was to be called next. Needs no memory. Call again until there is none.
  std::optional<Assignment> give_up();

  // The size of the next batch to read, in the source's work unit. usual: where only the CPU works; largest: what memory allows.
  double batch_work(double usual, double largest, const SourceProgress& progress);

  SchedulerStatistics statistics(double now) const;
  std::vector<std::string> decisions() const;

 private:
  // What is known of a lane, stage or candidate beside what the view shows.
  struct LaneBooks {
    LaneStatistics statistics;
    LaneCalls calls;
    std::deque<Assignment> ready;  // parts of divided batches, begun as soon as there is room
  };
  struct CandidateBooks {
    SharedCallCost cost;
    bool warm;  // the first call on a device loads its code: its time is not the device's speed
    PlacementStatistics statistics;
  };
  struct StageBooks {
    std::vector<CandidateBooks> candidates;  // as in StageView
    StageDecisions decisions;
  };

  void add_candidates(std::size_t stage, std::size_t lane);
  std::size_t candidate_of(std::size_t stage, std::size_t lane, std::uint32_t implementation) const;
  void show_costs(std::size_t stage, std::size_t candidate);
  void show_load(double now);
  void show_progress(double now, const SourceProgress& progress);
  // Holds what a call that can't be begun for want of memory was for, until the lock is gone: its end may lead back here.
  using Payloads = std::vector<std::shared_ptr<void>>;
  std::optional<Assignment> take_ready(double now, Payloads& held);
  std::optional<Choice> decide();
  Assignment carry_out(const Choice& choice, double now, Payloads& held);
  Assignment start(Assignment assignment, double now);
  double expected_seconds(const Assignment& assignment, const Candidate& candidate) const;
  double share_of_copies(const Assignment& assignment) const;
  void refuse(const std::string& what, const std::string& why);

  const std::unique_ptr<const Policy> policy_, if_refused_;
  mutable std::mutex mutex_;  // guards everything below
  View view_;
  WaitingTasks waiting_;
  std::vector<LaneBooks> lanes_;
  std::vector<StageBooks> stages_;
  std::vector<std::string> events_;
  std::uint64_t next_call_ = 1, refused_ = 0;
  double began_ = -1;
};

}  // namespace sluice
