// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>

#include "cli/pipeline_arguments.hpp"
#include "observe/quantity.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {

int check_command(const Arguments& arguments) {
  CLI::App app("looks for every mistake in a pipeline; required parameters may be left out", "sluice check");
  PipelineArguments pipeline(app, arguments, [](CLI::App&) {});
  if (const auto ended = pipeline.parse()) return *ended;
  const auto plan = pipeline.make_plan(Missing::assume);
  if (!plan) return exit_usage;
  std::printf("%s: %s, %s: no mistakes found\n", plan->pipeline.file.c_str(), count_text(plan->stages.size(), "stage").c_str(),
              count_text(plan->pipeline.resources.size(), "resource").c_str());
  return exit_ok;
}

}  // namespace sluice::cli
