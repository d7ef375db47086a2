// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What was done where, and what waited for what, in sentences.

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

// One sentence per stage that had a choice and per device, then the scheduler's own; one that says so where nothing was to be chosen.
std::vector<std::string> scheduling_sentences(const Plan& plan, const RunStatistics& statistics);

// Shares of the run, 0 to 1: how long somebody was busy and, where that is known, how long it waited, and for what.
struct Waiting {
  std::string who;
  double busy = 0;
  double waited = 0;
  std::string waited_for;
};
std::vector<Waiting> waiting_of(const Plan& plan, const RunStatistics& statistics);

}  // namespace sluice
