// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What a model is, and where it is kept, is the stage model_store's business.
#include <cstdio>

#include "cli/pipeline_arguments.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

constexpr const char* pipeline_text = R"toml(
[pipeline]
name = "model"

[parameters.model_action]
type = "string"

[parameters.model_name]
type = "string"

[parameters.model_file]
type = "path"

[stages.models]
use = "model_store"
params = { action = "${model_action}", name = "${model_name}", path = "${model_file}" }

[stages.table]
use = "table_writer"
params = { output = "-", columns = "model_name,model_origin,model_path" }
)toml";

// "" or what is wrong with the number of arguments.
std::string misuse(const std::string& action, const std::string& name, const std::string& file) {
  if (action.empty()) return "no action is named";
  if (action != "add" && action != "list" && action != "remove") return "there is no action '" + action + "'";
  if (action == "list") return name.empty() ? "" : "'list' takes no name";
  if (name.empty()) return "'" + action + "' needs the name of a model";
  if (action == "add") return file.empty() ? "'add' needs the model's file" : "";
  return file.empty() ? "" : "'remove' takes no file";
}

int run_store(const CLI::App& app, const Overrides& overrides, const Registry& registry) {
  Diagnostics diagnostics;
  const WrittenPipeline written = parse_pipeline(pipeline_text, "sluice model", diagnostics);
  const Plan plan = make_plan(resolve_pipeline(written, overrides, registry, diagnostics), "cpu", {"cpu"}, diagnostics);
  print(diagnostics);
  if (diagnostics.has_errors()) return exit_usage;
  RunOptions options;
  options.device = "cpu";
  options.threads = 1;
  const RunResult result = Run(plan, registry, options).execute();
  if (result.state == RunState::failed) print_error(app, result.message, result.remedy);
  return exit_code(result);
}

}  // namespace

int model_command(const Arguments& arguments) {
  CLI::App app("keeps k-mer models of pores that have none built in: 'add NAME FILE', 'remove NAME', or 'list'", "sluice model");
  std::string action, name, file;
  std::vector<std::string> plugin_dirs;
  app.add_option("action", action, "add, list or remove")->type_name("ACTION");
  app.add_option("name", name, "the pore, with -5mc behind it for a methylation model: r10-5mc")->type_name("NAME");
  app.add_option(
         "file", file,
         "the model in the text format of nanopolish and f5c (plain, gzip or xz), or f5c's source: a checkout, its src/methmodel.c or src/model.h")
      ->type_name("FILE");
  add_plugin_dir(app, plugin_dirs);
  if (const auto ended = parse_options(app, arguments)) return *ended;
  if (const std::string problem = misuse(action, name, file); !problem.empty())
    return print_error(app, problem, "sluice model add NAME FILE, sluice model list, or sluice model remove NAME"), exit_usage;
  Overrides overrides;
  overrides.parameters = {{"model_action", action}};
  if (!name.empty()) overrides.parameters["model_name"] = name;
  if (!file.empty()) overrides.parameters["model_file"] = file;
  return run_store(app, overrides, load_plugins(plugin_dirs));
}

}  // namespace sluice::cli
