// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/run_records.hpp"

#include <algorithm>
#include <utility>

#include "machine/atomic_file.hpp"
#include "observe/report_writer.hpp"

namespace sluice {

RunRecords::RunRecords(const RunSettings& settings, const Plan& plan) : settings_(settings), plan_(plan) {
  if (!settings.trace_file.empty()) listeners_.add(trace_.emplace(settings.trace_file, plan.pipeline.name));
  if (!settings.account_file.empty()) listeners_.add(account_.emplace(settings.account_file));
  if (account_ && settings.options.going_on_from) account_->go_on_from(settings.options.going_on_from->account);
  if (show_history(settings.reports)) listeners_.add(activity_.emplace());
}

void RunRecords::begin(std::function<RunStatistics()> snapshot) {
  if (activity_) sampler_.emplace(std::move(snapshot));
}

void RunRecords::end() {
  if (sampler_) history_.samples = sampler_->stop();
  if (activity_) activity_->give(history_);
}

std::string RunRecords::finish(const RunResult& result, const Registry& registry, const ReportContext& context) {
  std::string problem;
  const auto note = [&](std::string found) {
    if (problem.empty()) problem = std::move(found);
  };
  if (trace_) note(trace_->finish());
  if (account_ && result.state != RunState::failed) note(account_->finish(result.statistics));
  for (const std::string& report : settings_.reports) note(write_report(report, result, plan_, registry, context, history_));
  return problem;
}

void check_records(const RunSettings& settings, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& option, const std::string& problem) {
    if (!problem.empty()) diagnostics.error({"options of the run", 0, 0}, "", option + ": " + problem, "give another name");
  };
  if (!settings.trace_file.empty()) refuse("trace", why_not_writable(settings.trace_file));
  if (!settings.account_file.empty()) refuse("account", why_not_writable(settings.account_file));
  for (const std::string& report : settings.reports) refuse("report", prepare_report(report));
}

}  // namespace sluice
