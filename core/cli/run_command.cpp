// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <optional>
#include <sluice/staged_file.hpp>

#include "cli/help_text.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_ending.hpp"
#include "cli/run_options.hpp"
#include "cli/sample_runs.hpp"
#include "observe/progress.hpp"
#include "observe/quantity.hpp"
#include "run/shared_resources.hpp"
#include "session/exit_code.hpp"
#include "session/output_room.hpp"
#include "session/session.hpp"

namespace sluice::cli {
namespace {

const char* level_prefix(int level) { return level >= SLUICE_LOG_ERROR ? "error: " : level == SLUICE_LOG_WARNING ? "warning: " : ""; }

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

// What the runs of one command have in common.
struct Invocation {
  const PipelineArguments& pipeline;
  bool quiet;
  const RunEnding& ending;
};

// What is said when a run has ended, broken between words where the console is a terminal.
std::string fitted(const Console& console, const std::string& line) {
  const std::size_t indent = line.find_first_not_of(' ') + 2;
  return console.is_terminal() && console.width() > 2 * indent ? wrapped(line, console.width() - indent, indent) : line;
}

void say_end(Console& console, const Invocation& command, const Plan& plan, const Session& session, const SessionEnd& end, int code) {
  for (const std::string& problem : end.unwritten) console.line("sluice run: " + problem);
  if (code == exit_closed_pipe) return say_what_the_reader_left(console, plan, command.pipeline.registry());
  if (!command.quiet)
    for (const std::string& line : end.summary) console.line(fitted(console, line));
  for (const std::string& hint : end.hints) console.line(fitted(console, level_prefix(SLUICE_LOG_WARNING) + hint));
  if (!command.quiet && code == exit_ok && session.is_shard())
    console.line("next: sluice merge --output FILE SHARD..., when all " + std::to_string(session.settings().options.parts) + " shards are there");
  else if (!command.quiet && code == exit_ok && !command.pipeline.next_steps().empty())
    console.line(fitted(console, "next: " + command.pipeline.next_steps()));
  say_how_it_ended(console, end.result, code == exit_interrupted);
  if (!end.emptiness.empty()) console.line("sluice run: nothing was produced: " + end.emptiness + " (--allow-empty accepts that)");
  if (end.failed_share)
    console.line("sluice run: " + percent_text(*end.failed_share) +
                 " of the rows failed, more than --max-bad-reads allows (the report's 'account' says why)");
}

// One run of a plan, from its first message to its last.
int run_plan(const Plan& plan, RunSettings settings, const Invocation& command) {
  Console console;
  const Registry& registry = command.pipeline.registry();
  settings.options.device = command.pipeline.device();
  settings.options.log = [&](int level, const std::string& line) {
    if (!command.quiet || level >= SLUICE_LOG_WARNING) console.line(level_prefix(level) + line);
  };
  Diagnostics diagnostics;
  Session session(plan, registry, std::move(settings), diagnostics);
  if (!session.note().empty()) console.line("sluice run: " + session.note());
  print(diagnostics);
  if (diagnostics.has_errors()) return exit_usage;
  if (!command.quiet) say_what_is_waited_for(console, plan, registry);
  const RunEnding::Of of(*session.run());
  std::optional<ProgressDisplay> progress;
  if (!command.quiet && console.is_terminal()) progress.emplace(console, plan, [&session] { return session.run()->snapshot(); });
  try {
    const SessionEnd& end = session.execute();
    progress.reset();
    // What came when all outputs had their names is obeyed by going no further.
    const int code = command.ending.interrupted() && (end.exit_code == exit_ok || end.exit_code == exit_bad_reads) ? exit_interrupted : end.exit_code;
    say_end(console, command, plan, session, end, code);
    return code;
  } catch (const std::bad_alloc&) {
    if (!session.has_whole_outputs()) throw;
    std::fputs("sluice run: out of memory (lower --memory or --threads); the run had finished: its outputs are whole\n", stderr);
    return exit_failed;
  }
}

// `called`: what was typed before the arguments.
int run(const Arguments& called, const Arguments& arguments) {
  CLI::App app("runs a pipeline", fmt::format("{}", fmt::join(called, " ")));
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
  RunSettings settings = options.settings(diagnostics);
  settings.options.is_last = options.samples_file.empty();
  settings.command_line = called;
  settings.command_line.insert(settings.command_line.end(), arguments.begin(), arguments.end());
  print(diagnostics);
  if (!options.samples_file.empty() && !settings.shard.empty())
    return print_error(app, "--samples and --shard don't go together", "run the shards of one sample at a time"), exit_usage;
  if (!options.samples_file.empty()) {
    const std::vector<SampleRun> runs = plan_samples(*pipeline, options.samples_file, settings);
    if (runs.empty() || diagnostics.has_errors()) return exit_usage;
    SharedResources shared;
    const RunEnding ending;
    const Invocation command{*pipeline, options.quiet, ending};
    return run_samples(
        runs, options.quiet, [&] { return ending.interrupted(); },
        [&](const SampleRun& run, const SampleRun* next) {
          shared.begin(run.plan, next != nullptr ? &next->plan : nullptr);
          RunSettings own = run.settings;
          own.options.shared = &shared;
          return run_plan(run.plan, std::move(own), command);
        });
  }
  const auto plan = pipeline->make_plan(Missing::error, DeviceSearch::possible, settings.files());
  // Report, trace and account are written at the end: that they can be is seen before, and that the disk has room.
  Diagnostics unwritable;
  check_records(settings, unwritable);
  if (plan) check_room(pipeline->written(), plan->pipeline.parameters, pipeline->overrides(Missing::error), settings, unwritable);
  print(unwritable);
  if (!plan || diagnostics.has_errors() || unwritable.has_errors()) return exit_usage;
  const RunEnding ending;
  return run_plan(*plan, std::move(settings), {*pipeline, options.quiet, ending});
}

}  // namespace

int run_command(const Arguments& arguments) { return run({"sluice", "run"}, arguments); }
int pipeline_command(const Arguments& arguments) { return run({"sluice"}, arguments); }

}  // namespace sluice::cli
