// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/stage_json.hpp"

#include "config/parameter_value.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

nlohmann::ordered_json stage_json(const StageEntry& stage) {
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

}  // namespace sluice
