// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/plan_text.hpp"

namespace sluice::cli {

int plan_command(const Arguments& arguments) {
  CLI::App app("shows how a pipeline would run; required parameters may be left out", "sluice plan");
  bool dot = false;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) { target.add_flag("--dot", dot, "print the graph for Graphviz instead"); });
  if (const auto ended = pipeline.parse()) return *ended;
  const auto plan = pipeline.make_plan(Missing::assume);
  if (!plan) return exit_usage;
  std::fputs((dot ? plan_dot(*plan) : plan_text(*plan, pipeline.device())).c_str(), stdout);
  return exit_ok;
}

}  // namespace sluice::cli
