// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a pipeline is run, not what it computes: the names and rules of these settings, for the command line and for programs.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/diagnostic.hpp"
#include "plan/plan_files.hpp"
#include "run/run.hpp"

namespace sluice {

// In messages: a program names its settings ("batch_work"), a person types options ("--batch-work").
enum class Spelling { names, options };
Location place_of(Spelling spelling);
std::string spelled(const std::string& name, Spelling spelling);

enum class ProfileUse { reads, writes };

struct RunSettings {
  Spelling spelling = Spelling::names;
  RunOptions options;
  double allowed_bad_reads = 1;
  bool allow_empty = false, resume = false;
  std::string shard;  // "2/7", or ""
  std::vector<std::string> reports;
  std::string trace_file, account_file, profile_file;
  std::vector<std::string> command_line;  // for reports

  Location place() const { return place_of(spelling); }
  std::string spelled(const std::string& name) const { return sluice::spelled(name, spelling); }
  // What a run reads and writes because of them.
  std::vector<PlannedFile> files(ProfileUse use = ProfileUse::reads) const;
  // What `profile` names, or the user's own; null: none. A profile that can't be used is ignored, with one line in `problem`.
  std::shared_ptr<const MachineProfile> profile(std::string& problem) const;
  // The same with "{sample}" replaced in the names of files.
  RunSettings of_sample(const std::string& sample) const;
};

// By name, as text; `report` and `inject_device_fault` may be there several times. What is wrong goes to `diagnostics`.
RunSettings read_settings(const std::vector<std::pair<std::string, std::string>>& settings, Spelling spelling, Diagnostics& diagnostics);

// Is the device there? With "auto" and "cpu" no driver is woken.
void check_device(const std::string& device, Spelling spelling, const Registry& registry, Diagnostics& diagnostics);

}  // namespace sluice
