// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>

#include "config/command_line.hpp"
#include "config/enabled_rule.hpp"
#include "config/expansion.hpp"
#include "config/made_stage.hpp"
#include "config/parameter_value.hpp"
#include "config/pipeline.hpp"
#include "config/set_override.hpp"
#include "config/stage_draft.hpp"
#include "config/stage_graph.hpp"
#include "config/stage_values.hpp"

namespace sluice {
namespace {

enum class Check { names_only, everything };

class Resolver {
 public:
  Resolver(const WrittenPipeline& pipeline, const Overrides& overrides, const Registry& registry, Diagnostics& diagnostics)
      : scope_(pipeline, overrides, diagnostics), pipeline_(pipeline), registry_(registry), diagnostics_(diagnostics) {}

  ResolvedPipeline resolve() {
    ResolvedPipeline result;
    result.name = pipeline_.name;
    result.summary = pipeline_.summary;
    result.advice = pipeline_.advice;
    result.file = pipeline_.file.string();
    for (const auto& part : pipeline_.parts) result.parts.push_back(part.string());
    result.parameters = scope_.parameters;
    result.parameters.erase(command_line_name);

    for (const WrittenStage& resource : pipeline_.resources) resources_.push_back(draft(resource, Part::resource));
    for (const WrittenStage& stage : pipeline_.stages) stages_.push_back(draft(stage, Part::stage));
    bool whole = std::all_of(resources_.begin(), resources_.end(), [](const Draft& d) { return d.entry.descriptor != nullptr; }) &&
                 std::all_of(stages_.begin(), stages_.end(), [](const Draft& d) { return d.entry.descriptor != nullptr; });

    StageGraph graph = connect();
    whole = whole && graph.whole;
    // After a wrong input it is not known what vanishes: the values of all enabled stages are looked at.
    if (!graph.whole)
      for (std::size_t i = 0; i < stages_.size(); ++i) graph.present[i] = stages_[i].enabled ? 1 : 0;
    for (Draft& resource : resources_) find_slots(resource, Check::names_only);
    for (std::size_t i = 0; i < stages_.size(); ++i) find_slots(stages_[i], graph.present[i] != 0 ? Check::everything : Check::names_only);
    const std::vector<std::size_t> resource_order = used_resources(graph);

    std::vector<int> resource_index(resources_.size(), -1);
    for (const std::size_t i : resource_order) {
      resource_index[i] = static_cast<int>(result.resources.size());
      result.resources.push_back(resolved(resources_[i], resource_index));
    }
    std::vector<std::size_t> stage_index(stages_.size(), absent);
    for (std::size_t i = 0, next = 0; i < stages_.size(); ++i)
      if (graph.present[i] != 0) stage_index[i] = next++;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (graph.present[i] == 0) continue;
      result.stages.push_back(resolved(stages_[i], resource_index));
      for (const std::size_t input : graph.inputs[i])
        if (stage_index[input] != absent) result.stages.back().inputs.push_back(stage_index[input]);
    }
    for (std::size_t i = 0; i < stages_.size(); ++i)
      for (const std::size_t sink : feedback_of(stages_[i]))
        if (stage_index[i] != absent && stage_index[sink] != absent) result.stages[stage_index[i]].feedback.push_back(stage_index[sink]);
    check_names_of_the_rest(graph, resource_index);
    if (result.stages.empty() && !pipeline_.stages.empty() && !diagnostics_.has_errors())
      diagnostics_.error({result.file, 0, 0}, "", "nothing is left to run: every stage is disabled", "give the parameters that enable an output");
    result.connected = whole && !result.stages.empty();
    return result;
  }

