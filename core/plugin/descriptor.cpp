// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/descriptor.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <sluice/column_check.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {
namespace {

bool is_empty(const char* text) { return text == nullptr || *text == '\0'; }

// A copy lives as long as the plugin, which is never unloaded.
sluice_stage_descriptor* keep_for_ever(std::unique_ptr<sluice_stage_descriptor> descriptor) {
  static std::mutex guards_descriptors;
  static auto& descriptors = *new std::vector<std::unique_ptr<sluice_stage_descriptor>>;  // never destroyed
  const std::lock_guard lock(guards_descriptors);
  return descriptors.emplace_back(std::move(descriptor)).get();
}

// Elements of `stride` bytes become elements of the host's size.
template <class T>
const T* take_array(const T* items, std::size_t& count, std::size_t& stride) {
  if (items == nullptr) count = 0;
  auto* copy = new T[count]{};  // see keep_for_ever
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&copy[i], SLUICE_AT(T, items, stride, i), std::min(stride, sizeof(T)));
  stride = sizeof(T);
  return copy;
}

void take_port(sluice_port& port) { port.columns = take_array(port.columns, port.column_count, port.column_stride); }

std::string port_problem(const char* what, const sluice_port& port) {
  for (std::size_t i = 0; i < port.column_count; ++i) {
    const sluice_column_spec& column = port.columns[i];
    if (is_empty(column.name) || is_empty(column.type)) return std::string(what) + " " + std::to_string(i) + " has no name or no type";
    if (!is_column_type(column.type) && std::string_view(column.name) != "*")
      return std::string(what) + " '" + column.name + "' is of the unknown type '" + column.type + "'";
  }
  return {};
}

// Only a map's calls may go to another device than the CPU: what the other kinds do is tied to files, to order or to the whole run.
std::string implementations_problem(const sluice_stage_descriptor& d) {
  if (d.implementation_count == 0 && d.kind != SLUICE_SINK) return "offers no implementation";
  if (d.implementation_count > 64) return "offers more than 64 implementations";
  for (std::size_t i = 0; i < d.implementation_count; ++i) {
    if (is_empty(d.implementations[i].device)) return "has an implementation for no device";
    if (d.kind != SLUICE_MAP && std::string_view(d.implementations[i].device) != "cpu")
      return std::string("is a ") + kind_name(d.kind) + " with an implementation for '" + d.implementations[i].device +
             "': only maps run on other devices than the CPU";
  }
  return {};
}

std::string row_name_problem(const sluice_stage_descriptor& d) {
  if (d.row_name == nullptr) return {};
  if (d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP) return "only sources and regroups name rows";
  for (std::size_t i = 0; i < d.output.column_count; ++i)
    if (std::string_view(d.output.columns[i].name) == d.row_name)
      return std::string_view(d.output.columns[i].type) == "utf8" ? "" : std::string("names rows by column '") + d.row_name + "', which is no text";
  return std::string("names rows by column '") + d.row_name + "', which it does not give";
}

std::string row_length_problem(const sluice_stage_descriptor& d) {
  if (d.row_length == nullptr) return {};
  const std::string says = std::string("says that column '") + d.row_length + "' is the length of a row, ";
  if (d.kind == SLUICE_SINK || d.kind == SLUICE_RESOURCE) return says + "but makes no rows that pass";
  if (is_empty(d.row_length_unit)) return says + "but not what is counted";
  for (std::size_t i = 0; i < d.output.column_count; ++i)
    if (std::string_view(d.output.columns[i].name) == d.row_length)
      return is_list(d.output.columns[i].type) || is_text(d.output.columns[i].type) ? "" : says + "which is no list and no text";
  return says + "which it does not give";
}

std::string parameters_problem(const sluice_stage_descriptor& d) {
  for (std::size_t i = 0; i < d.parameter_count; ++i) {
    const sluice_parameter& p = d.parameters[i];
    if (is_empty(p.name) || p.help == nullptr) return "a parameter without name or help";
    if (p.type < SLUICE_BOOL || p.type > SLUICE_CHOICE) return std::string("parameter '") + p.name + "' is of no known type";
    if (p.type == SLUICE_CHOICE && p.choices == nullptr) return std::string("parameter '") + p.name + "' is a choice of nothing";
  }
  for (std::size_t i = 0; i < d.role_count; ++i)
    if (d.roles[i].parameter >= d.parameter_count) return "a role of a parameter that it does not have";
  return {};
}

