// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <string>
#include <vector>

#include "cli/pipeline_arguments.hpp"
#include "cli/stage_json.hpp"
#include "cli/stage_page.hpp"
#include "config/made_stage.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

// A pipeline's name is a mistake about the command, a part of a stage's name ("event") one about the name.
std::string remedy_for(const std::string& name, const std::vector<std::string>& stages) {
  for (const auto& file : shipped_pipelines())
    if (file.stem() == name) return "'" + name + "' is a pipeline: 'sluice plan " + name + "' or 'sluice run " + name + " --help' describes it";
  if (const std::string near = nearest_name(name, stages); !near.empty()) return "did you mean '" + near + "'?";
  std::string list;
  for (const std::string& stage : stages)
    if (name.size() > 2 && stage.find(name) != std::string::npos) list += (list.empty() ? "'" : ", '") + stage + "'";
  return list.empty() ? "'sluice plugins' lists them, and the plugins that could not be loaded" : "did you mean " + list + "?";
}

}  // namespace

int inspect_command(const Arguments& arguments) {
  CLI::App app("describes stages: columns, parameters, resources, reasons, implementations", "sluice inspect");
  std::vector<std::string> plugin_dirs, ids;
  bool as_json = false;
  app.add_option("stage", ids, "ids of stages, as 'sluice plugins' lists them, or FILE.py:FUNCTION")->type_name("STAGE");
  app.add_flag("--json", as_json, "a JSON array instead, with an object for each stage");
  add_plugin_dir(app, plugin_dirs);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (ids.empty()) return print_error(app, "no stage is named", "'sluice plugins' lists them"), exit_usage;

  const Registry registry = load_plugins(plugin_dirs);
  std::vector<std::string> known;
  for (const StageEntry& stage : registry.stages()) known.emplace_back(stage.descriptor->id);
  int code = exit_ok;
  Json described = Json::array();
  for (const std::string& id : ids) {
    const StageEntry* stage = registry.find(id);
    const MadeStage made = stage == nullptr ? made_stage(registry, id, {}) : MadeStage();
    if (made.entry != nullptr) stage = made.entry;
    if (stage != nullptr) {
      if (as_json)
        described.push_back(stage_json(*stage));
      else
        std::fputs(stage_page(*stage).c_str(), stdout);
      continue;
    }
    if (made.problem.empty())
      print_error(app, "there is no stage '" + id + "'", remedy_for(id, known));
    else
      print_error(app, made.problem, made.remedy);
    code = exit_usage;
  }
  if (as_json) print(described);
  return code;
}

}  // namespace sluice::cli
