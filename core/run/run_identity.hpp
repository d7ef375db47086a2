// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run, or a resource of it, is made from.

#include <map>
#include <string>

#include "plan/plan.hpp"
#include "plan/plan_files.hpp"

namespace sluice {

// What must be the same: by name what it is ("--motif", "parameter 'motif' of stage 'hmm'"), and its value.
using RunIdentity = std::map<std::string, std::string>;

// When it resumes: type, plugin and parameters of each stage, what it is connected with, and the files that are read, with size, time and a checksum
// of their beginning.
RunIdentity identity_of(const Plan& plan, const Registry& registry);
// Of all parts of a run, wherever each is run: without plugins and files, which are compared beside this; inputs by their last names, and without
// the names of what is written. The names are those of the pipeline: "stages.map.params.k".
RunIdentity identity_of_parts(const ResolvedPipeline& pipeline);
std::string checksum_of(const RunIdentity& identity);

// "" or the first difference, in words: "--k was '15' and is '16'".
std::string difference(const RunIdentity& before, const RunIdentity& now);
// The same of two that are there: "stages.map.params.k is "15" and "16"".
std::string difference_of_two(const RunIdentity& a, const RunIdentity& b);

// A resource with its plugin and parameters; a file as it lies there now, false: it is no regular one.
void add_resource(const ResolvedStage& resource, RunIdentity& identity);
bool add_input(const PlannedFile& file, RunIdentity& identity);

}  // namespace sluice
