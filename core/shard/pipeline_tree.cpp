// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/pipeline_tree.hpp"

#include <algorithm>
#include <sluice/failure.hpp>
#include <span>
#include <utility>

#include "config/made_stage.hpp"
#include "config/parameter_value.hpp"
#include "plan/plan_files.hpp"

namespace sluice {
namespace {

using Tree = nlohmann::ordered_json;

std::span<const sluice_parameter> parameters_of(const ResolvedStage& stage) {
  return {stage.entry.descriptor->parameters, stage.entry.descriptor->parameter_count};
}

Tree stage_tree(const ResolvedPipeline& pipeline, const ResolvedStage& stage) {
  Tree params = Tree::object(), inputs = Tree::array(), feedback = Tree::array(), resources = Tree::object();
  for (std::size_t i = 0; i < parameters_of(stage).size(); ++i)
    if (stage.values[i].is_set != 0) params[parameters_of(stage)[i].name] = value_text(parameters_of(stage)[i], stage.values[i]);
  for (const std::size_t input : stage.inputs) inputs.push_back(pipeline.stages[input].name);
  for (const std::size_t sink : stage.feedback) feedback.push_back(pipeline.stages[sink].name);
  for (std::size_t slot = 0; slot < stage.resources.size(); ++slot)
    if (stage.resources[slot] >= 0)
      resources[stage.entry.descriptor->resources[slot].name] = pipeline.resources[static_cast<std::size_t>(stage.resources[slot])].name;
  Tree tree = {{"use", stage.entry.descriptor->id}, {"params", params}, {"inputs", inputs}, {"feedback", feedback}, {"resources", resources}};
  if (stage.entry.made_of != nullptr) {
    tree["use"] = stage.entry.made_of;
    tree["folder"] = stage.entry.made_in;
    tree["description"] = stage.entry.made_as;
    tree["build"] = stage.entry.plugin->build_id;
  }
  return tree;
}

[[noreturn]] void refuse_tree(const std::string& what) {
  throw Failure::input("the pipeline in the manifest " + what, "merge with the sluice and the plugins that made the shards");
}

std::string text_in(const Tree& tree, const char* key) {
  const auto found = tree.find(key);
  if (found == tree.end() || !found->is_string()) refuse_tree(std::string("has no '") + key + "'");
  return found->get<std::string>();
}

const Tree& list_in(const Tree& tree, const char* key, Tree::value_t type) {
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  if (found == tree.end() || found->type() != type) refuse_tree(std::string("has no '") + key + "'");
  return *found;
}

void fill_from_tree(ResolvedStage& stage, const Tree& tree) {
  const Tree& params = list_in(tree, "params", Tree::value_t::object);
  std::size_t known = 0;
  for (const sluice_parameter& parameter : parameters_of(stage)) {
    sluice_value value = parameter.default_value;
    value.type = parameter.type;
    value.is_set = 0;
    value.text = "";
    if (const auto found = params.find(parameter.name); found != params.end()) {
      ++known;
      const std::string what = "stage '" + stage.name + "', parameter '" + parameter.name + "'";
      if (!found->is_string()) refuse_tree("gives no text for " + what);
      const std::string& text = stage.texts.emplace_back(found->get<std::string>());
      if (!text.empty() || (parameter.type != SLUICE_STRING && parameter.type != SLUICE_PATH)) {
        ValueRule rule = rule_of(parameter);
        if (const ValueProblem problem = convert_value(text, rule, value); !problem.message.empty())
          refuse_tree("says of " + what + ": " + problem.message);
      }
      value.is_set = 1;
      value.text = text.c_str();
    }
    stage.values.push_back(value);
    stage.given_by.emplace_back();
  }
  if (known != params.size()) refuse_tree("has parameters of stage '" + stage.name + "' that are not known here");
}

ResolvedStage stage_from_tree(const std::string& name, const Tree& tree, const Registry& registry) {
  if (!tree.is_object()) refuse_tree("has no stage '" + name + "'");
  ResolvedStage stage;
  stage.name = name;
  const std::string id = text_in(tree, "use");
  const StageEntry* entry = registry.find(id);
  if (entry == nullptr && tree.contains("folder")) {
    const MadeStage made = stage_without_code(registry, {id, text_in(tree, "folder"), text_in(tree, "description"), text_in(tree, "build")});
    if (!made.problem.empty()) refuse_tree("has a stage '" + name + "' that can't be: " + made.problem);
    entry = made.entry;
  }
  if (entry == nullptr) refuse_tree("has a stage of the type '" + id + "', which is not here");
  stage.entry = *entry;
  fill_from_tree(stage, tree);
  return stage;
}

// Places of named stages in a list.
std::vector<std::size_t> places_of(const Tree& names, const std::vector<ResolvedStage>& stages) {
  std::vector<std::size_t> places;
  for (const Tree& name : names) {
    const auto found = std::find_if(stages.begin(), stages.end(),
                                    [&](const ResolvedStage& stage) { return name.is_string() && stage.name == name.get<std::string>(); });
    if (found == stages.end()) refuse_tree("names a stage that it has not");
    places.push_back(static_cast<std::size_t>(found - stages.begin()));
  }
  return places;
}

void connect_resources(ResolvedStage& stage, const Tree& tree, const std::vector<ResolvedStage>& resources) {
  const Tree& slots = list_in(tree, "resources", Tree::value_t::object);
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t slot = 0; slot < d.resource_count; ++slot) {
    const auto found = slots.find(d.resources[slot].name);
    if (found == slots.end() && d.resources[slot].optional == 0)
      refuse_tree("gives stage '" + stage.name + "' no resource '" + d.resources[slot].name + "'");
    stage.resources.push_back(found == slots.end() ? -1 : static_cast<int>(places_of(Tree::array({*found}), resources).front()));
  }
}

}  // namespace

