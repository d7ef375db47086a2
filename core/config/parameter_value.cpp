// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/parameter_value.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

struct TypeName {
  sluice_value_type type;
  const char* name;
};
constexpr std::array<TypeName, 7> type_table = {{{SLUICE_BOOL, "bool"},
                                                 {SLUICE_INT, "int"},
                                                 {SLUICE_FLOAT, "float"},
                                                 {SLUICE_STRING, "string"},
                                                 {SLUICE_PATH, "path"},
                                                 {SLUICE_SIZE, "size"},
                                                 {SLUICE_CHOICE, "choice"}}};

std::optional<bool> parse_boolean(std::string_view text) {
  for (const char* yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "no", "off", "0"})
    if (text == no) return false;
  return std::nullopt;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string number_text(double value) {
  // Whole numbers without exponent or fraction: bounds are mostly small integers.
  if (std::abs(value) < 1e15 && value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

ValueProblem out_of_range(const std::string& text, double value, const ValueRule& rule) {
  if ((!rule.minimum || value >= *rule.minimum) && (!rule.maximum || value <= *rule.maximum)) return {};
  return {text + " is out of range", "give a value " + range_text(rule)};
}

std::string joined(const std::vector<std::string>& list) {
  std::string result;
  for (const std::string& item : list) result += (result.empty() ? "" : ", ") + item;
  return result;
}

}  // namespace

ValueRule rule_of(const PipelineParameter& parameter) {
  return {parameter.type, parameter.minimum, parameter.maximum, parameter.choices, parameter.unit};
}

ValueRule rule_of(const sluice_parameter& parameter) {
  ValueRule rule;
  rule.type = parameter.type;
  if (parameter.minimum != 0 || parameter.maximum != 0) {
    if (std::isfinite(parameter.minimum)) rule.minimum = parameter.minimum;
    if (std::isfinite(parameter.maximum)) rule.maximum = parameter.maximum;
  }
  if (parameter.type == SLUICE_CHOICE && parameter.choices != nullptr)
    for (const char* const* choice = parameter.choices; *choice != nullptr; ++choice) rule.choices.emplace_back(*choice);
  if (parameter.unit != nullptr) rule.unit = parameter.unit;
  return rule;
}

ValueProblem convert_value(const std::string& text, const ValueRule& rule, sluice_value& value) {
  value = sluice_value{};
  value.type = rule.type;
  value.text = "";
  const std::string quoted = "'" + text + "'";
  switch (rule.type) {
    case SLUICE_BOOL: {
      const auto parsed = parse_boolean(text);
      if (!parsed) return {quoted + " is neither true nor false", "write true or false"};
      value.integer = *parsed ? 1 : 0;
      break;
    }
    case SLUICE_INT: {
      const auto parsed = parse_number<std::int64_t>(text);
      if (!parsed) return {quoted + " is not an integer", "write a whole number" + (range_text(rule).empty() ? "" : " " + range_text(rule))};
      value.integer = *parsed;
      if (auto problem = out_of_range(text, static_cast<double>(*parsed), rule); !problem.message.empty()) return problem;
      break;
    }
    case SLUICE_FLOAT: {
      const auto parsed = parse_number<double>(text);
      if (!parsed || !std::isfinite(*parsed))
        return {quoted + " is not a number", "write a number" + (range_text(rule).empty() ? "" : " " + range_text(rule))};
      value.real = *parsed;
      if (auto problem = out_of_range(text, *parsed, rule); !problem.message.empty()) return problem;
      break;
    }
    case SLUICE_SIZE: {
      const auto parsed = parse_size(text);
      if (!parsed) return {quoted + " is not a size", "write bytes as 512, 64KiB or 2GB"};
      value.integer = *parsed;
      if (auto problem = out_of_range(text, static_cast<double>(*parsed), rule); !problem.message.empty()) return problem;
      break;
    }
    case SLUICE_CHOICE: {
      if (std::find(rule.choices.begin(), rule.choices.end(), text) == rule.choices.end()) {
        std::string lower(text);
        for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        const std::string near = nearest_name(lower, rule.choices);
        return {quoted + " is not one of " + joined(rule.choices), near.empty() ? "choose one of them" : "did you mean '" + near + "'?"};
      }
      break;
    }
    case SLUICE_STRING:
    case SLUICE_PATH:
      if (text.find('\0') != std::string::npos) return {"the text contains a zero byte", "remove it"};
      break;
    default:
      return {"the descriptor declares an unknown type " + std::to_string(rule.type), "this is a bug in the plugin: please report it"};
  }
  value.is_set = 1;
  return {};
}

ValueProblem problem_of_input_name(const std::string& name) {
  if (name.find('\n') == std::string::npos) return {};
  return {"'" + name + "' has an end of a line, which no name of an input may have", "rename the file, or give several names one by one"};
}

std::string canonical_text(const std::string& text, const ValueRule& rule) {
  if (rule.type == SLUICE_BOOL)
    if (const auto parsed = parse_boolean(text)) return *parsed ? "true" : "false";
  const auto in_any_case = [&](const std::string& choice) {
    return std::equal(choice.begin(), choice.end(), text.begin(), text.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  };
  if (rule.type == SLUICE_CHOICE && std::find(rule.choices.begin(), rule.choices.end(), text) == rule.choices.end())
    if (const auto meant = std::find_if(rule.choices.begin(), rule.choices.end(), in_any_case); meant != rule.choices.end()) return *meant;
  return text;
}

std::optional<sluice_value_type> type_named(std::string_view name) {
  for (const TypeName& entry : type_table)
    if (name == entry.name) return entry.type;
  return std::nullopt;
}

const char* type_name(sluice_value_type type) {
  for (const TypeName& entry : type_table)
    if (type == entry.type) return entry.name;
  return "unknown";
}

std::string type_names() {
  std::string result;
  for (const TypeName& entry : type_table) result += (result.empty() ? "" : ", ") + std::string(entry.name);
  return result;
}

std::string range_text(const ValueRule& rule) {
  const std::string unit = rule.unit.empty() ? "" : " " + rule.unit;
  if (rule.minimum && rule.maximum) return "from " + number_text(*rule.minimum) + " to " + number_text(*rule.maximum) + unit;
  if (rule.minimum) return "of at least " + number_text(*rule.minimum) + unit;
  if (rule.maximum) return "of at most " + number_text(*rule.maximum) + unit;
  return "";
}

std::string value_text(const sluice_parameter& parameter, const sluice_value& value) {
  if (value.is_set == 0) return "";
  switch (parameter.type) {
    case SLUICE_BOOL:
      return value.integer != 0 ? "true" : "false";
    case SLUICE_INT:
    case SLUICE_SIZE:
      return std::to_string(value.integer);
    case SLUICE_FLOAT: {
      // Values of float members arrive widened (0.1f = 0.10000000149...): show the shortest text that is the same float.
      const auto narrow = static_cast<float>(value.real);
      char text[64];
      const auto end = static_cast<double>(narrow) == value.real ? std::to_chars(text, text + sizeof text, narrow)
                                                                 : std::to_chars(text, text + sizeof text, value.real);
      return {text, end.ptr};
    }
    default:
      return value.text == nullptr ? "" : value.text;
  }
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.')) ++digits;
  std::string_view number = text.substr(0, digits), unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const auto value = parse_number<double>(number);
  if (!value || number.front() == '.' || number.back() == '.') return std::nullopt;

  struct Unit {
    const char* name;
    double bytes;
  };
  static constexpr Unit units[] = {{"", 1},       {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},   {"kB", 1e3},
                                   {"k", 0x1p10}, {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30}, {"GiB", 0x1p30},
                                   {"GB", 1e9},   {"T", 0x1p40}, {"TiB", 0x1p40}, {"TB", 1e12}};
  for (const Unit& candidate : units) {
    if (unit != candidate.name) continue;
    if (candidate.bytes == 1) return parse_number<std::int64_t>(number);  // exact for any number of bytes; half a byte is malformed
    const double bytes = std::floor(*value * candidate.bytes);
    if (!(bytes < 0x1p63)) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace sluice
