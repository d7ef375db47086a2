// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/option_parser.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/exit_code.hpp"

namespace sluice::cli {
namespace {

// Set while look_at_options() asks a command for its options. Commands run one at a time, on the main thread.
const std::function<void(const CLI::App&)>* looking = nullptr;

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool looks_like_option(const std::string& argument) { return argument.size() > 1 && argument.front() == '-'; }

std::string help_hint(const CLI::App& app) { return "'" + app.get_name() + " --help' lists the options"; }

int unknown_argument(const CLI::App& app, const std::vector<std::string>& rest) {
  const auto option = std::find_if(rest.begin(), rest.end(), looks_like_option);
  if (option == rest.end()) {
    print_error(app, "unexpected argument '" + rest.front() + "'", help_hint(app));
    return exit_usage;
  }
  const std::string name = option->substr(0, option->find('='));
  const std::string near = nearest_name(name, option_names(app));
  print_error(app, "unknown option '" + name + "'", near.empty() ? help_hint(app) : "did you mean '" + near + "'?");
  return exit_usage;
}

// CLI11 takes whatever follows an option as its value; "--reads --reference x" is a forgotten value.
const CLI::Option* option_that_ate_another(const CLI::App& app) {
  const std::vector<std::string> names = option_names(app);
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (std::find(names.begin(), names.end(), value.substr(0, value.find('='))) != names.end()) return option;
  return nullptr;
}

}  // namespace

std::optional<int> parse_options(CLI::App& app, const Arguments& arguments) {
  if (looking != nullptr) {
    (*looking)(app);
    return exit_ok;
  }
  app.allow_extras();
  Arguments reversed(arguments.rbegin(), arguments.rend());  // CLI11 wants them so
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    // An option that CLI11 complains about may only be there because the one before it is misspelt.
    print_error(app, error.what(), help_hint(app));
    return exit_usage;
  }
  if (const CLI::Option* option = option_that_ate_another(app)) {
    print_error(app, option->get_name() + " has no value: '" + option->results().front() + "' is an option", "give it a value");
    return exit_usage;
  }
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) return unknown_argument(app, rest);
  return std::nullopt;
}

void look_at_options(const Command& command, const Arguments& arguments, const std::function<void(const CLI::App&)>& look) {
  looking = &look;
  command.execute(arguments);
  looking = nullptr;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional() && !option->get_group().empty()) shown.push_back(option);
  return shown;
}

void print(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.list()) std::fprintf(stderr, "%s\n", diagnostic.text().c_str());
}

void print_error(const CLI::App& app, const std::string& message, const std::string& remedy) {
  std::fprintf(stderr, "%s\n", Diagnostic{Severity::error, {app.get_name(), 0, 0}, "", message, remedy}.text().c_str());
}

}  // namespace sluice::cli
