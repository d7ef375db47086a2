// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/plan_notes.hpp"

#include "observe/account.hpp"
#include "observe/quantity.hpp"

namespace sluice {
namespace {

std::string what_it_took(const StageStatistics& stage, double all_busy) {
  double on_devices = 0, all = 0;
  for (const ImplementationStatistics& implementation : stage.implementations) {
    all += implementation.work;
    if (implementation.device != "cpu" && implementation.device != "writer") on_devices += implementation.work;
  }
  const std::string text = percent_text(all_busy > 0 ? stage.busy_seconds / all_busy : 0) + " of call time";
  return on_devices > 0 ? text + ", " + percent_text(on_devices / all) + " device" : text;
}

}  // namespace

PlanNotes plan_notes(const Plan& plan, const RunStatistics& statistics) {
  double all_busy = 0;
  for (const StageStatistics& stage : statistics.stages) all_busy += stage.busy_seconds;
  PlanNotes notes;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    notes.below.push_back(stage == nullptr ? "" : what_it_took(*stage, all_busy));
    notes.rows.push_back(stage == nullptr ? "" : count_text(stage->rows_out));
  }
  return notes;
}

}  // namespace sluice
