// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <unistd.h>

#include <algorithm>
#include <sluice/staged_file.hpp>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_options.hpp"
#include "cli/sample_runs.hpp"
#include "machine/atomic_file.hpp"
#include "observe/account.hpp"
#include "observe/account_writer.hpp"
#include "observe/bottleneck.hpp"
#include "observe/progress.hpp"
#include "observe/quantity.hpp"
#include "observe/report_tree.hpp"
#include "observe/report_writer.hpp"
#include "observe/run_history.hpp"
#include "observe/summary.hpp"
#include "observe/trace.hpp"
#include "run/resuming.hpp"
#include "run/shared_resources.hpp"
#include "shard/shard_run.hpp"

namespace sluice::cli {
namespace {

const char* level_prefix(int level) { return level >= SLUICE_LOG_ERROR ? "error: " : level == SLUICE_LOG_WARNING ? "warning: " : ""; }

// What became of a file about the run: "" or what went wrong.
int after_side_file(Console& console, const std::string& problem, int code) {
  if (problem.empty()) return code;
  console.line("sluice run: " + problem);
  return code == exit_ok || code == exit_bad_reads ? static_cast<int>(exit_failed) : code;
}

void say_how_it_ended(Console& console, const RunResult& result, bool was_interrupted) {
  if (result.state == RunState::failed) {
    console.line(Diagnostic{Severity::error, {"sluice run", 0, 0}, result.stage, result.message, result.remedy}.text());
  } else if (result.state == RunState::interrupted) {
    std::string partial;
    for (const std::string& file : result.statistics.outputs) partial += (partial.empty() ? "" : ", ") + file;
    console.line("sluice run: interrupted" + (partial.empty() ? ": nothing was kept" : ": what was finished is in " + partial) +
                 (result.can_be_resumed ? "" : " (the same command starts again from the beginning)"));
  }
  if (result.state == RunState::finished && was_interrupted) console.line("sluice run: interrupted when all outputs were complete");
  if (result.can_be_resumed) console.line("sluice run: the same command with --resume goes on from there");
}

// Outputs with names of their own are not finished when the reader of another one goes away; that alone is worth a word.
void say_what_the_reader_left(Console& console, const Plan& plan, const Registry& registry) {
  std::string names;
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::writes && !file.side && file.path != "-" && !is_special_file(file.path))
      names += (names.empty() ? "" : ", ") + file.path;
  if (!names.empty()) console.line("sluice run: the reader of an output has gone before its end: not written: " + names);
}

void say_what_is_waited_for(Console& console, const Plan& plan, const Registry& registry) {
  for (const PlannedFile& file : files_of(plan, registry))
    if (file.use == FileUse::reads && file.path == "-" && ::isatty(STDIN_FILENO) == 1)
      console.line("sluice run: " + file.what + ": waiting for standard input, which is this terminal (Ctrl-D ends it)");
}

// Report, trace and account are written at the end: that they can be is seen before.
Diagnostics unwritable_files(const RunArguments& options) {
  Diagnostics unwritable;
  const auto refuse = [&](const std::string& option, const std::string& problem) {
    if (!problem.empty()) unwritable.error({"command line", 0, 0}, "", option + ": " + problem, "give another name");
  };
  for (const auto& [option, file] : {std::pair("--trace", options.trace_file), std::pair("--account", options.account_file)})
    if (!file.empty()) refuse(option, why_not_writable(file));
  for (const std::string& report : options.reports) refuse("--report", prepare_report(report));
  return unwritable;
}

// Sets what the run goes on from, if anything. False: it can't go on, and that has been said.
bool prepare(const Plan& plan, const Registry& registry, bool resume, RunOptions& options, Console& console) {
  const ResumeFinding finding = prepare_resuming(plan, registry, resume ? Resuming::goes_on : Resuming::begins, options);
  if (!finding.note.empty()) console.line("sluice run: " + finding.note);
  Diagnostics diagnostics;
  if (!finding.problem.empty()) diagnostics.error({"command line", 0, 0}, "", "--resume: " + finding.problem, finding.remedy);
  print(diagnostics);
  return finding.problem.empty();
}

// One run of a plan, from its first message to its last.
int run_plan(const Plan* plan, const PipelineArguments& pipeline, const RunArguments& options, RunOptions run_options, const Arguments& arguments,
             const RunEnding& ending, const ShardRun* shard = nullptr, SharedResources* shared = nullptr) {
  Console console;
  run_options.shared = shared;
  run_options.device = pipeline.device();
  run_options.log = [&](int level, const std::string& line) {
    if (!options.quiet || level >= SLUICE_LOG_WARNING) console.line(level_prefix(level) + line);
  };
  if (run_options.device != "cpu") {  // else there is nothing to choose
    std::string problem;
    run_options.profile = options.profile(problem);
    if (!problem.empty()) run_options.log(SLUICE_LOG_INFO, problem);
  }
  if (!prepare(*plan, pipeline.registry(), options.resume, run_options, console)) return exit_usage;
  if (!options.quiet) say_what_is_waited_for(console, *plan, pipeline.registry());
  std::optional<TraceWriter> trace;
  std::optional<AccountWriter> account;
  RunListeners listeners;
  if (!options.trace_file.empty()) listeners.add(trace.emplace(options.trace_file, plan->pipeline.name));
  if (!options.account_file.empty()) listeners.add(account.emplace(options.account_file));
  if (account && run_options.going_on_from) account->go_on_from(run_options.going_on_from->account);
  RunHistory history;
  std::optional<ActivityListener> activity;
  const bool wants_history = show_history(options.reports);
  if (wants_history) listeners.add(activity.emplace());
  run_options.listener = &listeners;
  RunResult result;
  const auto run = std::make_shared<Run>(*plan, pipeline.registry(), run_options);
  const RunEnding::Of of(*run);
  {
    std::optional<ProgressDisplay> progress;
    if (!options.quiet && console.is_terminal()) progress.emplace(console, *plan, [&run] { return run->snapshot(); });
    std::optional<RunSampler> sampler;
    if (wants_history) sampler.emplace([&run] { return run->snapshot(); });
    result = run->execute();
    if (sampler) history.samples = sampler->stop();
    if (activity) activity->give(history);
  }
  if (shared != nullptr) {
    run->end_but_for_memory();
    shared->end(run);
  }

  int code = exit_code(result);
  const auto accounts = account_of(*plan, result.statistics, ending_of(result));
  const bool too_many_failed = code == exit_ok && worst_failed_fraction(accounts) > options.allowed_bad_reads;
  // A shard may well be a part of the input with nothing in it.
  const std::string emptiness = code == exit_ok && !options.allow_empty && shard == nullptr ? emptiness_text(result, *plan) : "";
  if (too_many_failed || !emptiness.empty()) code = exit_bad_reads;
  Arguments command_line = {"sluice", "run"};
  command_line.insert(command_line.end(), arguments.begin(), arguments.end());
  if (trace) code = after_side_file(console, trace->finish(), code);
  if (account && result.state != RunState::failed) code = after_side_file(console, account->finish(result.statistics), code);
  ReportContext context{SLUICE_VERSION, command_line, code, {}};
  if (!options.reports.empty()) context.files = digests_of(*plan, pipeline.registry(), result.statistics.outputs);
  for (const std::string& report : options.reports) {
    context.exit_code = code;
    code = after_side_file(console, write_report(report, result, *plan, pipeline.registry(), context, history), code);
  }
  if (shard != nullptr && result.state == RunState::finished && (code == exit_ok || code == exit_bad_reads || code == exit_interrupted)) {
    context.exit_code = code;
    code = after_side_file(
        console, shard->write_manifests(result, pipeline.registry(), options.account_file, report_tree(result, *plan, pipeline.registry(), context)),
        code);
  }
  if (code == exit_closed_pipe) return say_what_the_reader_left(console, *plan, pipeline.registry()), code;
  if (!options.quiet)
    for (const std::string& line : summary_lines(result, *plan)) console.line(line);
  for (const std::string& hint : hints(*plan, result.statistics)) run_options.log(SLUICE_LOG_WARNING, hint);
  if (!options.quiet && code == exit_ok && shard != nullptr)
    console.line("next: sluice merge --output FILE SHARD..., when all " + std::to_string(run_options.parts) + " shards are there");
  else if (!options.quiet && code == exit_ok && !pipeline.next_steps().empty())
    console.line("next: " + pipeline.next_steps());
  const bool was_interrupted = ending.interrupted();
  if (was_interrupted && code != exit_failed) code = exit_interrupted;
  say_how_it_ended(console, result, was_interrupted);
  if (!emptiness.empty()) console.line("sluice run: nothing was produced: " + emptiness + " (--allow-empty accepts that)");
  if (too_many_failed)
    console.line("sluice run: " + percent_text(worst_failed_fraction(accounts)) +
                 " of the rows failed, more than --max-bad-reads allows (the report's 'account' says why)");
  return code;
}

// What --shard asks for; nothing, with a diagnostic, where it can't be done.
std::optional<ShardNumber> shard_number(const RunArguments& options, const ShardPlan& shards, Diagnostics& diagnostics) {
  ShardNumber number;
  if (!parse_shard(options.shard, number)) {
    diagnostics.error({"command line", 0, 0}, "", "--shard: '" + options.shard + "' is no part of a whole", "write I/N, as 2/7, with I from 1 to N");
    return std::nullopt;
  }
  for (const ShardProblem& problem : shards.problems) diagnostics.error({"command line", 0, 0}, "", "--shard: " + problem.message, problem.remedy);
  // A state is written at the end.
  for (const ShardOutput& output : shards.outputs)
    if (const std::string problem = why_not_writable(output.path); output.state_of && !problem.empty())
      diagnostics.error({"command line", 0, 0}, "", problem, "give another name");
  return number;
}

}  // namespace

