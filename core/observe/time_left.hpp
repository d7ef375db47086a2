// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How much of a run is done, and how long the rest takes.

#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

// Looks at the snapshots of one run, one after the other.
class TimeLeft {
 public:
  explicit TimeLeft(const Plan& plan) : plan_(plan) {}

  struct Estimate {
    double share = -1;    // of the work that is done, 0..1
    double seconds = -1;  // that the rest takes; both < 0: too early to say
  };
  Estimate after(const RunStatistics& statistics);

 private:
  const Plan& plan_;
  double at_end_ = 0;           // part of the run that sinks usually take for their last step
  double calls_ended_at_ = -1;  // seconds since the first row, when only the ends of stages were left
};

}  // namespace sluice