std::string descriptor_problem(const sluice_stage_descriptor& d) {
  if (d.kind < SLUICE_SOURCE || d.kind > SLUICE_RESOURCE) return "unknown kind " + std::to_string(d.kind);
  const bool reads = d.kind == SLUICE_MAP || d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK;
  if (reads && is_empty(d.input.row_type)) return "no input row type";
  if (d.kind != SLUICE_SINK && is_empty(d.output.row_type)) return "no output row type";
  if ((d.traits & SLUICE_TRAIT_ORDERED) != 0 && (d.kind != SLUICE_MAP || (d.traits & SLUICE_TRAIT_BLOCKING) != 0))
    return "only a map that does not block can be ordered";
  if (d.feedback.row_type != nullptr && d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP) return "only sources and regroups take feedback";
  if (d.kind != SLUICE_SOURCE && (d.traits & SLUICE_TRAIT_POSITIONS) != 0) return "only sources have positions";
  if (d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP && (d.traits & SLUICE_TRAIT_PARTS) != 0) return "only sources and regroups have parts";
  if ((d.traits & SLUICE_TRAIT_SUMS) != 0 && (d.kind != SLUICE_REGROUP || (d.traits & SLUICE_TRAIT_SAVES) == 0))
    return "only a regroup that saves can sum";
  for (std::size_t i = 0; i < d.resource_count; ++i)
    if (is_empty(d.resources[i].name) || is_empty(d.resources[i].row_type)) return "a resource slot without name or row type";
  for (std::size_t i = 0; i < d.reason_count; ++i)
    if (is_empty(d.reasons[i].code)) return "a reason without a code";
  for (const std::string& problem : {port_problem("input column", d.input), port_problem("output column", d.output),
                                     port_problem("feedback column", d.feedback), parameters_problem(d)})
    if (!problem.empty()) return problem;
  if (std::string problem = implementations_problem(d); !problem.empty()) return problem;
  if (std::string problem = row_name_problem(d); !problem.empty()) return problem;
  return row_length_problem(d);
}

}  // namespace

const char* kind_name(sluice_stage_kind kind) {
  switch (kind) {
    case SLUICE_SOURCE:
      return "source";
    case SLUICE_MAP:
      return "map";
    case SLUICE_REGROUP:
      return "regroup";
    case SLUICE_SINK:
      return "sink";
    case SLUICE_RESOURCE:
      return "resource";
    default:
      return "unknown";
  }
}

const sluice_stage_descriptor* take_descriptor(const sluice_stage_descriptor* foreign, std::string& problem) {
  // Everything up to here is as old as the major version.
  constexpr std::size_t least = offsetof(sluice_stage_descriptor, check) + sizeof(sluice_stage_descriptor::check);
  if (foreign == nullptr || foreign->struct_size < least || is_empty(foreign->id) || foreign->summary == nullptr) {
    problem = "has an incomplete descriptor";
    return nullptr;
  }
  sluice_stage_descriptor* const taken = keep_for_ever(std::make_unique<sluice_stage_descriptor>());
  std::memcpy(taken, foreign, std::min<std::size_t>(foreign->struct_size, sizeof *taken));
  taken->struct_size = sizeof *taken;
  for (sluice_port* port : {&taken->input, &taken->output, &taken->feedback}) take_port(*port);
  taken->parameters = take_array(taken->parameters, taken->parameter_count, taken->parameter_stride);
  taken->roles = take_array(taken->roles, taken->role_count, taken->role_stride);
  taken->resources = take_array(taken->resources, taken->resource_count, taken->resource_stride);
  taken->reasons = take_array(taken->reasons, taken->reason_count, taken->reason_stride);
  taken->implementations = take_array(taken->implementations, taken->implementation_count, taken->implementation_stride);
  if (taken->doc == nullptr) taken->doc = "";
  if (taken->work_unit == nullptr) taken->work_unit = "row";
  problem = descriptor_problem(*taken);
  if (problem.empty()) return taken;
  problem = std::string("stage '") + taken->id + "': " + problem;
  return nullptr;
}

}  // namespace sluice