 private:
  Draft draft(const WrittenStage& written, Part part) {
    Draft result;
    result.written = &written;
    result.part = part;
    if (written.enabled) result.enabled = is_enabled(scope_, result, *written.enabled);
    if (written.use.empty()) return result;  // reported by parse_pipeline
    const StageEntry* entry = registry_.find(written.use);
    MadeStage made;
    if (entry == nullptr) made = made_stage(registry_, written.use, std::filesystem::path(written.use_where.file).parent_path());
    if (made.entry != nullptr) entry = made.entry;
    if (!made.problem.empty()) {
      scope_.error(result, written.use_where, made.problem, made.remedy);
    } else if (entry == nullptr) {
      std::vector<std::string> ids;
      for (const StageEntry& known : registry_.stages())
        if ((known.descriptor->kind == SLUICE_RESOURCE) == (part == Part::resource)) ids.emplace_back(known.descriptor->id);
      const std::string near = nearest_name(written.use, ids);
      scope_.error(result, written.use_where, "unknown stage type '" + written.use + "'",
                   near.empty() ? "'sluice plugins' lists the types and the plugins that could not be loaded" : "did you mean '" + near + "'?");
    } else if ((entry->descriptor->kind == SLUICE_RESOURCE) != (part == Part::resource)) {
      const bool should_be_resource = part == Part::stage;
      scope_.error(result, written.use_where, "'" + written.use + "' makes " + (should_be_resource ? "a resource" : "no resource"),
                   std::string("move it to [") + (should_be_resource ? "resources." : "stages.") + written.name + "]");
    } else {
      result.entry = *entry;
      if (const auto files = registry_.definitions_of(written.use); files.size() > 1)
        scope_.error(result, written.use_where,
                     "stage type '" + written.use + "' is defined twice, by " + files[0].string() + " and by " + files[1].string(),
                     "remove one of them, or look only where one is: SLUICE_PLUGIN_PATH, --plugin-dir and the user's folder are searched too");
    }
    return result;
  }

  StageGraph connect() {
    std::vector<GraphStage> nodes;
    for (const Draft& stage : stages_) {
      GraphStage node;
      node.name = stage.written->name;
      node.where = stage.written->where;
      node.kind = stage.entry.descriptor == nullptr ? 0 : stage.entry.descriptor->kind;
      if (const sluice_stage_descriptor* const d = stage.entry.descriptor; d != nullptr && d->kind == SLUICE_REGROUP)
        node.same_rows = std::string_view(d->input.row_type) == d->output.row_type;
      node.enabled = stage.enabled;
      if (stage.written->inputs) {
        node.inputs.emplace();
        for (const WrittenValue& input : *stage.written->inputs) node.inputs->emplace_back(scope_.expanded(stage, "inputs: ", input), input.where);
      }
      nodes.push_back(std::move(node));
    }
    return connect_stages(nodes, diagnostics_);
  }

  // The sinks whose rows come back to a stage, as indices of the stages as written. Disabled ones give nothing back.
  std::vector<std::size_t> feedback_of(const Draft& stage) {
    std::vector<std::size_t> sinks;
    const sluice_stage_descriptor* d = stage.entry.descriptor;
    if (stage.written->feedback.empty() || d == nullptr) return sinks;
    const Location& first = stage.written->feedback.front().where;
    if (d->feedback.row_type == nullptr) {
      scope_.error(stage, first, "'" + stage.written->use + "' takes no feedback", "remove feedback");
      return sinks;
    }
    for (const WrittenValue& value : stage.written->feedback) {
      const std::string name = scope_.expanded(stage, "feedback: ", value);
      if (name.empty()) continue;
      const auto found = std::find_if(stages_.begin(), stages_.end(), [&](const Draft& other) { return other.written->name == name; });
      if (found == stages_.end()) {
        std::vector<std::string> names;
        for (const Draft& other : stages_)
          if (other.entry.descriptor != nullptr && other.entry.descriptor->kind == SLUICE_SINK) names.push_back(other.written->name);
        const std::string near = nearest_name(name, names);
        scope_.error(stage, value.where, "unknown stage '" + name + "' in feedback",
                     near.empty() ? "name a sink of this file" : "did you mean '" + near + "'?");
      } else if (found->entry.descriptor != nullptr && found->entry.descriptor->kind != SLUICE_SINK) {
        scope_.error(stage, value.where, "feedback from '" + name + "', which is no sink", "name the sink at the end of the stages that decide");
      } else {
        const auto index = static_cast<std::size_t>(found - stages_.begin());
        if (std::find(sinks.begin(), sinks.end(), index) == sinks.end()) sinks.push_back(index);
      }
    }
    return sinks;
  }

