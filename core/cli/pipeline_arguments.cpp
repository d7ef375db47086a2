// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/pipeline_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sluice/input_files.hpp>
#include <sluice/staged_file.hpp>
#include <utility>

#include "cli/help_text.hpp"
#include "config/own_words.hpp"
#include "config/parameter_ties.hpp"
#include "config/parameter_value.hpp"
#include "config/stage_draft.hpp"
#include "run/run.hpp"
#include "session/exit_code.hpp"
#include "session/run_settings.hpp"

namespace sluice::cli {
namespace {

// The place of the first argument that is neither an option nor an option's value. `known`: which of the command's own options have values.
std::optional<std::size_t> place_of_name(const Arguments& arguments, const CLI::App& known) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-" || !argument.starts_with("-")) return i;
    if (argument.find('=') != std::string::npos) continue;
    const CLI::Option* option = known.get_option_no_throw(argument);
    const bool has_value = option == nullptr || option->get_items_expected_min() > 0;  // unknown: most pipeline parameters have one
    if (has_value) ++i;
  }
  return std::nullopt;
}

// "@LIST" of a pipe is read here, once for all who ask for the inputs' names; anything else is given back as it is.
std::string names_in_passing_list(const std::string& input) {
  if (!input.starts_with('@') || !is_special_file(input.substr(1))) return input;
  std::string names;
  for (const std::string& name : input_files_detail::in_list(input.substr(1))) names += (names.empty() ? "" : "\n") + name;
  return names.empty() ? input : names;
}

// "[FILE, required]" and the like: what --help says of a pipeline parameter besides its help text.
std::string option_help(const PipelineParameter& parameter) {
  std::string text = parameter.help;
  const ValueRule rule = rule_of(parameter);
  std::string facts;
  const auto add = [&](const std::string& fact) {
    if (!fact.empty()) facts += (facts.empty() ? "" : ", ") + fact;
  };
  if (parameter.required) add("required");
  if (parameter.several) add("may be repeated; a folder, a pattern or @LIST, too");
  if (!rule.choices.empty() && parameter.help.find('\n') == std::string::npos) {  // else the lines say what each is
    std::string list;
    for (const std::string& choice : rule.choices) list += (list.empty() ? "" : "|") + choice;
    add(list);
  }
  add(range_text(rule).empty() ? rule.unit : range_text(rule));
  const std::string initial = parameter.default_text.value_or("");
  if (parameter.by_ending)
    add("by the ending of --" + kebab_case(parameter.by_ending->of) + (initial.empty() ? "" : ", else " + initial));
  else if (parameter.type == SLUICE_BOOL && initial == "true")
    add("holds unless --no-" + kebab_case(parameter.name));
  else if (const std::string other = sole_reference(initial); !other.empty())
    add("default: what --" + kebab_case(other) + " says");
  else if (parameter.type != SLUICE_BOOL && !initial.empty())
    add("default " + initial);
  if (!parameter.needs.empty() && !parameter.help.starts_with("with")) add("only " + needs_text(parameter));
  if (!facts.empty()) text += (text.empty() ? "[" : " [") + facts + "]";
  return text;
}

const char* value_name(sluice_value_type type) {
  switch (type) {
    case SLUICE_INT:
      return "INT";
    case SLUICE_FLOAT:
      return "NUMBER";
    case SLUICE_PATH:
      return "PATH";
    case SLUICE_SIZE:
      return "SIZE";
    case SLUICE_CHOICE:
      return "CHOICE";
    default:
      return "TEXT";
  }
}

// What is wrong with the value in "--cs=long", where --cs is a flag; "" if nothing is. CLI11 would end the program by an exception.
std::string fault_of_flag_value(const CLI::App& app, const std::string& flag, const std::string& given) {
  try {
    CLI::detail::to_flag_value(given);
    return "";
  } catch (const std::logic_error&) {
    const std::string meant = flag + "-" + given;
    return "'" + given + "' is neither true nor false" + (app.get_option_no_throw(meant) == nullptr ? "" : ", did you mean '" + meant + "'?");
  }
}

}  // namespace

std::string usage_of(const WrittenPipeline& pipeline) {
  std::string usage = pipeline.name.empty() ? "" : "[options]";
  for (const std::string& name : pipeline.positionals)
    for (const PipelineParameter& p : pipeline.parameters) {
      if (p.name != name) continue;
      std::string text = kebab_case(name);
      std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
      if (p.several) text += "...";
      usage += p.required ? " " + text : " [" + text + "]";
    }
  return usage;
}

