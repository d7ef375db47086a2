// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/stage_json.hpp"

#include <cstdio>

#include "config/parameter_value.hpp"
#include "machine/host_limits.hpp"
#include "run/run.hpp"

namespace sluice::cli {
namespace {

std::string said(const char* text) { return text == nullptr ? "" : text; }

Json columns_json(const sluice_port& port) {
  Json columns = Json::array();
  for (std::size_t c = 0; c < port.column_count; ++c)
    columns.push_back({{"name", port.columns[c].name},
                       {"type", port.columns[c].type},
                       {"optional", port.columns[c].optional != 0},
                       {"meaning", said(port.columns[c].doc)}});
  return columns;
}

Json port_json(const sluice_port& port) {
  if (port.row_type == nullptr) return nullptr;
  return {{"row_type", port.row_type}, {"columns", columns_json(port)}};
}

Json parameter_json(const sluice_parameter& parameter) {
  const ValueRule rule = rule_of(parameter);
  Json result = {{"name", parameter.name}, {"type", type_name(parameter.type)}, {"required", parameter.required != 0}};
  const std::string initial = default_text(parameter);
  result["default"] = parameter.default_value.is_set != 0 ? Json(initial) : Json(nullptr);
  if (!rule.choices.empty()) result["choices"] = rule.choices;
  if (rule.minimum) result["minimum"] = *rule.minimum;
  if (rule.maximum) result["maximum"] = *rule.maximum;
  if (!rule.unit.empty()) result["unit"] = rule.unit;
  result["help"] = said(parameter.help);
  return result;
}

Json values_json(const ResolvedStage& stage) {
  Json values = Json::object();
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i)
    if (stage.values[i].is_set != 0) values[d.parameters[i].name] = value_text(d.parameters[i], stage.values[i]);
  return values;
}

Json used_resources(const Plan& plan, const ResolvedStage& stage) {
  Json slots = Json::object();
  for (std::size_t slot = 0; slot < stage.resources.size(); ++slot)
    if (stage.resources[slot] >= 0)
      slots[stage.entry.descriptor->resources[slot].name] = plan.pipeline.resources[static_cast<std::size_t>(stage.resources[slot])].name;
  return slots;
}

Json planned_json(const Plan& plan, std::size_t index) {
  const PlannedStage& stage = plan.stages[index];
  const sluice_stage_descriptor& d = *stage.stage->entry.descriptor;
  Json inputs = Json::array(), feedback = Json::array(), devices = Json::array(), columns = Json::array(), not_made = Json::array();
  for (const std::size_t input : stage.stage->inputs) inputs.push_back(plan.stages[input].stage->name);
  for (const std::size_t sink : stage.stage->feedback) feedback.push_back(plan.stages[sink].stage->name);
  for (const std::uint32_t k : stage.implementations) devices.push_back(d.implementations[k].device);
  for (const PlannedColumn& column : stage.columns) columns.push_back({{"name", column.name}, {"type", column.type}});
  for (std::size_t c = 0; c < d.output.column_count && c < stage.wanted.size(); ++c)
    if (stage.wanted[c] == 0) not_made.push_back(d.output.columns[c].name);
  return {{"name", stage.stage->name},
          {"stage", d.id},
          {"kind", kind_name(d.kind)},
          {"row_type", stage.row_type},
          {"inputs", inputs},
          {"feedback", feedback},
          {"resources", used_resources(plan, *stage.stage)},
          {"parameters", values_json(*stage.stage)},
          {"devices", devices},
          {"columns", columns},
          {"not_made", not_made}};
}

}  // namespace

Json stage_json(const StageEntry& stage) {
  const sluice_stage_descriptor& d = *stage.descriptor;
  Json parameters = Json::array(), resources = Json::array(), reasons = Json::array(), implementations = Json::array();
  for (std::size_t i = 0; i < d.parameter_count; ++i) parameters.push_back(parameter_json(d.parameters[i]));
  for (std::size_t i = 0; i < d.resource_count; ++i)
    resources.push_back({{"slot", d.resources[i].name},
                         {"row_type", d.resources[i].row_type},
                         {"optional", d.resources[i].optional != 0},
                         {"meaning", said(d.resources[i].doc)}});
  for (std::size_t i = 0; i < d.reason_count; ++i) reasons.push_back({{"code", d.reasons[i].code}, {"meaning", said(d.reasons[i].doc)}});
  for (std::size_t i = 0; i < d.implementation_count; ++i)
    implementations.push_back({{"device", d.implementations[i].device}, {"meaning", said(d.implementations[i].doc)}});
  return {{"stage", d.id},
          {"kind", kind_name(d.kind)},
          {"summary", said(d.summary)},
          {"doc", said(d.doc)},
          {"plugin", said(stage.plugin->name)},
          {"plugin_version", said(stage.plugin->version)},
          {"work_unit", d.work_unit == nullptr ? "row" : d.work_unit},
          {"needs", port_json(d.input)},
          {"gives", port_json(d.output)},
          {"feedback", port_json(d.feedback)},
          {"parameters", parameters},
          {"resources", resources},
          {"reasons", reasons},
          {"implementations", implementations}};
}

Json plan_json(const Plan& plan, const PlanSituation& situation) {
  Json resources = Json::array(), stages = Json::array(), devices = Json::array();
  for (const ResolvedStage& resource : plan.pipeline.resources)
    resources.push_back({{"name", resource.name},
                         {"stage", resource.entry.descriptor->id},
                         {"row_type", said(resource.entry.descriptor->output.row_type)},
                         {"resources", used_resources(plan, resource)},
                         {"parameters", values_json(resource)}});
  for (const std::size_t i : plan.order) stages.push_back(planned_json(plan, i));
  for (const PlanDevice& device : situation.devices) devices.push_back({{"name", device.name}, {"kind", device.kind}, {"model", device.model}});
  const int threads = host_limits().usable_cpus();
  return {{"pipeline", plan.pipeline.name},
          {"file", plan.pipeline.file},
          {"parameters", plan.pipeline.parameters},
          {"threads", threads},
          {"memory_budget", default_memory_budget(threads)},
          {"bytes_per_work", plan.bytes_per_work},
          {"devices", devices},
          {"resources", resources},
          {"stages", stages}};
}

void print(const Json& json) { std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str()); }

}  // namespace sluice::cli
