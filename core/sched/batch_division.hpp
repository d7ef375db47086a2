// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether a batch that a lane is about to take is better called in parts, and in which.

#include <optional>

#include "sched/division.hpp"
#include "sched/policy.hpp"

namespace sluice {

// The view and what lies in it must outlive this.
class BatchDivision {
 public:
  // chosen: takes the batch now, or the first share of it.
  BatchDivision(const View& view, const WaitingGroup& group, const Task& task, const Candidate& chosen);

  // A small part tries out the chosen device, the CPU does the rest. Nothing: the batch can't be divided so.
  std::optional<Choice> trial() const;
  // Over the lanes that together finish it earliest, or less its largest rows, where that pays; or as max_row_work requires. Nothing: the
  // batch is better left whole.
  std::optional<Choice> best() const;

 private:
  struct Found {
    Choice choice;
    double seconds;  // until all parts are done and joined
  };
  bool possible() const;
  bool nothing_else_waits() const;
  const Candidate* partner() const;
  double join_cost(std::size_t parts) const;
  DivisionSide side(const Candidate& candidate, double calls) const;
  DivisionSide idle_side(const Candidate& candidate) const;
  Choice with_cpu(const Candidate& device, std::size_t largest, std::size_t tail, Reason reason) const;
  std::optional<Found> in_two(const Candidate& device) const;
  std::optional<Found> over_all() const;
  std::optional<Choice> at_the_end(const Candidate* device) const;
  std::optional<Choice> without_tail() const;

  const View& view_;
  const WaitingGroup& group_;
  const Task& task_;
  const Candidate& chosen_;
  const Candidate* on_cpu_ = nullptr;
  bool cpu_may_help_ = false;  // its threads have nothing else to do that the run waits for
  double gain_;                // what a division may take of the time of the whole batch
  std::size_t least_ = 0;      // rows that are the CPU's in any case
};

}  // namespace sluice