CLI::Option* add_plugin_dir(CLI::App& app, std::vector<std::string>& plugin_dirs) {
  return app.add_option("--plugin-dir", plugin_dirs, "load plugins from this folder first (may be repeated)")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

Registry load_plugins(const std::vector<std::string>& plugin_dirs) {
  Registry registry;
  for (const auto& folder : Registry::search_path({plugin_dirs.begin(), plugin_dirs.end()})) registry.load_folder(folder);
  return registry;
}

PipelineArguments::PipelineArguments(CLI::App& app, const Arguments& arguments, std::function<void(CLI::App&)> add_own_options)
    : app_(app), arguments_(arguments), add_own_options_(std::move(add_own_options)) {}

void PipelineArguments::add_options(CLI::App& app) {
  add_own_options_(app);
  app.add_option("--set", set_, "change an entry of the file: stages.NAME.params.PARAMETER=VALUE (may be repeated)")
      ->type_name("ENTRY=VALUE")
      ->allow_extra_args(false)
      ->group(running_in_detail);
  app.set_help_all_flag("--help-all", "show every option");
  app.add_option("--device", device_, "where to run: auto, cpu, cuda, cuda:N")->type_name("DEVICE")->default_str("auto");
  app.add_option("--params", params_file_, "values of the parameters, and under [run] of these options, as TOML; the command line takes precedence")
      ->type_name("FILE")
      ->group(running_in_detail);
  add_plugin_dir(app, plugin_dirs_)->group(running_in_detail);
}

// The pipeline's name, and what else was said in the words of its options. `known` has the command's own.
Arguments PipelineArguments::own_arguments(const CLI::App& known, std::optional<std::size_t> name_place) const {
  if (!name_place) return arguments_;
  const auto takes_value = [&](const std::string& option) {
    for (const PipelineParameter& p : written_.parameters)
      if ("--" + kebab_case(p.name) == option) return p.type != SLUICE_BOOL;
    const CLI::Option* own = known.get_option_no_throw(option);
    return own != nullptr && own->get_items_expected_min() > 0;
  };
  Arguments others = arguments_;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*name_place));
  Arguments result = in_own_words(others, written_, takes_value);
  result.insert(result.begin(), arguments_[*name_place]);
  return result;
}

void PipelineArguments::read_pipeline(const std::string& name) {
  if (name == "-") {
    std::string text;
    char buffer[4096];
    constexpr std::size_t most = 1 << 20;  // above what parse_pipeline accepts, so that it says so
    while (text.size() < most && (std::cin.read(buffer, sizeof buffer), std::cin.gcount() > 0))
      text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    written_ = parse_pipeline(text, "standard input", diagnostics_);
  } else if (const auto file = find_pipeline(name, diagnostics_); !file.empty()) {
    written_ = load_pipeline_file(file, diagnostics_);
  }
}

