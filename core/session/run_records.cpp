// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/run_records.hpp"

#include <algorithm>
#include <utility>

#include "machine/atomic_file.hpp"
#include "observe/report_writer.hpp"
#include "session/exit_code.hpp"

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

std::vector<std::string> RunRecords::finish(const RunResult& result, const Registry& registry, ReportContext& context) {
  std::vector<std::string> problems;
  const auto note = [&](std::string problem) {
    if (problem.empty()) return;
    problems.push_back(std::move(problem));
    context.exit_code = with_problem(context.exit_code);
  };
  if (trace_) note(trace_->finish());
  if (account_ && result.state != RunState::failed) note(account_->finish(result.statistics));
  if (!settings_.reports.empty()) context.files = digests_of(plan_, registry, result.statistics.outputs);
  for (const std::string& report : settings_.reports) note(write_report(report, result, plan_, registry, context, history_));
  return problems;
}

void check_records(const RunSettings& settings, Diagnostics& diagnostics) {
  const auto refuse = [&](const char* setting, const std::string& problem) {
    if (!problem.empty()) diagnostics.error(settings.place(), "", settings.spelled(setting) + ": " + problem, "give another name");
  };
  if (!settings.trace_file.empty()) refuse("trace", why_not_writable(settings.trace_file));
  if (!settings.account_file.empty()) refuse("account", why_not_writable(settings.account_file));
  for (const std::string& report : settings.reports) refuse("report", prepare_report(report));
}

}  // namespace sluice
