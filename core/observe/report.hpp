// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The machine-readable account of a run. docs/report.md describes every key.

#include <string>
#include <vector>

#include "observe/account.hpp"
#include "observe/file_digest.hpp"
#include "plugin/registry.hpp"
#include "run/run.hpp"

namespace sluice {

// What the run itself does not know.
struct ReportContext {
  std::string version;  // of the program
  std::vector<std::string> command_line;
  int exit_code = 0;
  std::vector<FileDigest> files;
};

// JSON with two-space indentation and a newline at the end. Text that is not UTF-8 is replaced, never refused.
std::string report_json(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context);

Ending ending_of(const RunResult& result);
const char* state_name(RunState state);  // "finished", "failed", "interrupted"

}  // namespace sluice
