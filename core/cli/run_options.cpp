// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/run_options.hpp"

#include <utility>

#include "cli/help_text.hpp"
#include "sched/policy_table.hpp"

namespace sluice::cli {

CLI::Option* RunArguments::add(CLI::App& app, const char* names, const char* setting, const char* help, const char* type) {
  return app.add_option(names, texts_[setting], help)->type_name(type);
}

void RunArguments::add_to(CLI::App& app) {
  add(app, "-t,--threads", "threads", "threads (default: what affinity and cgroup allow)", "N");
  add(app, "--memory", "memory", "memory budget of the run, as 512MiB or 4GB", "SIZE");
  add(app, "--gpu-memory", "gpu_memory", "memory budget on each GPU (default: what is free)", "SIZE")->group(running_in_detail);
  app.add_option("--report", reports_,
                 "write a report: .html, .json, or _mqc.json (MultiQC); FOLDER/: for MultiQC, too; .html is a page with pictures (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("FILE");
  add(app, "--trace", "trace", "write a Chrome trace of every call; .gz: gzip", "FILE")->group(running_in_detail);
  add(app, "--account", "account", "write a table of every row that is not in the output, with the reason; .gz: gzip", "FILE")
      ->group(running_in_detail);
  add(app, "--max-bad-reads", "max_bad_reads", "return 3 when a larger fraction of the rows failed", "FRACTION")->group(running_in_detail);
  app.add_flag("--allow-empty", allow_empty_, "return 0, not 3, when the run produced nothing")->group(running_in_detail);
  app.add_flag("--quiet", quiet, "no progress, no summary; warnings and errors remain");
  add(app, "--log-level", "log_level", "debug, info, warning or error", "LEVEL")->default_str("info")->group(running_in_detail);
  add(app, "--batch-work", "batch_work", "cut batches at this much of the source's work, instead of choosing", "N")->group(running_in_detail);
  add(app, "--policy", "policy", "what decides which batch goes to which device (docs/scheduling.md)", "NAME")
      ->default_str(default_policy)
      ->group(running_in_detail);
  add_profile_to(app);
  app.add_option("--inject-device-fault", device_faults_, "memory, kernel or lost@N[,every=M]")->allow_extra_args(false)->group("");
  add(app, "--executor", "executor", "flow_graph or serial", "TEXT")->group("");
  add(app, "--watchdog", "watchdog", "seconds without progress after which the state is printed", "TEXT")->group("");
}

void RunArguments::add_profile_to(CLI::App& app) {
  add(app, "--profile", "profile", "machine profile of `sluice bench --calibrate` (default: the user's), or none", "FILE")->group(running_in_detail);
}

void RunArguments::add_samples_to(CLI::App& app, bool short_name) {
  app.add_option(
         short_name ? "--samples,--sample-table" : "--sample-table", samples_file,
         "run once for each line of a table; it has a column 'sample', and columns named as parameters; {sample} is its name in every file's name")
      ->type_name("FILE");
}

void RunArguments::add_shard_to(CLI::App& app) {
  add(app, "--shard", "shard", "run the I-th of N parts of the input alone; `sluice merge` puts the outputs of all N together", "I/N");
}

void RunArguments::add_resume_to(CLI::App& app) {
  app.add_flag("--resume", resume_,
               "resume a run that was killed, failed or interrupted; the same command has to be given, and the outputs have the same bytes");
  add(app, "--checkpoint", "checkpoint",
      "seconds between two points that --resume can resume from, at least; 0: none. Default: 30, or more if they took over 1 % of the run", "SECONDS")
      ->group(running_in_detail);
}

RunSettings RunArguments::settings(Diagnostics& diagnostics) const {
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto& [setting, text] : texts_)
    if (!text.empty()) given.emplace_back(setting, text);
  for (const std::string& report : reports_) given.emplace_back("report", report);
  for (const std::string& fault : device_faults_) given.emplace_back("inject_device_fault", fault);
  if (allow_empty_) given.emplace_back("allow_empty", "true");
  if (resume_) given.emplace_back("resume", "true");
  return read_settings(given, Spelling::options, diagnostics);
}

}  // namespace sluice::cli
