// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a program wants a pipeline run: the names and rules of the options of `sluice run`.

#include <string>
#include <utility>
#include <vector>

#include "config/diagnostic.hpp"
#include "plan/plan_files.hpp"
#include "run/run.hpp"

namespace sluice {

struct RunSettings {
  RunOptions options;
  double allowed_bad_reads = 1;
  bool allow_empty = false, resume = false;
  std::string shard;  // "2/7", or ""
  std::vector<std::string> reports;
  std::string trace_file, account_file;

  // What a run writes because of them.
  std::vector<PlannedFile> files() const;
};

// By name, as text. What is wrong goes to `diagnostics`.
RunSettings read_settings(const std::vector<std::pair<std::string, std::string>>& settings, const Registry& registry, Diagnostics& diagnostics);

}  // namespace sluice
