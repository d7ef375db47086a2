// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Puts the shards of one output together, with what was said of them: the whole of `sluice merge`.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/run.hpp"

namespace sluice {

struct MergeRequest {
  std::string output, of;       // what to write; which output, where folders have shards of several
  std::string report, account;  // files, or ""
  std::vector<std::string> shards;
  std::vector<std::string> command_line;  // for the report
};

struct Merged {
  bool interrupted = false;  // nothing was written
  std::size_t shards = 0;
  std::uint64_t rows = 0;  // that were read
  nlohmann::ordered_json report;
};

// execute: calls run.execute(), with whatever is to happen beside it. Throws Failure.
Merged merge_shards(const MergeRequest& request, RunOptions options, const Registry& registry, const std::function<RunResult(Run& run)>& execute);

}  // namespace sluice