void PipelineArguments::add_parameters() {
  // Groups are shown in the order in which they were added.
  std::vector<PipelineParameter> by_group = written_.parameters;
  const auto rank = [](const PipelineParameter& p) { return p.group == "input" ? 0 : p.group == "output" ? 1 : p.group == "common" ? 2 : 3; };
  std::stable_sort(by_group.begin(), by_group.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  for (const PipelineParameter& parameter : by_group) {
    const std::string name = "--" + kebab_case(parameter.name);
    // Names that sluice itself uses are reported by parse_pipeline.
    const auto& reserved = reserved_parameter_names();
    if (std::find(reserved.begin(), reserved.end(), parameter.name) != reserved.end()) continue;
    if (app_.get_option_no_throw(name) != nullptr) {
      diagnostics_.error(parameter.where, "", "parameter '" + parameter.name + "': " + name + " is already the opposite of another parameter",
                         "choose another name");
      continue;
    }
    std::string& value = values_.emplace_back();
    CLI::Option* option = nullptr;
    if (parameter.type == SLUICE_BOOL) {
      option = app_.add_flag_function(
          name, [&value](std::int64_t count) { value = count > 0 ? "true" : "false"; }, option_help(parameter));
      const auto is_flag_value = [this, name](const std::string& given) { return fault_of_flag_value(app_, name, given); };
      option->check(is_flag_value);
      if (const std::string opposite = "--no-" + name.substr(2); app_.get_option_no_throw(opposite) == nullptr)
        app_.add_flag_function(opposite, [&value](std::int64_t count) { value = count > 0 ? "false" : "true"; })->check(is_flag_value)->group("");
    } else if (parameter.several) {
      const auto add = [this, name, &value, is_first = true](const std::string& one) mutable {
        if (const ValueProblem problem = problem_of_input_name(one); !problem.message.empty())
          diagnostics_.error({"command line", 0, 0}, "", name + ": " + problem.message, problem.remedy);
        value += (std::exchange(is_first, false) ? "" : "\n") + names_in_passing_list(one);
      };
      option = app_.add_option_function<std::string>(name, add, option_help(parameter))
                   ->type_name(value_name(parameter.type))
                   ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                   ->trigger_on_parse();
    } else {
      option = app_.add_option(name, value, option_help(parameter))->type_name(value_name(parameter.type));
    }
    option->group(group_heading(parameter.group));
    parameters_.emplace_back(parameter.name, option);
  }
  if (!written_.summary.empty()) app_.description(written_.name + ": " + written_.summary);
  if (!written_.doc.empty()) app_.footer("\n" + written_.doc);
}

std::optional<int> PipelineArguments::parse() {
  CLI::App own;
  add_options(own);
  const auto place = place_of_name(arguments_, own);
  if (place) read_pipeline(arguments_[*place]);
  if (diagnostics_.has_errors() && written_.stages.empty()) return print(diagnostics_), exit_usage;
  // One that is called by its name is as good as a command.
  const bool has_name = place && arguments_[*place] == written_.name;
  if (has_name) app_.name(app_.get_name() + " " + written_.name);
  app_.formatter(std::make_shared<HelpText>((has_name || written_.name.empty() ? "" : written_.name + " ") + usage_of(written_), written_.example));
  app_.add_option("pipeline", name_, "a shipped pipeline's name, a .toml file, or - for standard input")->type_name("PIPELINE");
  // The pipeline's own parameters come first.
  app_.set_help_flag();
  add_parameters();
  app_.option_defaults()->group("How to run it");
  add_options(app_);
  app_.set_help_flag("-h,--help", "show this");
  if (const auto ended = parse_options(app_, own_arguments(own, place), written_.habits)) {
    if (*ended != exit_ok) print(diagnostics_);
    return ended;
  }
  if (name_.empty()) {
    std::string names;
    for (const auto& file : shipped_pipelines()) names += (names.empty() ? "" : ", ") + file.stem().string();
    print_error(app_, "no pipeline is named", names.empty() ? "give a .toml file" : "give a .toml file or one of: " + names);
    return exit_usage;
  }
  apply_params();
  for (const std::string& folder : plugin_dirs_)
    if (!std::filesystem::is_directory(folder))
      diagnostics_.error({"command line", 0, 0}, "", "--plugin-dir: there is no folder '" + folder + "'", "check the path");
  return std::nullopt;
}

void PipelineArguments::load() {
  registry_ = load_plugins(plugin_dirs_);
  check_device(device_, Spelling::options, registry_, diagnostics_);
}

bool PipelineArguments::has_parameter(const std::string& name) const {
  return std::any_of(written_.parameters.begin(), written_.parameters.end(), [&](const PipelineParameter& p) { return p.name == name; });
}

bool PipelineArguments::is_on_command_line(const std::string& parameter) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].first == parameter) return (parameters_[i].second->count() > 0 || !values_[i].empty()) && !places_.contains(parameter);
  return false;
}

Overrides PipelineArguments::overrides(Missing missing) const {
  Overrides overrides;
  overrides.set = set_;
  overrides.missing = missing;
  overrides.places = places_;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].second->count() > 0 || !values_[i].empty() || places_.contains(parameters_[i].first))
      overrides.parameters[parameters_[i].first] = values_[i];
  return overrides;
}

std::optional<Plan> PipelineArguments::plan_with(const Overrides& overrides, DeviceSearch search, Diagnostics& diagnostics) const {
  ResolvedPipeline resolved = resolve_pipeline(written_, overrides, registry_, diagnostics);
  if (!resolved.connected) return std::nullopt;
  return sluice::make_plan(std::move(resolved), device_, device_kinds(registry_, device_, search), diagnostics);
}

void PipelineArguments::print_plugin_problems() const {
  for (const PluginProblem& problem : registry_.problems()) std::fprintf(stderr, "%s: the plugin %s\n", problem.file.c_str(), problem.reason.c_str());
}

PlannedFile PipelineArguments::params() const { return {params_file_, FileUse::reads, false, false, "--params"}; }

std::optional<Plan> PipelineArguments::make_plan(Missing missing, DeviceSearch search, const std::vector<PlannedFile>& own_files) {
  load();
  std::optional<Plan> plan = plan_with(overrides(missing), search, diagnostics_);
  if (plan) {
    std::vector<PlannedFile> files = files_of(*plan, registry_);
    files.insert(files.end(), own_files.begin(), own_files.end());
    if (!params_file_.empty()) files.push_back(params());
    check_files(files, missing, diagnostics_);
  }
  print(diagnostics_);
  if (!plan) print_plugin_problems();
  if (diagnostics_.has_errors()) plan.reset();
  return plan;
}

}  // namespace sluice::cli
