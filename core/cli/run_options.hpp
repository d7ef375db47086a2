// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The options that say how a pipeline is run, not what it computes: session/run_settings.hpp, as they are typed.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "session/run_settings.hpp"

namespace sluice::cli {

struct RunArguments {
  void add_to(CLI::App& app);
  void add_profile_to(CLI::App& app);
  // --samples, which `sluice run` alone has. `short_name`: the pipeline has no parameter of that name.
  void add_samples_to(CLI::App& app, bool short_name);
  // --shard, which `sluice run` alone has.
  void add_shard_to(CLI::App& app);
  // --resume and --checkpoint, which `sluice run` alone has.
  void add_resume_to(CLI::App& app);
  // The same as settings. Checks the texts; problems go to `diagnostics`.
  RunSettings settings(Diagnostics& diagnostics) const;

  std::string samples_file;
  bool quiet = false;

 private:
  CLI::Option* add(CLI::App& app, const char* names, const char* setting, const char* help, const char* type);
  std::map<std::string, std::string> texts_;  // by setting; "": not given
  std::vector<std::string> reports_, device_faults_;
  bool allow_empty_ = false, resume_ = false;
};

}  // namespace sluice::cli
