// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A run with everything around it, for the command line and for programs: what it resumes from, which shard it is, the files about it, and its end.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "observe/report.hpp"
#include "plan/plan.hpp"
#include "run/run.hpp"
#include "session/live_run.hpp"
#include "session/run_records.hpp"
#include "session/run_settings.hpp"
#include "shard/shard_run.hpp"

namespace sluice {

struct SessionEnd {
  RunResult result;
  int exit_code = 0;                   // see session/exit_code.hpp
  std::vector<std::string> unwritten;  // files about the run that could not be written, and why
  std::string emptiness;               // what has nothing in it; "": all is well
  std::optional<double> failed_share;  // of the rows, where that is more than is allowed
  std::vector<std::string> summary, hints;
};

class Session {
 public:
  // `plan` and `registry` live as long as this. What stands in the way goes to `diagnostics`: then it can't be executed. settings.options.log is told
  // of everything else.
  Session(const Plan& plan, const Registry& registry, RunSettings settings, Diagnostics& diagnostics);
  Session(const Session&) = delete;

  // "" or what people should know before it begins.
  const std::string& note() const { return note_; }
  bool is_shard() const { return shard_.has_value(); }
  const RunSettings& settings() const { return settings_; }
  // To be told what happens (run/run_life.hpp), and asked how far it is. Null: it can't be executed.
  Run* run() const { return run_.get(); }
  LiveRun& live() { return *live_; }

  // Runs to the end, and writes the files about it. Once.
  const SessionEnd& execute();
  // The run has ended, and its outputs are whole: also where execute() has thrown behind that, for want of memory.
  bool has_whole_outputs() const { return end_.result.state == RunState::finished && !end_.result.statistics.outputs.empty(); }
  // Behind that: docs/report.md.
  std::string report() const;

 private:
  void be_shard(Diagnostics& diagnostics);
  void conclude();

  const Plan& plan_;
  const Registry& registry_;
  RunSettings settings_;
  std::optional<ShardPlan> shards_;
  std::optional<ShardRun> shard_;  // of both of these
  std::string note_;
  std::optional<RunRecords> records_;
  std::shared_ptr<Run> run_;  // resources that it shares may keep it longer
  std::optional<LiveRun> live_;
  ReportContext context_;
  SessionEnd end_;
};

}  // namespace sluice
