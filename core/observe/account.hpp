// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where every row of a source ended: no read is lost silently.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

struct Loss {
  std::string stage, reason;
  std::uint64_t rows = 0;
};

// The way from one source to one end: a sink, or a stage that regroups its rows into others.
//   read = filtered + failed + written + unfinished
struct PathAccount {
  std::string source, end, row_type;
  std::string noun;              // what a user calls a row: "alignment"
  std::uint64_t read = 0;        // everything the source saw
  std::uint64_t filtered = 0;    // never became rows, or were left out on purpose
  std::uint64_t failed = 0;      // distinct rows that failed on the way
  std::uint64_t written = 0;     // rows that were fine at the end
  std::uint64_t unfinished = 0;  // under way when the run stopped
  bool adds_up = true;           // what the stages counted one by one agrees with this; a finished run has nothing unfinished
  std::vector<Loss> losses;      // most frequent first, filtered and failed ones
  bool ends_in_sink = false;
  std::map<std::string, OutcomeStatistics> outcomes;  // what the end says became of its rows

  // Nothing came to what the sink is for: no row arrived, or none was "mapped".
  bool is_empty() const;
  double failed_fraction() const { return read > filtered ? static_cast<double>(failed) / static_cast<double>(read - filtered) : 0; }
};

// How a run ended: whole, early with what was complete kept in files of their own, or with every output removed.
enum class Ending { finished, partial, nothing_kept };

std::vector<PathAccount> account_of(const Plan& plan, const RunStatistics& statistics, Ending ending);

// The statistics of the plan's stage `index`, or NULL.
const StageStatistics* statistics_of(const RunStatistics& statistics, const Plan& plan, std::size_t index);

// The largest failed_fraction() of all paths.
double worst_failed_fraction(const std::vector<PathAccount>& accounts);

}  // namespace sluice
