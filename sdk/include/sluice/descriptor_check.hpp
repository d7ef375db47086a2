// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether a stage's descriptor can be right: what a host looks at when it loads a plugin, and the contract suite before anything else.

#include <sluice/abi.h>

#include <initializer_list>
#include <sluice/column_check.hpp>
#include <string>
#include <string_view>

namespace sluice {

// Of a map or sink: no two calls of one instance's process() are at once.
constexpr bool is_one_call_at_a_time(std::uint32_t traits) {
  return (traits & (SLUICE_TRAIT_SERIAL | SLUICE_TRAIT_ORDERED)) != 0 ||
         (traits & (SLUICE_TRAIT_BLOCKING | SLUICE_TRAIT_SIDE_BY_SIDE)) == SLUICE_TRAIT_BLOCKING;
}

// Small letters, digits and '_', not beginning with a digit: what ids, names and codes are made of.
inline bool is_snake_case(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

namespace detail {

inline bool is_empty(const char* text) { return text == nullptr || *text == '\0'; }

// `what` with that name, as messages write it: "parameter 'window'".
inline std::string called(const char* what, const char* name) { return std::string(what) + " '" + (name == nullptr ? "" : name) + "'"; }

inline std::string name_problem(const char* what, const char* name) {
  if (is_empty(name)) return std::string("a ") + what + " without a name";
  if (is_snake_case(name)) return {};
  return called(what, name) + " is not snake_case: small letters, digits and '_', not beginning with a digit";
}
inline std::string row_type_problem(const char* name) {
  return is_empty(name) || std::string_view(name) == "*" ? std::string() : name_problem("row type", name);
}

// The first two of an array that have one name, or a name that is none.
template <class T>
std::string names_problem(const char* what, const T* items, std::size_t count, std::size_t stride, const char* T::*name) {
  for (std::size_t i = 0; i < count; ++i) {
    const char* const own = SLUICE_AT(T, items, stride, i)->*name;
    if (std::string problem = name_problem(what, own); !problem.empty()) return problem;
    for (std::size_t j = 0; j < i; ++j)
      if (std::string_view(SLUICE_AT(T, items, stride, j)->*name) == own) return called(what, own) + " is declared twice";
  }
  return {};
}

inline const char* noun_of(sluice_stage_kind kind) {
  constexpr const char* nouns[] = {"unknown", "source", "map", "regroup", "sink", "resource"};
  return nouns[kind < SLUICE_SOURCE || kind > SLUICE_RESOURCE ? 0 : kind];
}

inline const sluice_column_spec* find_column(const sluice_port& port, std::string_view name) {
  for (std::size_t i = 0; i < port.column_count; ++i)
    if (const auto* column = SLUICE_AT(sluice_column_spec, port.columns, port.column_stride, i); name == column->name) return column;
  return nullptr;
}

inline std::string port_problem(const char* what, const sluice_port& port) {
  if (std::string problem = row_type_problem(port.row_type); !problem.empty()) return problem;
  for (std::size_t i = 0; i < port.column_count; ++i) {
    const sluice_column_spec& column = *SLUICE_AT(sluice_column_spec, port.columns, port.column_stride, i);
    if (is_empty(column.name) || is_empty(column.type)) return std::string(what) + " " + std::to_string(i) + " has no name or no type";
    if (std::string_view(column.name) == "*") continue;
    if (std::string problem = name_problem(what, column.name); !problem.empty()) return problem;
    if (!is_column_type(column.type)) return called(what, column.name) + " is of the unknown type '" + column.type + "'";
    if (find_column(port, column.name) != &column) return called(what, column.name) + " is declared twice";
  }
  return {};
}

// Only a map's calls may go to another device than the CPU: what the other kinds do is tied to files, to order or to the whole run.
inline std::string implementations_problem(const sluice_stage_descriptor& d) {
  if (d.implementation_count == 0 && d.kind != SLUICE_SINK) return "offers no implementation";
  if (d.implementation_count > 64) return "offers more than 64 implementations";
  for (std::size_t i = 0; i < d.implementation_count; ++i) {
    const char* const device = SLUICE_AT(sluice_implementation, d.implementations, d.implementation_stride, i)->device;
    if (is_empty(device)) return "has an implementation for no device";
    if (d.kind != SLUICE_MAP && std::string_view(device) != "cpu")
      return std::string("is a ") + noun_of(d.kind) + " with an implementation for '" + device + "': only maps run on other devices than the CPU";
  }
  return names_problem("device", d.implementations, d.implementation_count, d.implementation_stride, &sluice_implementation::device);
}

inline std::string row_name_problem(const sluice_stage_descriptor& d) {
  if (d.row_name == nullptr) return {};
  if (d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP) return "only sources and regroups name rows";
  const sluice_column_spec* const column = find_column(d.output, d.row_name);
  if (column == nullptr) return std::string("names rows by column '") + d.row_name + "', which it does not give";
  return std::string_view(column->type) == "utf8" ? "" : std::string("names rows by column '") + d.row_name + "', which is no text";
}

inline std::string row_length_problem(const sluice_stage_descriptor& d) {
  if (d.row_length == nullptr) return {};
  const std::string says = std::string("says that column '") + d.row_length + "' is the length of a row, ";
  if (d.kind == SLUICE_SINK || d.kind == SLUICE_RESOURCE) return says + "but makes no rows that pass";
  if (is_empty(d.row_length_unit)) return says + "but not what is counted";
  const sluice_column_spec* const column = find_column(d.output, d.row_length);
  if (column == nullptr) return says + "which it does not give";
  return is_list(column->type) || is_text(column->type) ? "" : says + "which is no list and no text";
}

inline std::string parameters_problem(const sluice_stage_descriptor& d) {
  for (std::size_t i = 0; i < d.parameter_count; ++i) {
    const sluice_parameter& p = *SLUICE_AT(sluice_parameter, d.parameters, d.parameter_stride, i);
    if (is_empty(p.name) || p.help == nullptr) return "a parameter without name or help";
    if (p.type < SLUICE_BOOL || p.type > SLUICE_CHOICE) return called("parameter", p.name) + " is of no known type";
    if (p.type == SLUICE_CHOICE && p.choices == nullptr) return called("parameter", p.name) + " is a choice of nothing";
  }
  for (std::size_t i = 0; i < d.role_count; ++i)
    if (SLUICE_AT(sluice_parameter_role, d.roles, d.role_stride, i)->parameter >= d.parameter_count)
      return "a role of a parameter that it does not have";
  return names_problem("parameter", d.parameters, d.parameter_count, d.parameter_stride, &sluice_parameter::name);
}

inline std::string resources_problem(const sluice_stage_descriptor& d) {
  for (std::size_t i = 0; i < d.resource_count; ++i) {
    const sluice_resource_slot& slot = *SLUICE_AT(sluice_resource_slot, d.resources, d.resource_stride, i);
    if (is_empty(slot.name) || is_empty(slot.row_type)) return "a resource slot without name or row type";
    if (std::string problem = row_type_problem(slot.row_type); !problem.empty()) return problem;
  }
  return names_problem("resource slot", d.resources, d.resource_count, d.resource_stride, &sluice_resource_slot::name);
}

inline std::string traits_problem(const sluice_stage_descriptor& d) {
  const auto has = [&](std::uint32_t trait) { return (d.traits & trait) != 0; };
  if (has(SLUICE_TRAIT_ORDERED) && (d.kind != SLUICE_MAP || has(SLUICE_TRAIT_BLOCKING))) return "only a map that does not block can be ordered";
  if (has(SLUICE_TRAIT_SIDE_BY_SIDE) && (d.kind != SLUICE_MAP || !has(SLUICE_TRAIT_BLOCKING) || has(SLUICE_TRAIT_SERIAL)))
    return "only a map that blocks, and is not serial, runs side by side";
  if (d.kind != SLUICE_SOURCE && has(SLUICE_TRAIT_POSITIONS)) return "only sources have positions";
  if (d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP && has(SLUICE_TRAIT_PARTS)) return "only sources and regroups have parts";
  if (has(SLUICE_TRAIT_SUMS) && (d.kind != SLUICE_REGROUP || !has(SLUICE_TRAIT_SAVES))) return "only a regroup that saves can sum";
  if (has(SLUICE_TRAIT_ROWS_WITHOUT_INPUT) && d.kind != SLUICE_REGROUP) return "only a regroup gives rows where none came in";
  return {};
}
}  // namespace detail

// "" if a host can use the descriptor; else what is wrong. Its arrays hold every member of ABI 2.0.
inline std::string descriptor_problem(const sluice_stage_descriptor& d) {
  using namespace detail;
  if (std::string problem = name_problem("stage", d.id); !problem.empty()) return problem;
  if (d.kind < SLUICE_SOURCE || d.kind > SLUICE_RESOURCE) return "unknown kind " + std::to_string(d.kind);
  const bool reads = d.kind == SLUICE_MAP || d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK;
  if (reads && is_empty(d.input.row_type)) return "no input row type";
  if (d.kind != SLUICE_SINK && is_empty(d.output.row_type)) return "no output row type";
  if (d.feedback.row_type != nullptr && d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP) return "only sources and regroups take feedback";
  for (const std::string& problem :
       {traits_problem(d), resources_problem(d), names_problem("reason", d.reasons, d.reason_count, d.reason_stride, &sluice_reason::code),
        port_problem("input column", d.input), port_problem("output column", d.output), port_problem("feedback column", d.feedback),
        parameters_problem(d), implementations_problem(d), row_name_problem(d), row_length_problem(d)})
    if (!problem.empty()) return problem;
  return {};
}
}  // namespace sluice
