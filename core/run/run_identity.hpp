// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run, or a resource of it, is made from.

#include <map>
#include <string>

#include "plan/plan.hpp"
#include "plan/plan_files.hpp"

namespace sluice {

// What must be the same when a run goes on: by name what it is ("parameter 'motif' of stage 'hmm'"), and its value. Files that are read are among
// them, with size, time and a checksum of their beginning.
using RunIdentity = std::map<std::string, std::string>;
RunIdentity identity_of(const Plan& plan, const Registry& registry);
// "" or the first difference, in words.
std::string difference(const RunIdentity& before, const RunIdentity& now);

// The parts: a stage or resource (`kind`) with its plugin and parameters; a file as it lies there now, false: it is no regular one.
void add_stage(const ResolvedStage& stage, const char* kind, RunIdentity& identity);
bool add_input(const PlannedFile& file, RunIdentity& identity);

}  // namespace sluice