  // Fills stage.slots. Check::names_only: missing slots are no error, because the stage may not be made.
  void find_slots(Draft& stage, Check check) {
    if (stage.entry.descriptor == nullptr) return;
    const sluice_stage_descriptor& descriptor = *stage.entry.descriptor;
    stage.slots.assign(descriptor.resource_count, absent);
    std::vector<std::string> slot_names;
    for (std::size_t slot = 0; slot < descriptor.resource_count; ++slot) slot_names.emplace_back(descriptor.resources[slot].name);
    for (const auto& [slot_name, value] : stage.written->resources) {
      const auto slot = std::find(slot_names.begin(), slot_names.end(), slot_name);
      if (slot == slot_names.end()) {
        const std::string near = nearest_name(slot_name, slot_names);
        scope_.error(stage, value.key_where, "'" + stage.written->use + "' has no resource slot '" + slot_name + "'",
                     near.empty() ? slot_names.empty() ? "remove it" : "its slots: " + joined(slot_names) : "did you mean '" + near + "'?");
        continue;
      }
      const std::string name = scope_.expanded(stage, "resources." + slot_name + ": ", value);
      if (!name.empty()) stage.slots[static_cast<std::size_t>(slot - slot_names.begin())] = find_resource(stage, slot_name, name, value);
    }
    if (check == Check::everything) require_slots(stage);
  }

  std::size_t find_resource(const Draft& stage, const std::string& slot_name, const std::string& name, const WrittenValue& value) {
    const auto found = std::find_if(resources_.begin(), resources_.end(), [&](const Draft& r) { return r.written->name == name; });
    if (found != resources_.end()) return static_cast<std::size_t>(found - resources_.begin());
    std::vector<std::string> names;
    for (const Draft& resource : resources_) names.push_back(resource.written->name);
    const std::string near = nearest_name(name, names);
    scope_.error(stage, value.where, "resources." + slot_name + ": there is no resource '" + name + "'",
                 near.empty() ? "add a [resources." + name + "] table" : "did you mean '" + near + "'?");
    return absent;
  }

  // Every slot that must be filled is (the plan checks the row types). A disabled resource counts as left out.
  void require_slots(Draft& stage) {
    const sluice_stage_descriptor& descriptor = *stage.entry.descriptor;
    for (std::size_t i = 0; i < descriptor.resource_count; ++i) {
      const sluice_resource_slot& slot = descriptor.resources[i];
      const auto written = stage.written->resources.find(slot.name);
      const Location& where = written == stage.written->resources.end() ? stage.written->where : written->second.where;
      const bool filled = stage.slots[i] != absent;
      const bool disabled = filled && !resources_[stage.slots[i]].enabled;
      if (disabled && slot.optional == 0 && scope_.ask_for(resources_[stage.slots[i]].written->enabled->text)) {
        // said in the words of the command line
      } else if (disabled && slot.optional == 0) {
        scope_.error(stage, where, "resource slot '" + std::string(slot.name) + "': '" + resources_[stage.slots[i]].written->name + "' is disabled",
                     "give the parameter that enables it");
      } else if (!filled && slot.optional == 0 && written == stage.written->resources.end()) {
        scope_.error(stage, where, "resource slot '" + std::string(slot.name) + "' (rows of type '" + slot.row_type + "') is not filled",
                     "add resources." + std::string(slot.name) + " = \"NAME\"");
      } else if (!filled && slot.optional == 0 && expands_to_nothing(written->second.text)) {
        scope_.error(stage, where, "resource slot '" + std::string(slot.name) + "' is empty", "name a resource");
      }
      if (disabled) stage.slots[i] = absent;
    }
  }

  bool expands_to_nothing(const std::string& text) const {
    const Expansion expansion = expand(text, scope_.parameters);
    return expansion.message.empty() && expansion.text.empty();
  }

  // Resources that the present stages use, directly or not, each after those it uses itself.
  std::vector<std::size_t> used_resources(const StageGraph& graph) {
    std::vector<std::uint8_t> used(resources_.size(), 0);
    std::vector<std::size_t> open;
    const auto use = [&](const Draft& user) {
      for (const std::size_t resource : user.slots)
        if (resource != absent && used[resource] == 0) {
          used[resource] = 1;
          open.push_back(resource);
        }
    };
    for (std::size_t i = 0; i < stages_.size(); ++i)
      if (graph.present[i] != 0) use(stages_[i]);
    while (!open.empty()) {
      Draft& resource = resources_[open.back()];
      open.pop_back();
      if (resource.entry.descriptor != nullptr) require_slots(resource);
      use(resource);
    }

    std::vector<std::vector<std::size_t>> edges(resources_.size());
    for (std::size_t i = 0; i < resources_.size(); ++i)
      for (const std::size_t resource : resources_[i].slots)
        if (used[i] != 0 && resource != absent) edges[i].push_back(resource);
    std::vector<std::size_t> cycle, order;
    const auto all = dependency_order(edges, cycle);
    if (!all) {
      std::string names;
      for (const std::size_t i : cycle) names += (names.empty() ? "" : " -> ") + resources_[i].written->name;
      scope_.error(resources_[cycle.front()], resources_[cycle.front()].written->where, "the resources need each other in a circle: " + names,
                   "fill one of the slots otherwise");
      return {};
    }
    for (const std::size_t i : *all)
      if (used[i] != 0) order.push_back(i);
    return order;
  }

