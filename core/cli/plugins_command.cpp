// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "cli/pipeline_arguments.hpp"
#include "cli/stage_json.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

bool has_column(const sluice_port& port, std::string_view column) {
  for (std::size_t c = 0; c < port.column_count; ++c)
    if (column == port.columns[c].name) return true;
  return false;
}

// "gives column 'a'", "needs column 'b'", or both.
std::string wanted_text(const std::string& gives, const std::string& needs) {
  const auto part = [](const char* verb, const std::string& column) { return column.empty() ? "" : std::string(verb) + " column '" + column + "'"; };
  const std::string first = part("gives", gives), second = part("needs", needs);
  return first + (first.empty() || second.empty() ? "" : " and ") + second;
}

// A column that some stage has, for one that no stage has; "" if none is near, or it is there itself.
std::string nearest_column(const Registry& registry, const std::string& wanted) {
  std::set<std::string> names;
  for (const StageEntry& stage : registry.stages())
    for (const sluice_port* port : {&stage.descriptor->input, &stage.descriptor->output})
      for (std::size_t c = 0; c < port->column_count; ++c) names.insert(port->columns[c].name);
  return wanted.empty() || names.contains(wanted) ? "" : nearest_name(wanted, {names.begin(), names.end()});
}

bool is_wanted(const sluice_stage_descriptor& d, const std::string& gives, const std::string& needs) {
  return (gives.empty() || has_column(d.output, gives)) && (needs.empty() || has_column(d.input, needs));
}

Json plugins_json(const Registry& registry, const std::string& gives, const std::string& needs) {
  Json plugins = Json::array(), problems = Json::array();
  for (const LoadedPlugin& plugin : registry.plugins()) {
    Json stages = Json::array();
    for (const StageEntry& stage : registry.stages())
      if (const sluice_stage_descriptor& d = *stage.descriptor; stage.plugin == plugin.info && is_wanted(d, gives, needs))
        stages.push_back({{"stage", d.id}, {"kind", kind_name(d.kind)}, {"summary", d.summary == nullptr ? "" : d.summary}});
    if (stages.empty() && !(gives.empty() && needs.empty())) continue;
    plugins.push_back({{"name", plugin.info->name},
                       {"version", plugin.info->version},
                       {"licence", plugin.info->licence == nullptr ? "" : plugin.info->licence},
                       {"build", plugin.info->build_id == nullptr ? "" : plugin.info->build_id},
                       {"file", plugin.file.string()},
                       {"stages", stages}});
  }
  for (const PluginProblem& problem : registry.problems()) problems.push_back({{"file", problem.file.string()}, {"reason", problem.reason}});
  return {{"plugins", plugins}, {"not_loaded", problems}};
}

}  // namespace

int plugins_command(const Arguments& arguments) {
  CLI::App app("lists plugins and stages, and why a plugin could not be loaded", "sluice plugins");
  std::vector<std::string> plugin_dirs;
  std::string gives, needs;
  bool as_json = false;
  add_plugin_dir(app, plugin_dirs);
  app.add_option("--gives", gives, "only stages that give this column")->type_name("COLUMN");
  app.add_option("--needs", needs, "only stages that need this column")->type_name("COLUMN");
  app.add_flag("--json", as_json, "a JSON object instead");
  if (const auto ended = parse_options(app, arguments)) return *ended;

  const Registry registry = load_plugins(plugin_dirs);
  if (as_json) return print(plugins_json(registry, gives, needs)), exit_ok;
  bool is_any_shown = false;
  for (const LoadedPlugin& plugin : registry.plugins()) {
    std::string stages;
    for (const StageEntry& stage : registry.stages()) {
      const sluice_stage_descriptor& d = *stage.descriptor;
      if (stage.plugin != plugin.info || !is_wanted(d, gives, needs)) continue;
      char line[256];
      std::snprintf(line, sizeof line, "  %-24s %-9s %s\n", d.id, kind_name(d.kind), d.summary);
      stages += line;
    }
    if (stages.empty() && !(gives.empty() && needs.empty())) continue;
    is_any_shown = true;
    std::printf("%s %s (%s, build %s)\n  %s\n%s", plugin.info->name, plugin.info->version,
                plugin.info->licence == nullptr ? "no licence" : plugin.info->licence,
                plugin.info->build_id == nullptr ? "unknown" : plugin.info->build_id, plugin.file.c_str(), stages.c_str());
  }
  if (registry.plugins().empty()) {
    std::printf("no plugins; searched:\n");
    for (const auto& folder : Registry::search_path({plugin_dirs.begin(), plugin_dirs.end()})) std::printf("  %s\n", folder.c_str());
  }
  if (!is_any_shown && !registry.plugins().empty()) {
    std::string near;
    for (const std::string& wanted : {gives, needs})
      if (near.empty()) near = nearest_column(registry, wanted);
    std::printf("no stage %s%s\n", wanted_text(gives, needs).c_str(), near.empty() ? "" : (" (did you mean '" + near + "'?)").c_str());
  }
  if (!registry.problems().empty()) std::printf("\nnot loaded:\n");
  for (const PluginProblem& problem : registry.problems()) std::printf("  %s: %s\n", problem.file.c_str(), problem.reason.c_str());
  return exit_ok;
}

}  // namespace sluice::cli
