// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>

#include "cli/exit_code.hpp"
#include "cli/pipeline_arguments.hpp"
#include "cli/plan_text.hpp"
#include "cli/run_options.hpp"

namespace sluice::cli {
namespace {

std::vector<PlanDevice> devices_for(const Registry& registry, const std::string& wish) {
  std::vector<PlanDevice> devices;
  if (wish == "cpu") return devices;
  for (const sluice_device_provider* provider : registry.device_providers())
    for (int ordinal = 0; ordinal < provider->count(); ++ordinal) {
      const std::string name = std::string(provider->kind) + ":" + std::to_string(ordinal);
      if (wish != "auto" && wish != provider->kind && wish != name) continue;
      sluice_device_info info{};
      info.struct_size = sizeof info;
      sluice_error error{};
      if (provider->describe(ordinal, &info, &error) == SLUICE_OK) devices.push_back({name, provider->kind, info.name});
    }
  return devices;
}

}  // namespace

int plan_command(const Arguments& arguments) {
  CLI::App app("shows how a pipeline would run; required parameters may be left out", "sluice plan");
  bool dot = false;
  RunArguments run_arguments;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) {
    target.add_flag("--dot", dot, "print the graph for Graphviz instead");
    run_arguments.add_profile_to(target);
  });
  if (const auto ended = pipeline.parse()) return *ended;
  const auto plan = pipeline.make_plan(Missing::assume);
  if (!plan) return exit_usage;
  if (dot) return std::fputs(plan_dot(*plan).c_str(), stdout), exit_ok;
  PlanSituation situation;
  situation.device = pipeline.device();
  situation.devices = devices_for(pipeline.registry(), pipeline.device());
  std::string problem;
  const auto profile = run_arguments.profile(problem);
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  situation.profile = profile.get();
  std::fputs(plan_text(*plan, situation).c_str(), stdout);
  return exit_ok;
}

}  // namespace sluice::cli
