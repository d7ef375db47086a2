// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The subcommands of `sluice`. Each gets the arguments behind its name and returns the exit code.

#include <string>
#include <vector>

namespace sluice::cli {

using Arguments = std::vector<std::string>;

int run_command(const Arguments& arguments);
int pipeline_command(const Arguments& name_and_arguments);  // a shipped pipeline, as a command of its own
int live_command(const Arguments& arguments);
int merge_command(const Arguments& arguments);
int check_command(const Arguments& arguments);
int plan_command(const Arguments& arguments);
int plugins_command(const Arguments& arguments);
int inspect_command(const Arguments& arguments);
int new_plugin_command(const Arguments& arguments);
int bench_command(const Arguments& arguments);
int model_command(const Arguments& arguments);
int doctor_command(const Arguments& arguments);
int docs_command(const Arguments& arguments);
int schema_command(const Arguments& arguments);
int completion_command(const Arguments& arguments);

struct Command {
  const char* name;
  const char* summary;
  int (*execute)(const Arguments& arguments);
};

const std::vector<Command>& commands();

}  // namespace sluice::cli
