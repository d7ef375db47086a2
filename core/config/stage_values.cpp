// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/stage_values.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "config/command_line.hpp"
#include "config/expansion.hpp"
#include "config/parameter_value.hpp"

namespace sluice {
namespace {

// What the stage says of its values together.
void check_rules(const ResolvingScope& scope, const Draft& from, const ResolvedStage& stage) {
  const sluice_stage_descriptor& descriptor = *from.entry.descriptor;
  if (descriptor.check == nullptr) return;
  const auto given = [&](const WrittenValue& value) { return scope.overrides.parameters.contains(sole_reference(value.text)); };
  // Nothing more is said of options that are wrong already.
  for (const auto& [name, value] : from.written->params)
    for (const Diagnostic& said : scope.diagnostics.list())
      if (given(value) && said.severity == Severity::error && said.message.starts_with(scope.overrides.name_at_place(sole_reference(value.text))))
        return;
  sluice_error problem{};
  if (descriptor.check(stage.values.data(), sizeof(sluice_value), &problem) == SLUICE_OK) return;
  // What the command line says is wrong there, and not in the file.
  for (const auto& [name, value] : from.written->params)
    if (given(value))
      return scope.diagnostics.error(scope.overrides.place_of(sole_reference(value.text)), "", in_given_names(stage, problem.message),
                                     in_given_names(stage, problem.remedy));
  scope.error(from, from.written->where, problem.message, problem.remedy);
}

// "${reads}" where the required --reads is missing: said already.
bool reported_as_missing(const ResolvingScope& scope, const WrittenValue* value) {
  const std::string name = value == nullptr ? "" : sole_reference(value->text);
  return std::any_of(scope.pipeline.parameters.begin(), scope.pipeline.parameters.end(),
                     [&](const PipelineParameter& p) { return p.name == name && p.required; });
}

// A value that is nothing but ${x}, with x given on the command line, is wrong there and not in the file.
void report_value(const ResolvingScope& scope, const Draft& from, const std::string& subject, const WrittenValue& value,
                  const ValueProblem& problem) {
  const std::string name = sole_reference(value.text);
  if (!name.empty() && scope.overrides.parameters.contains(name))
    scope.error(from, scope.overrides.place_of(name), scope.overrides.name_at_place(name) + ": " + problem.message, problem.remedy);
  else
    scope.error(from, value.where, subject + problem.message, problem.remedy);
}

// "output_prefix" of "${output_prefix}.bam"; "" where there is no reference or several.
std::string parameter_in(const std::string& text) {
  const std::size_t begin = text.find("${"), end = text.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos || text.find("${", end) != std::string::npos) return "";
  const std::string name = text.substr(begin + 2, end - begin - 2);
  return name == command_line_name ? "" : name;
}

}  // namespace

void fill_values(const ResolvingScope& scope, const Draft& from, ResolvedStage& stage) {
  const sluice_stage_descriptor& descriptor = *from.entry.descriptor;
  check_parameter_names(scope, from);
  bool complete = true;
  for (std::size_t i = 0; i < descriptor.parameter_count; ++i) {
    const sluice_parameter& parameter = descriptor.parameters[i];
    sluice_value value = parameter.default_value;
    value.type = parameter.type;
    if (value.text == nullptr) value.text = "";
    const auto written = from.written->params.find(parameter.name);
    const std::string subject = "parameter '" + std::string(parameter.name) + "': ";
    const bool given = written != from.written->params.end();
    bool problem_reported = false;
    std::string text;
    if (given) {
      Expansion expansion = expand(written->second.text, scope.parameters);
      text = std::move(expansion.text);
      problem_reported = !expansion.message.empty();
      if (problem_reported) scope.error(from, written->second.where, subject + expansion.message, expansion.remedy);
    }
    if (!text.empty()) {
      const ValueProblem problem = convert_value(text, rule_of(parameter), value);
      if (!problem.message.empty()) report_value(scope, from, subject, written->second, problem), complete = false;
      value.text = stage.texts.emplace_back(std::move(text)).c_str();
    } else if (parameter.required != 0 && !problem_reported && value.is_set == 0 && !reported_as_missing(scope, given ? &written->second : nullptr)) {
      if (!given || !scope.ask_for(written->second.text))
        scope.error(from, given ? written->second.where : from.written->where, subject + (given ? "it is required, but empty" : "it is required"),
                    "add " + std::string(parameter.name) + " = ... to its params");
    }
    complete = complete && !problem_reported && (parameter.required == 0 || value.is_set != 0);
    const std::string name = given ? parameter_in(written->second.text) : "";
    stage.given_by.push_back(name.empty() ? "" : scope.overrides.name_at_place(name));
    stage.given_at.push_back(scope.overrides.place_of(name));
    stage.values.push_back(value);
  }
  if (complete) check_rules(scope, from, stage);
}

std::string in_given_names(const ResolvedStage& stage, std::string text) {
  const auto is_of_name = [&](std::size_t at) {  // or of what is quoted, as a file's
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || std::string_view("_-/.'\"").find(text[at]) != std::string_view::npos);
  };
  for (std::size_t i = 0; i < stage.given_by.size(); ++i) {
    const std::string_view name = stage.entry.descriptor->parameters[i].name;
    const std::string& given = stage.given_by[i];
    if (given.empty() || name.find('_') == std::string_view::npos) continue;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      const bool is_whole = !(at > 0 && is_of_name(at - 1)) && !is_of_name(at + name.size());
      if (is_whole) text.replace(at, name.size(), given);
      at += is_whole ? given.size() : name.size();
    }
  }
  return text;
}

void check_parameter_names(const ResolvingScope& scope, const Draft& from) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < from.entry.descriptor->parameter_count; ++i) names.emplace_back(from.entry.descriptor->parameters[i].name);
  for (const auto& [name, value] : from.written->params) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest_name(name, names);
    scope.error(from, value.key_where, "unknown parameter '" + name + "'",
                near.empty() ? "'sluice inspect " + from.written->use + "' lists them" : "did you mean '" + near + "'?");
  }
}

}  // namespace sluice
