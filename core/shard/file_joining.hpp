// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of shards become one: by the plugin of the sink that wrote them (sluice/file_joining.h), else byte by byte.

#include <sluice/file_parts.hpp>
#include <string>

#include "plan/plan.hpp"

namespace sluice {

class RunContext;

struct FileForm {
  std::string name = "bytes";   // or what the plugin calls it
  bool by_plugin = false;       // else byte by byte
  std::string problem, remedy;  // why it can't be done; "": it can
};

// Of the files of a sink with these parameters.
FileForm joined_form(const ResolvedStage& sink);

// Writes files.output in a run in which nothing else happens. `sink`: of the plan. Throws Failure.
void join_files(RunContext& run, std::size_t sink, const FilesToJoin& files);

}  // namespace sluice
