// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "session/session.hpp"

#include <new>
#include <utility>

#include "machine/atomic_file.hpp"
#include "observe/account.hpp"
#include "observe/bottleneck.hpp"
#include "observe/report_tree.hpp"
#include "observe/summary.hpp"
#include "run/resuming.hpp"
#include "run/shared_resources.hpp"
#include "session/exit_code.hpp"

namespace sluice {

Session::Session(const Plan& plan, const Registry& registry, RunSettings settings, Diagnostics& diagnostics)
    : plan_(plan), registry_(registry), settings_(std::move(settings)) {
  RunOptions& options = settings_.options;
  if (!settings_.shard.empty()) be_shard(diagnostics);
  if (diagnostics.has_errors()) return;
  const ResumeFinding finding = prepare_resuming(plan, registry, settings_.resume ? Resuming::goes_on : Resuming::begins, options);
  note_ = finding.note;
  if (!finding.problem.empty()) diagnostics.error(settings_.place(), "", settings_.spelled("resume") + ": " + finding.problem, finding.remedy);
  if (diagnostics.has_errors()) return;
  if (options.device != "cpu") {  // else there is nothing to choose
    std::string problem;
    options.profile = settings_.profile(problem);
    if (!problem.empty() && options.log) options.log(SLUICE_LOG_INFO, problem);
  }
  records_.emplace(settings_, plan);
  options.listener = &records_->listener();
  run_ = std::make_shared<Run>(plan, registry, options);
  live_.emplace(*run_);
}

void Session::be_shard(Diagnostics& diagnostics) {
  const std::string name = settings_.spelled("shard") + ": ";
  shards_ = shard_plan(plan_);
  ShardNumber number;
  if (!parse_shard(settings_.shard, number))
    diagnostics.error(settings_.place(), "", name + "'" + settings_.shard + "' is no part of a whole", "write I/N, as 2/7, with I from 1 to N");
  for (const ShardProblem& problem : shards_->problems) diagnostics.error(settings_.place(), "", name + problem.message, problem.remedy);
  // A state is written at the end.
  for (const ShardOutput& output : shards_->outputs)
    if (const std::string problem = why_not_writable(output.path); output.state_of && !problem.empty())
      diagnostics.error(settings_.place(), "", problem, "give another name");
  if (diagnostics.has_errors()) return;
  shard_.emplace(plan_, *shards_, number, SLUICE_VERSION);
  shard_->set(settings_.options);
}

const SessionEnd& Session::execute() {
  records_->begin([this] { return run_->snapshot(); });
  end_.result = run_->execute();
  try {
    records_->end();
  } catch (const std::bad_alloc&) {
    end_.result.has_no_statistics = true;
  }
  if (SharedResources* shared = settings_.options.shared; shared != nullptr) {
    run_->end_but_for_memory();
    shared->end(run_);
  }
  try {
    if (end_.result.has_no_statistics) throw std::bad_alloc();
    conclude();
  } catch (const std::bad_alloc&) {
    end_.unwritten.emplace_back("out of memory (lower --memory or --threads)");
    end_.exit_code = with_problem(context_.exit_code);
  }
  if (!end_.unwritten.empty() && has_whole_outputs()) end_.unwritten.emplace_back("the run had finished: its outputs are whole");
  return end_;
}

void Session::conclude() {
  const RunResult& result = end_.result;
  int code = exit_code(result);
  const double failed = worst_failed_fraction(account_of(plan_, result.statistics, ending_of(result)));
  if (code == exit_ok && failed > settings_.allowed_bad_reads) end_.failed_share = failed;
  // A shard may well be a part of the input with nothing in it.
  if (code == exit_ok && !settings_.allow_empty && !shard_) end_.emptiness = emptiness_text(result, plan_);
  if (end_.failed_share || !end_.emptiness.empty()) code = exit_bad_reads;
  context_ = {SLUICE_VERSION, settings_.command_line, code, {}};
  end_.unwritten = records_->finish(result, registry_, context_);
  if (shard_ && result.state == RunState::finished && (context_.exit_code != exit_failed)) {
    const std::string problem = shard_->write_manifests(result, registry_, settings_.account_file, report_tree(result, plan_, registry_, context_));
    if (!problem.empty()) end_.unwritten.push_back(problem), context_.exit_code = with_problem(context_.exit_code);
  }
  end_.exit_code = context_.exit_code;
  end_.summary = summary_lines(result, plan_);
  end_.hints = hints(plan_, result.statistics);
}

std::string Session::report() const { return report_json(end_.result, plan_, registry_, context_); }

}  // namespace sluice