Tree pipeline_tree(const ResolvedPipeline& pipeline) {
  Tree resources = Tree::object(), stages = Tree::object();
  for (const ResolvedStage& resource : pipeline.resources) resources[resource.name] = stage_tree(pipeline, resource);
  for (const ResolvedStage& stage : pipeline.stages) stages[stage.name] = stage_tree(pipeline, stage);
  return {{"name", pipeline.name}, {"file", pipeline.file}, {"parameters", pipeline.parameters}, {"resources", resources}, {"stages", stages}};
}

ResolvedPipeline pipeline_from_tree(const Tree& tree, const Registry& registry) {
  ResolvedPipeline pipeline;
  const Tree &resources = list_in(tree, "resources", Tree::value_t::object), &stages = list_in(tree, "stages", Tree::value_t::object);
  pipeline.name = text_in(tree, "name");
  pipeline.file = text_in(tree, "file");
  for (const auto& [name, value] : list_in(tree, "parameters", Tree::value_t::object).items())
    if (value.is_string()) pipeline.parameters[name] = value.get<std::string>();
  for (const auto& [name, resource] : resources.items()) {
    ResolvedStage made = stage_from_tree(name, resource, registry);
    if (made.entry.descriptor->kind != SLUICE_RESOURCE) refuse_tree("has a resource '" + name + "' that is none");
    connect_resources(made, resource, pipeline.resources);  // of those before it
    pipeline.resources.push_back(std::move(made));
  }
  for (const auto& [name, stage] : stages.items()) {
    pipeline.stages.push_back(stage_from_tree(name, stage, registry));
    if (pipeline.stages.back().entry.descriptor->kind == SLUICE_RESOURCE) refuse_tree("has a stage '" + name + "' that is none");
    connect_resources(pipeline.stages.back(), stage, pipeline.resources);
  }
  for (ResolvedStage& stage : pipeline.stages) {
    stage.inputs = places_of(list_in(stages[stage.name], "inputs", Tree::value_t::array), pipeline.stages);
    stage.feedback = places_of(list_in(stages[stage.name], "feedback", Tree::value_t::array), pipeline.stages);
  }
  pipeline.connected = !pipeline.stages.empty();
  return pipeline;
}

}  // namespace sluice
