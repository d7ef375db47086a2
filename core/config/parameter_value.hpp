// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text to typed value, with range and choices: the same rules for a pipeline's parameters and for a stage's.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/pipeline.hpp"

namespace sluice {

struct ValueRule {
  sluice_value_type type = SLUICE_STRING;
  std::optional<double> minimum, maximum;
  std::vector<std::string> choices;
  std::string unit;
};

ValueRule rule_of(const PipelineParameter& parameter);
ValueRule rule_of(const sluice_parameter& parameter);

struct ValueProblem {
  std::string message;  // "'abc' is not an integer"; "" if the value is fine
  std::string remedy;
};

// Converts `text` (not empty) and sets type, is_set and integer or real of `value`; for texts `value.text` is left to the caller, who owns
// the memory. Numbers must be finite and be written out in full.
ValueProblem convert_value(const std::string& text, const ValueRule& rule, sluice_value& value);

// An end of a line in it: names of inputs are handed on a line each.
ValueProblem problem_of_input_name(const std::string& name);

// The canonical form of a valid text: "true" for "yes".
std::string canonical_text(const std::string& text, const ValueRule& rule);

std::optional<sluice_value_type> type_named(std::string_view name);  // "bool", "int", ...
const char* type_name(sluice_value_type type);
std::string type_names();  // "bool, int, float, string, path, size, choice"

// "from 1 to 10 bases", "at least 0", "" if anything goes.
std::string range_text(const ValueRule& rule);
// A value as a user would write it; "" if it is not set.
std::string value_text(const sluice_parameter& parameter, const sluice_value& value);
inline std::string default_text(const sluice_parameter& parameter) { return value_text(parameter, parameter.default_value); }

}  // namespace sluice