  ResolvedStage resolved(const Draft& from, const std::vector<int>& resource_index) {
    ResolvedStage stage;
    stage.name = from.written->name;
    stage.entry = from.entry;
    stage.where = from.written->where;
    stage.when_most_fail = from.written->when_most_fail;
    stage.usual_share = from.written->usual_share;
    for (const std::size_t resource : from.slots) stage.resources.push_back(resource == absent ? -1 : resource_index[resource]);
    if (from.written->device) {
      stage.device = scope_.expanded(from, "device: ", *from.written->device);
      if (!is_device_text(stage.device))
        scope_.error(from, from.written->device->where, "'" + stage.device + "' is not a device", "write auto, cpu, cuda or cuda:N");
    }
    if (from.written->device_max_row_work) {
      const std::string text = scope_.expanded(from, "device_max_row_work: ", *from.written->device_max_row_work);
      sluice_value value{};
      const ValueProblem problem = convert_value(text, {SLUICE_FLOAT, 0, {}, {}, ""}, value);
      if (!problem.message.empty())
        scope_.error(from, from.written->device_max_row_work->where, "device_max_row_work: " + problem.message, problem.remedy);
      stage.device_max_row_work = value.real;
    }
    if (from.entry.descriptor != nullptr) fill_values(scope_, from, stage);
    return stage;
  }

  static bool is_device_text(const std::string& text) {
    if (text.empty()) return true;  // the run's --device
    const std::size_t colon = text.find(':');
    const std::string_view kind = std::string_view(text).substr(0, colon),
                           ordinal = colon == std::string::npos ? "0" : std::string_view(text).substr(colon + 1);
    return !kind.empty() && kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos && !ordinal.empty() &&
           ordinal.size() <= 4 && ordinal.find_first_not_of("0123456789") == std::string_view::npos;
  }

  // Disabled stages and unused resources: the names must still be right, the values may be empty.
  void check_names_of_the_rest(const StageGraph& graph, const std::vector<int>& resource_index) {
    const auto check = [&](const Draft& rest) {
      if (rest.entry.descriptor == nullptr) return;
      check_parameter_names(scope_, rest);
      for (const auto& [name, value] : rest.written->params) scope_.expanded(rest, "parameter '" + name + "': ", value);
    };
    for (std::size_t i = 0; i < stages_.size(); ++i)
      if (graph.present[i] == 0) check(stages_[i]);
    for (std::size_t i = 0; i < resources_.size(); ++i)
      if (resource_index[i] < 0) check(resources_[i]);
  }

  static std::string joined(const std::vector<std::string>& list) {
    std::string result;
    for (const std::string& item : list) result += (result.empty() ? "" : ", ") + item;
    return result;
  }

  const ResolvingScope scope_;
  const WrittenPipeline& pipeline_;
  const Registry& registry_;
  Diagnostics& diagnostics_;
  std::vector<Draft> resources_, stages_;
};

}  // namespace

ResolvedPipeline resolve_pipeline(const WrittenPipeline& pipeline, const Overrides& overrides, const Registry& registry, Diagnostics& diagnostics) {
  WrittenPipeline changed = pipeline;
  for (const std::string& set : overrides.set) apply_set(set, changed, diagnostics);
  return Resolver(changed, overrides.in_present_names(pipeline), registry, diagnostics).resolve();
}

bool follows(const ResolvedStage& stage) {
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i)
    if (std::string_view(d.parameters[i].name) == "follow") return d.parameters[i].type == SLUICE_BOOL && stage.values[i].integer != 0;
  return false;
}

}  // namespace sluice
