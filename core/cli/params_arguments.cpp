// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// --params FILE: what the file says, where the command line says nothing.
#include <algorithm>

#include "cli/pipeline_arguments.hpp"
#include "cli/run_options.hpp"
#include "config/params_file.hpp"

namespace sluice::cli {
namespace {

// Options that a file of parameters can't give: they say where the rest comes from.
bool is_for_command_line(const std::string& name) {
  return name == "help" || name == "help_all" || name == "params" || name == "samples" || name == "sample_table";
}

std::string snake_case(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// --no-x of a switch --x: the file says x = false.
bool is_opposite(const CLI::App& app, const std::string& name) {
  return name.starts_with("no-") && app.get_option_no_throw("--" + name.substr(3)) != nullptr;
}

std::vector<std::string> settable_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      if (!is_for_command_line(snake_case(name)) && !is_opposite(app, name)) names.push_back(snake_case(name));
  return names;
}

// The options of `sluice run`, for the commands that have only some of them.
std::vector<std::string> run_option_names() {
  CLI::App app;
  RunArguments options;
  options.add_to(app);
  return settable_options(app);
}

bool contains(const std::vector<std::string>& names, const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

void PipelineArguments::apply_params() {
  if (params_file_.empty()) return;
  const ParamsFile params = load_params_file(params_file_, diagnostics_);
  for (const auto& [name, given] : params.parameters) give_parameter(written_.present_name(name), given);
  for (const auto& [name, given] : params.run) give_run_option(name, given);
}

void PipelineArguments::give_parameter(const std::string& name, const GivenValue& given) {
  const auto known = std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.first == name; });
  if (known == parameters_.end()) {
    std::vector<std::string> names, run = settable_options(app_);
    for (const auto& [parameter, option] : parameters_) names.push_back(parameter), std::erase(run, parameter);
    const std::string near = nearest_name(name, names);
    diagnostics_.error(given.where, "", "the pipeline '" + written_.name + "' has no parameter '" + name + "'",
                       contains(run, name) ? "it is an option of the run: put it under [run]"
                       : !near.empty()     ? "did you mean '" + near + "'?"
                                           : "'sluice run " + written_.name + " --help-all' lists them, with '_' for '-'");
    return;
  }
  const auto declared =
      std::find_if(written_.parameters.begin(), written_.parameters.end(), [&](const PipelineParameter& p) { return p.name == name; });
  if (given.is_list && !declared->several)
    return diagnostics_.error(given.where, "", "parameter '" + name + "' takes one value, not a list", "write it without [ ]");
  std::string& value = values_[static_cast<std::size_t>(known - parameters_.begin())];
  if (known->second->count() > 0 || !value.empty()) return;  // the command line has said it
  for (const std::string& text : given.texts) value += (value.empty() ? "" : "\n") + text;
  places_[name] = given.where;
}

void PipelineArguments::give_run_option(const std::string& name, const GivenValue& given) {
  const bool is_parameter = std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.first == name; });
  const std::vector<std::string> here = settable_options(app_), known = run_option_names();
  const auto wrong = [&](const std::string& message, const std::string& remedy) { diagnostics_.error(given.where, "", message, remedy); };
  if (is_parameter || !contains(here, name)) {
    if (!is_parameter && contains(known, name)) return;  // of `sluice run`, and this is another command
    const std::string near = nearest_name(name, known);
    return wrong("'" + name + "' is no option of a run", is_parameter    ? "it is a parameter of the pipeline: put it above [run]"
                                                         : !near.empty() ? "did you mean '" + near + "'?"
                                                                         : "'sluice run --help-all' lists them, with '_' for '-'");
  }
  CLI::Option& option = *app_.get_option("--" + kebab_case(name));
  const bool is_flag = option.get_items_expected_max() == 0, takes_several = option.get_expected_max() > 1;
  if (given.is_list && !takes_several) return wrong("option '" + name + "' takes one value, not a list", "write it without [ ]");
  if (is_flag && given.texts.front() != "true" && given.texts.front() != "false")
    return wrong("option '" + name + "' is true or false", "write true or false");
  std::vector<std::string> texts = given.texts;
  if (option.count() > 0) {
    if (name != "set") return;  // the command line has said it
    for (const std::string& later : option.results()) texts.push_back(later);
    option.clear();
  }
  if (is_flag && texts.front() == "false") return;
  try {
    for (const std::string& text : texts) option.add_result(text);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    wrong("option '" + name + "': " + error.what(), "'sluice run --help' describes it");
  }
}

}  // namespace sluice::cli