int run_command(const Arguments& arguments) {
  CLI::App app("runs a pipeline", "sluice run");
  RunArguments options;
  std::optional<PipelineArguments> pipeline;
  pipeline.emplace(app, arguments, [&](CLI::App& target) {
    options.add_to(target);
    options.add_resume_to(target);
    options.add_samples_to(target, !pipeline->has_parameter("samples"));
    options.add_shard_to(target);
  });
  if (const auto ended = pipeline->parse()) return *ended;
  Diagnostics diagnostics;
  RunOptions run_options = options.run_options(diagnostics);
  run_options.is_last = options.samples_file.empty();
  print(diagnostics);
  if (!options.samples_file.empty() && !options.shard.empty())
    return print_error(app, "--samples and --shard don't go together", "run the shards of one sample at a time"), exit_usage;
  if (!options.samples_file.empty()) {
    const std::vector<SampleRun> runs = plan_samples(*pipeline, options, unwritable_files);
    if (runs.empty() || diagnostics.has_errors()) return exit_usage;
    SharedResources shared;
    const RunEnding ending;
    return run_samples(
        runs, options.quiet, [&] { return ending.interrupted(); },
        [&](const SampleRun& run, const SampleRun* next) {
          shared.begin(run.plan, next != nullptr ? &next->plan : nullptr);
          return run_plan(&run.plan, *pipeline, run.options, run_options, arguments, ending, nullptr, &shared);
        });
  }
  const auto plan = pipeline->make_plan(Missing::error, DeviceSearch::possible, options.files(ProfileUse::reads));
  const Diagnostics unwritable = unwritable_files(options);
  print(unwritable);
  if (!plan || diagnostics.has_errors() || unwritable.has_errors()) return exit_usage;
  const RunEnding ending;
  if (options.shard.empty()) return run_plan(&*plan, *pipeline, options, run_options, arguments, ending);
  const ShardPlan shards = shard_plan(*plan);
  Diagnostics of_shards;
  const auto number = shard_number(options, shards, of_shards);
  print(of_shards);
  if (!number || of_shards.has_errors()) return exit_usage;
  const ShardRun shard(*plan, shards, *number, SLUICE_VERSION);
  RunOptions of_shard = run_options;
  shard.set(of_shard);
  return run_plan(&*plan, *pipeline, options, of_shard, arguments, ending, &shard);
}

}  // namespace sluice::cli
