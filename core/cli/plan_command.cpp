// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "cli/pipeline_arguments.hpp"
#include "cli/plan_text.hpp"
#include "cli/run_options.hpp"
#include "cli/stage_json.hpp"
#include "machine/atomic_file.hpp"
#include "plan/plan_graph.hpp"
#include "session/exit_code.hpp"

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

struct GraphFormat {
  const char* ending;
  std::string (*draw)(const Plan& plan);
};
constexpr GraphFormat graph_formats[] = {{".svg", plan_svg}, {".dot", plan_dot}, {".gv", plan_dot}, {".mmd", plan_mermaid}};

const GraphFormat* graph_format_of(const std::string& file) {
  const auto found = std::find_if(std::begin(graph_formats), std::end(graph_formats), [&](const GraphFormat& f) { return file.ends_with(f.ending); });
  return found == std::end(graph_formats) ? nullptr : found;
}

}  // namespace

int plan_command(const Arguments& arguments) {
  CLI::App app("shows how a pipeline would run; required parameters may be left out", "sluice plan");
  bool dot = false, as_json = false;
  std::string graph_file;
  RunArguments run_arguments;
  PipelineArguments pipeline(app, arguments, [&](CLI::App& target) {
    target.add_flag("--dot", dot, "print the graph for Graphviz instead");
    target.add_option("--graph", graph_file, "draw the graph into a file instead: .svg, .mmd (Mermaid) or .dot (Graphviz)")->type_name("FILE");
    target.add_flag("--json", as_json, "a JSON object instead");
    run_arguments.add_profile_to(target);
  });
  if (const auto ended = pipeline.parse()) return *ended;
  const GraphFormat* graph_format = graph_format_of(graph_file);
  if (!graph_file.empty() && graph_format == nullptr)
    return print_error(app, "--graph: '" + graph_file + "' does not say what to draw", "end it in .svg, .mmd or .dot"), exit_usage;
  const auto plan = pipeline.make_plan(Missing::assume);
  if (!plan) return exit_usage;
  if (graph_format != nullptr) {
    const std::string problem = write_atomically(graph_file, graph_format->draw(*plan));
    if (!problem.empty()) return print_error(app, "--graph: " + problem, "give another name"), exit_failed;
    return exit_ok;
  }
  if (dot) return std::fputs(plan_dot(*plan).c_str(), stdout), exit_ok;
  PlanSituation situation;
  situation.device = pipeline.device();
  situation.devices = devices_for(pipeline.registry(), pipeline.device());
  situation.memory = memory_need(pipeline.written(), plan->pipeline.parameters);
  if (as_json) return print(plan_json(*plan, situation)), exit_ok;
  std::string problem;
  Diagnostics unheard;  // a profile's name is never wrong
  const auto profile = run_arguments.settings(unheard).profile(problem);
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  situation.profile = profile.get();
  std::fputs(plan_text(*plan, situation).c_str(), stdout);
  return exit_ok;
}

}  // namespace sluice::cli
