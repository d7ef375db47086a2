// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files about a run: reports, a trace, an account.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/account_writer.hpp"
#include "observe/report.hpp"
#include "observe/run_history.hpp"
#include "observe/trace.hpp"
#include "session/run_settings.hpp"

namespace sluice {

class RunRecords {
 public:
  RunRecords(const RunSettings& settings, const Plan& plan);

  // Hears of the run.
  RunListener& listener() { return listeners_; }
  // While the run goes on.
  void begin(std::function<RunStatistics()> snapshot);
  void end();
  // Writes what is asked for. Returns what went wrong, which the context's exit code then says, too.
  std::vector<std::string> finish(const RunResult& result, const Registry& registry, ReportContext& context);

 private:
  const RunSettings& settings_;
  const Plan& plan_;
  RunListeners listeners_;
  std::optional<TraceWriter> trace_;
  std::optional<AccountWriter> account_;
  std::optional<ActivityListener> activity_;
  std::optional<RunSampler> sampler_;
  RunHistory history_;
};

// Before a run: what can't be written later.
void check_records(const RunSettings& settings, Diagnostics& diagnostics);

}  // namespace sluice
