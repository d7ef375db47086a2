// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/run_options.hpp"

#include "cli/help_text.hpp"
#include "config/parameter_value.hpp"
#include "config/sample_table.hpp"
#include "observe/report_writer.hpp"
#include "sched/policy_table.hpp"

namespace sluice::cli {
namespace {

// The value of one option; problems are reported under its name. Empty text: the initial value stands.
sluice_value checked(const char* option, const std::string& text, const ValueRule& rule, Diagnostics& diagnostics) {
  sluice_value value{};
  if (text.empty()) return value;
  const ValueProblem problem = convert_value(text, rule, value);
  if (!problem.message.empty()) diagnostics.error({"command line", 0, 0}, "", std::string(option) + ": " + problem.message, problem.remedy);
  return value;
}

}  // namespace

void RunArguments::add_to(CLI::App& app) {
  app.add_option("-t,--threads", threads, "threads (default: what affinity and cgroup allow)")->type_name("N");
  app.add_option("--memory", memory, "memory budget of the run, as 512MiB or 4GB")->type_name("SIZE");
  app.add_option("--gpu-memory", gpu_memory, "memory budget on each GPU (default: what is free)")->type_name("SIZE")->group(running_in_detail);
  app.add_option("--report", reports,
                 "write what happened, and how fast: .html: a page with pictures; _mqc.json, or FOLDER/: for MultiQC; else JSON (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--trace", trace_file, "write a Chrome trace of every call; .gz: gzip")->type_name("FILE")->group(running_in_detail);
  app.add_option("--account", account_file, "write a table of every row that is not in the output, with the reason; .gz: gzip")->type_name("FILE");
  app.add_option("--max-bad-reads", max_bad_reads, "return 3 when a larger fraction of the rows failed")->type_name("FRACTION");
  app.add_flag("--allow-empty", allow_empty, "return 0, not 3, when the run produced nothing")->group(running_in_detail);
  app.add_flag("--quiet", quiet, "no progress, no summary; warnings and errors remain");
  app.add_option("--log-level", log_level, "debug, info, warning or error")->type_name("LEVEL")->default_str("info")->group(running_in_detail);
  app.add_option("--batch-work", batch_work, "cut batches at this much of the source's work, instead of choosing")
      ->type_name("N")
      ->group(running_in_detail);
  app.add_option("--policy", policy, "what decides which batch goes to which device (docs/scheduling.md)")
      ->type_name("NAME")
      ->default_str(default_policy)
      ->group(running_in_detail);
  add_profile_to(app);
  app.add_option("--inject-device-fault", device_faults, "memory, kernel or lost@N[,every=M]")->allow_extra_args(false)->group("");
  app.add_option("--executor", executor, "flow_graph or serial")->group("");
  app.add_option("--watchdog", watchdog, "seconds without progress after which the state is printed")->group("");
}

void RunArguments::add_profile_to(CLI::App& app) {
  app.add_option("--profile", profile_file, "machine profile of `sluice bench --calibrate` (default: the user's), or none")
      ->type_name("FILE")
      ->group(running_in_detail);
}

void RunArguments::add_samples_to(CLI::App& app, bool short_name) {
  app.add_option(
         short_name ? "--samples,--sample-table" : "--sample-table", samples_file,
         "run once for each line of a table: a column 'sample', and columns named as parameters; {sample} stands for its name in every file's name")
      ->type_name("FILE");
}

void RunArguments::add_shard_to(CLI::App& app) {
  app.add_option("--shard", shard, "run the I-th of N parts of the input alone; `sluice merge` puts the outputs of all N together")->type_name("I/N");
}

void RunArguments::add_resume_to(CLI::App& app) {
  app.add_flag("--resume", resume, "go on where a run of the same command was killed, failed or was interrupted; the outputs have the same bytes");
  app.add_option("--checkpoint", checkpoint,
                 "seconds between two points that --resume can go on from, at least; 0: none. Left out: 30, or more if they took over 1 % of the run")
      ->type_name("SECONDS");
}

RunArguments RunArguments::of_sample(const std::string& sample) const {
  RunArguments own = *this;
  for (std::string* file : {&own.trace_file, &own.account_file}) *file = with_sample(*file, sample);
  for (std::string& report : own.reports) report = with_sample(report, sample);
  return own;
}

std::vector<PlannedFile> RunArguments::files(ProfileUse use) const {
  std::vector<PlannedFile> files;
  for (const std::string& report : reports)
    for (const std::string& file : files_of_report(report)) files.push_back({file, FileUse::writes, true, false, "--report"});
  if (!trace_file.empty()) files.push_back({trace_file, FileUse::writes, true, false, "--trace"});
  if (!account_file.empty()) files.push_back({account_file, FileUse::writes, true, false, "--account"});
  const std::filesystem::path profile = profile_file.empty() ? default_profile_file() : std::filesystem::path(profile_file);
  if (use == ProfileUse::writes && !profile_file.empty()) files.push_back({profile_file, FileUse::writes, true, false, "--profile"});
  if (use == ProfileUse::reads && !profile.empty() && profile != "none")
    files.push_back({profile.string(), FileUse::reads, false, true, profile_file.empty() ? "the machine profile" : "--profile"});
  return files;
}

RunOptions RunArguments::run_options(Diagnostics& diagnostics) {
  RunOptions options;
  const ValueRule whole{SLUICE_INT, 1, 4096, {}, ""}, bytes{SLUICE_SIZE, 16 << 20, {}, {}, "bytes"}, work{SLUICE_FLOAT, 1, {}, {}, ""},
      fraction{SLUICE_FLOAT, 0, 1, {}, ""};
  const ValueRule levels{SLUICE_CHOICE, {}, {}, {"debug", "info", "warning", "error"}, ""},
      executors{SLUICE_CHOICE, {}, {}, {"flow_graph", "serial"}, ""}, policies{SLUICE_CHOICE, {}, {}, policy_names(), ""};
  options.threads = static_cast<int>(checked("--threads", threads, whole, diagnostics).integer);
  options.memory_bytes = static_cast<std::uint64_t>(checked("--memory", memory, bytes, diagnostics).integer);
  options.device_memory_bytes = static_cast<std::uint64_t>(checked("--gpu-memory", gpu_memory, bytes, diagnostics).integer);
  options.batch_work = checked("--batch-work", batch_work, work, diagnostics).real;
  if (!watchdog.empty()) options.watchdog_seconds = checked("--watchdog", watchdog, {SLUICE_FLOAT, 0, {}, {}, "seconds"}, diagnostics).real;
  options.checkpoints = {30, 0.01};
  if (!checkpoint.empty()) options.checkpoints = {checked("--checkpoint", checkpoint, {SLUICE_FLOAT, 0, {}, {}, "seconds"}, diagnostics).real, 0};
  if (!max_bad_reads.empty()) allowed_bad_reads = checked("--max-bad-reads", max_bad_reads, fraction, diagnostics).real;
  checked("--log-level", log_level, levels, diagnostics);
  checked("--executor", executor, executors, diagnostics);
  checked("--policy", policy, policies, diagnostics);
  options.log_level = log_level == "debug"     ? SLUICE_LOG_DEBUG
                      : log_level == "warning" ? SLUICE_LOG_WARNING
                      : log_level == "error"   ? SLUICE_LOG_ERROR
                                               : SLUICE_LOG_INFO;
  options.executor = executor == "serial" ? Executor::serial : Executor::flow_graph;
  options.policy = policy;
  for (const std::string& text : device_faults) {
    if (const auto rule = parse_device_fault(text))
      options.device_faults.push_back(*rule);
    else
      diagnostics.error({"command line", 0, 0}, "", "--inject-device-fault: '" + text + "' is no fault",
                        "give memory@N, kernel@N or lost@N, perhaps with ,every=M");
  }
  return options;
}

std::shared_ptr<const MachineProfile> RunArguments::profile(std::string& problem) const {
  if (profile_file == "none") return nullptr;
  LoadedProfile loaded = load_profile(profile_file.empty() ? default_profile_file() : std::filesystem::path(profile_file));
  problem = loaded.problem;
  if (problem.empty() && !profile_file.empty() && !std::filesystem::exists(profile_file))
    problem = "there is no machine profile " + profile_file + ": the run learns the speeds itself";
  if (loaded.profile.costs().empty()) return nullptr;
  return std::make_shared<const MachineProfile>(std::move(loaded.profile));
}

}  // namespace sluice::cli
