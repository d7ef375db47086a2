// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/engine.hpp"

#include <nlohmann/json.hpp>

#include "config/parameter_value.hpp"
#include "library/registered_stage.hpp"
#include "library/stream_stage.hpp"
#include "observe/stage_json.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

Json parameter_json(const PipelineParameter& parameter) {
  Json result = {{"name", parameter.name}, {"type", type_name(parameter.type)}, {"required", parameter.required}, {"several", parameter.several},
                 {"help", parameter.help}, {"group", parameter.group}};
  result["default"] = parameter.default_text ? Json(*parameter.default_text) : Json(nullptr);
  if (!parameter.choices.empty()) result["choices"] = parameter.choices;
  if (parameter.minimum) result["minimum"] = *parameter.minimum;
  if (parameter.maximum) result["maximum"] = *parameter.maximum;
  if (!parameter.unit.empty()) result["unit"] = parameter.unit;
  return result;
}

Json pipeline_json(const WrittenPipeline& pipeline) {
  Json parameters = Json::array(), stages = Json::array();
  for (const PipelineParameter& parameter : pipeline.parameters) parameters.push_back(parameter_json(parameter));
  for (const WrittenStage& stage : pipeline.stages) stages.push_back({{"name", stage.name}, {"use", stage.use}});
  return {{"name", pipeline.name},       {"file", pipeline.file.string()},    {"summary", pipeline.summary}, {"doc", pipeline.doc},
          {"example", pipeline.example}, {"next_steps", pipeline.next_steps}, {"parameters", parameters},    {"stages", stages}};
}

}  // namespace

Engine::Engine(const std::vector<std::filesystem::path>& plugin_dirs) {
  for (const auto& folder : Registry::search_path(plugin_dirs)) loaded_.load_folder(folder);
  add_stream_stage(loaded_);
  note_plugin_stages(loaded_);
}

std::shared_ptr<const Registry> Engine::registry() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t edition = registered_edition();
  if (!current_ || edition != edition_) {
    auto registry = std::make_shared<Registry>(loaded_);
    if (edition > 0) add_registered_stages(*registry);
    current_ = std::move(registry);
    edition_ = edition;
  }
  return current_;
}

std::string Engine::describe() {
  const std::shared_ptr<const Registry> registry = this->registry();
  Json plugins = Json::array(), problems = Json::array(), stages = Json::array(), pipelines = Json::array();
  for (const LoadedPlugin& plugin : registry->plugins())
    plugins.push_back({{"name", plugin.info->name}, {"version", plugin.info->version}, {"file", plugin.file.string()}});
  for (const PluginProblem& problem : registry->problems()) problems.push_back({{"file", problem.file.string()}, {"reason", problem.reason}});
  for (const StageEntry& stage : registry->stages())
    if (std::string_view(stage.descriptor->id) != stream_stage_id) stages.push_back(stage_json(stage));
  for (const std::filesystem::path& file : shipped_pipelines()) {
    Diagnostics unheard;  // who runs it is told
    pipelines.push_back(pipeline_json(load_pipeline_file(file, unheard)));
  }
  const Json all = {{"version", SLUICE_VERSION}, {"plugins", plugins}, {"problems", problems}, {"stages", stages}, {"pipelines", pipelines}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice
