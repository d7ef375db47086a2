// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/pipeline_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "config/expansion.hpp"
#include "config/output_endings.hpp"
#include "config/parameter_ties.hpp"
#include "config/parameter_value.hpp"

namespace sluice {
namespace {

const Location command_line{"command line", 0, 0};

// Stands for a value that nobody gave: the pipeline is only looked at.
std::string assumed_value(const PipelineParameter& parameter) {
  switch (parameter.type) {
    case SLUICE_BOOL:
      return "false";
    case SLUICE_INT:
    case SLUICE_FLOAT:
    case SLUICE_SIZE:
      return std::to_string(static_cast<std::int64_t>(std::ceil(std::clamp(parameter.minimum.value_or(0.0), -1e15, 1e15))));
    case SLUICE_CHOICE:
      return parameter.choices.empty() ? "" : parameter.choices.front();
    default:
      return parameter.name;
  }
}

// Every preset's values are checked, the chosen one's or not: a mistake in the file is found whatever the command line says.
void check_presets(const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values, Diagnostics& diagnostics) {
  sluice_value unused;
  for (const WrittenPreset& preset : pipeline.presets)
    for (const PipelineParameter& parameter : pipeline.parameters) {
      const auto value = preset.defaults.find(parameter.name);
      if (value == preset.defaults.end()) continue;
      const Expansion expanded = expand(value->second.text, values);
      ValueProblem problem{expanded.message, expanded.remedy};
      if (problem.message.empty() && !expanded.text.empty()) problem = convert_value(expanded.text, rule_of(parameter), unused);
      if (!problem.message.empty())
        diagnostics.error(value->second.where, "", "preset '" + preset.name + "': parameter '" + parameter.name + "': " + problem.message,
                          problem.remedy);
    }
}

// An empty text on the command line is a variable of the shell that is not set, or a list of Python without items. In a file it is meant. Of several
// values, one a line, none may be empty.
bool is_given_empty(const PipelineParameter& parameter, const std::string& text, const Overrides& overrides) {
  if (overrides.places.contains(parameter.name)) return false;
  return text.empty() || (parameter.several && (text.front() == '\n' || text.back() == '\n' || text.find("\n\n") != std::string::npos));
}

std::string final_value(const PipelineParameter& parameter, const WrittenPreset* preset, const Overrides& overrides,
                        const std::map<std::string, std::string>& values, Diagnostics& diagnostics) {
  const ValueRule rule = rule_of(parameter);
  sluice_value unused;
  std::error_code ignored;
  if (const auto given = overrides.parameters.find(parameter.name); given != overrides.parameters.end()) {
    if (is_given_empty(parameter, given->second, overrides)) {
      const std::string option = overrides.name_at_place(parameter.name);
      const bool may_be_empty = parameter.type == SLUICE_STRING && !parameter.required;
      if (!may_be_empty)
        diagnostics.error(command_line, "", option + " is empty", "give a value, or leave it out: is a variable not set, or a list without items?");
      else if (!parameter.default_text)  // an empty text takes a default back
        diagnostics.warning(command_line, "", option + " is empty, and does nothing", "leave it out: is a variable not set?");
      return "";
    }
    if (given->second.empty() && !parameter.required) return "";
    if (!given->second.empty()) {
      std::string text = given->second;
      if (parameter.name == "preset") std::replace(text.begin(), text.end(), ':', '-');  // no name has a ':', but those of other programs' presets
      text = canonical_text(text, rule);
      ValueProblem problem = convert_value(text, rule, unused);
      // A stage that reads several files would search the folder, and take for a reference what is none.
      if (parameter.type == SLUICE_PATH && parameter.group == "input" && !parameter.several && std::filesystem::is_directory(text, ignored))
        problem = {"'" + text + "' is a folder, and one file is wanted", "name the file in it"};
      if (parameter.type == SLUICE_PATH && parameter.group == "input" && !parameter.several && problem.message.empty())
        problem = problem_of_input_name(text);
      if (parameter.type == SLUICE_PATH && parameter.name.ends_with("prefix") && text.ends_with('/'))
        problem = {"'" + text + "' is a folder, in which all files would be hidden: their names would begin with a dot",
                   "say how their names are to begin: " + text + "NAME"};
      if (problem.message.empty()) return check_ending(parameter, overrides, diagnostics), text;
      diagnostics.error(overrides.place_of(parameter.name), "", overrides.name_at_place(parameter.name) + ": " + problem.message, problem.remedy);
      return "";  // left out, so that the stages do not complain about it again
    }
  } else if (const auto asked_for = value_by_ending(parameter, overrides.parameters)) {
    return *asked_for;
  } else if (preset != nullptr && preset->defaults.contains(parameter.name)) {
    const Expansion expanded = expand(preset->defaults.at(parameter.name).text, values);
    return expanded.text.empty() ? "" : canonical_text(expanded.text, rule);  // check_presets reports what is wrong with it
  } else if (parameter.default_text) {
    const Expansion expanded = expand(*parameter.default_text, values);
    const std::string subject = "parameter '" + parameter.name + "': default: ";
    if (!expanded.message.empty()) {
      diagnostics.error(parameter.where, "", subject + expanded.message, expanded.remedy);
    } else if (!expanded.text.empty()) {
      const ValueProblem problem = convert_value(expanded.text, rule, unused);
      if (problem.message.empty()) return canonical_text(expanded.text, rule);
      diagnostics.error(parameter.where, "", subject + problem.message, problem.remedy);
    }
    return "";
  }
  if (!parameter.required) return "";
  if (overrides.missing == Missing::error) {
    ask_for(parameter, diagnostics);
    return "";
  }
  return assumed_value(parameter);
}

}  // namespace

void ask_for(const PipelineParameter& parameter, Diagnostics& diagnostics) {
  const std::string option = "--" + kebab_case(parameter.name);
  diagnostics.error(command_line, "", option + " is required" + (parameter.help.empty() ? "" : ": " + parameter.help),
                    "add " + option + " " + (parameter.type == SLUICE_PATH ? "FILE" : "VALUE"));
}

Location Overrides::place_of(const std::string& parameter) const {
  const auto place = places.find(parameter);
  return place == places.end() ? command_line : place->second;
}

const std::string& WrittenPipeline::present_name(const std::string& parameter) const {
  for (const PipelineParameter& known : parameters)
    if (!parameter.empty() && known.formerly == parameter) return known.name;
  return parameter;
}

Overrides Overrides::in_present_names(const WrittenPipeline& pipeline) const {
  Overrides present = *this;
  present.parameters.clear();
  present.places.clear();
  for (const auto& [name, value] : parameters) present.parameters[pipeline.present_name(name)] = value;
  for (const auto& [name, place] : places) present.places[pipeline.present_name(name)] = place;
  return present;
}

std::string Overrides::name_at_place(const std::string& parameter) const {
  return places.contains(parameter) ? "parameter '" + parameter + "'" : "--" + kebab_case(parameter);
}

std::map<std::string, std::string> final_parameters(const WrittenPipeline& pipeline, const Overrides& overrides, Diagnostics& diagnostics) {
  std::map<std::string, std::string> values;
  std::vector<std::string> names;
  const WrittenPreset* preset = nullptr;  // known once the first parameter, `preset`, is
  for (const PipelineParameter& parameter : pipeline.parameters) {
    names.push_back(parameter.name);
    const std::string value = final_value(parameter, preset, overrides, values, diagnostics);
    values[parameter.name] = value;
    if (names.size() == 1)
      for (const WrittenPreset& known : pipeline.presets)
        if (known.name == value) preset = &known;
  }
  for (const PipelineParameter& parameter : pipeline.parameters) check_output_ending(pipeline, parameter, overrides, diagnostics);
  check_presets(pipeline, values, diagnostics);
  warn_of_idle_options(pipeline, overrides, values, diagnostics);
  for (const auto& [name, value] : overrides.parameters) {
    if (values.contains(name)) continue;
    const std::string near = nearest_name(name, names);
    diagnostics.error(overrides.place_of(name), "", "the pipeline has no parameter --" + kebab_case(name),
                      near.empty() ? "'sluice run " + pipeline.name + " --help-all' lists them" : "did you mean --" + kebab_case(near) + "?");
  }
  return values;
}

}  // namespace sluice
