// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The options that say how a pipeline is run, not what it computes.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "config/diagnostic.hpp"
#include "plan/plan_files.hpp"
#include "run/run.hpp"

namespace sluice::cli {

enum class ProfileUse { reads, writes };

struct RunArguments {
  void add_to(CLI::App& app);
  void add_profile_to(CLI::App& app);
  // What --profile names, or the user's own; null: none. A profile that can't be used is ignored, with one line in `problem`.
  std::shared_ptr<const MachineProfile> profile(std::string& problem) const;
  // What a run reads and writes because of these options.
  std::vector<PlannedFile> files(ProfileUse use) const;
  // --samples, which `sluice run` alone has. `short_name`: the pipeline has no parameter of that name.
  void add_samples_to(CLI::App& app, bool short_name);
  // The same with "{sample}" replaced in the names of files.
  RunArguments of_sample(const std::string& sample) const;
  // --shard, which `sluice run` alone has.
  void add_shard_to(CLI::App& app);
  // --resume and --checkpoint, which `sluice run` alone has.
  void add_resume_to(CLI::App& app);
  // Checks the texts; problems go to `diagnostics`.
  RunOptions run_options(Diagnostics& diagnostics);

  std::string threads, memory, gpu_memory, batch_work, max_bad_reads, watchdog, executor = "flow_graph", policy = default_policy, log_level = "info";
  double allowed_bad_reads = 1;  // set by run_options()
  std::vector<std::string> reports;
  std::string trace_file, account_file, samples_file, shard;
  std::string profile_file;
  std::vector<std::string> device_faults;
  std::string checkpoint;
  bool quiet = false, allow_empty = false, resume = false;
};

}  // namespace sluice::cli
