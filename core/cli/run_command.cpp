// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/run_options.hpp"
#include "observe/account.hpp"
#include "observe/atomic_file.hpp"
#include "observe/progress.hpp"
#include "observe/quantity.hpp"
#include "observe/report.hpp"
#include "observe/summary.hpp"
#include "observe/trace.hpp"

namespace sluice::cli {
namespace {

std::atomic<Run*> running{nullptr};
std::atomic<int> signals{0};

// [async-signal-safe]
void tell(const char* text, std::size_t bytes) {
  if (::write(2, text, bytes) < 0) return;  // nobody is there to be told
}

void on_signal(int) {
  static constexpr char first[] = "\nsluice: interrupted: finishing what is under way; once more to stop at once\n";
  static constexpr char second[] = "\nsluice: stopping at once\n";
  const int count = ++signals;
  if (count > 2) ::_exit(exit_interrupted);  // the run does not react: leave
  if (count == 1)
    tell(first, sizeof first - 1);
  else
    tell(second, sizeof second - 1);
  if (Run* run = running.load()) run->interrupt();
}

// Ctrl-C and SIGTERM go to `run` while this lives.
class SignalsToRun {
 public:
  explicit SignalsToRun(Run& run) {
    running = &run;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, &interrupt_before_);
    sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~SignalsToRun() {
    sigaction(SIGINT, &interrupt_before_, nullptr);
    sigaction(SIGTERM, &terminate_before_, nullptr);
    running = nullptr;
  }
  SignalsToRun(const SignalsToRun&) = delete;
  SignalsToRun& operator=(const SignalsToRun&) = delete;

 private:
  struct sigaction interrupt_before_ {
  }, terminate_before_{};
};

const char* level_prefix(int level) { return level >= SLUICE_LOG_ERROR ? "error: " : level == SLUICE_LOG_WARNING ? "warning: " : ""; }

int write_side_file(Console& console, const std::string& file, const std::string& content, int code) {
  if (file.empty()) return code;
  const std::string problem = write_atomically(file, content);
  if (problem.empty()) return code;
  console.line("sluice run: " + problem);
  return code == exit_ok || code == exit_bad_reads ? static_cast<int>(exit_failed) : code;
}

void say_how_it_ended(Console& console, const RunResult& result) {
  if (result.state == RunState::failed) {
    console.line(Diagnostic{Severity::error, {"sluice run", 0, 0}, result.stage, result.message, result.remedy}.text());
  } else if (result.state == RunState::interrupted) {
    std::string partial;
    for (const std::string& file : result.statistics.outputs) partial += (partial.empty() ? "" : ", ") + file;
    console.line("sluice run: interrupted" + (partial.empty() ? ": nothing was kept" : ": what was finished is in " + partial) +
                 " (the same command starts again from the beginning)");
  }
}

}  // namespace

int run_command(const Arguments& arguments) {
  CLI::App app("runs a pipeline", "sluice run");
  RunArguments options;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) { options.add_to(target); });
  if (const auto ended = pipeline.parse()) return *ended;
  Diagnostics diagnostics;
  RunOptions run_options = options.run_options(diagnostics);
  for (const std::string& file : {options.report_file, options.trace_file, options.account_file})
    if (!file.empty())
      if (const std::string problem = why_not_writable(file); !problem.empty())
        diagnostics.error({"command line", 0, 0}, "", problem, "give another name");
  print(diagnostics);
  const auto plan = pipeline.make_plan(Missing::error, DeviceSearch::possible);
  if (!plan || diagnostics.has_errors()) return exit_usage;

  Console console;
  run_options.device = pipeline.device();
  run_options.log = [&](int level, const std::string& line) {
    if (!options.quiet || level >= SLUICE_LOG_WARNING) console.line(level_prefix(level) + line);
  };
  if (run_options.device != "cpu") {  // else there is nothing to choose
    std::string problem;
    run_options.profile = options.profile(problem);
    if (!problem.empty()) run_options.log(SLUICE_LOG_INFO, problem);
  }
  RunResult result;
  {
    Run run(*plan, pipeline.registry(), run_options);
    const SignalsToRun signals_to_run(run);
    std::optional<ProgressDisplay> progress;
    if (!options.quiet && console.is_terminal()) progress.emplace(console, *plan, [&run] { return run.snapshot(); });
    result = run.execute();
  }

  int code = exit_code(result);
  const auto accounts = account_of(*plan, result.statistics, ending_of(result));
  if (code == exit_ok && worst_failed_fraction(accounts) > options.allowed_bad_reads) code = exit_bad_reads;
  Arguments command_line = {"sluice", "run"};
  command_line.insert(command_line.end(), arguments.begin(), arguments.end());
  code = write_side_file(console, options.trace_file, options.trace_file.empty() ? "" : chrome_trace(plan->pipeline.name, result.statistics.trace),
                         code);
  code =
      write_side_file(console, options.report_file,
                      options.report_file.empty() ? "" : report_json(result, *plan, pipeline.registry(), {SLUICE_VERSION, command_line, code}), code);
  if (!options.quiet)
    for (const std::string& line : summary_lines(result, *plan)) console.line(line);
  say_how_it_ended(console, result);
  if (code == exit_bad_reads)
    console.line("sluice run: " + percent_text(worst_failed_fraction(accounts)) +
                 " of the rows failed, more than --max-bad-reads allows (the report's 'account' says why)");
  return code;
}

}  // namespace sluice::cli
