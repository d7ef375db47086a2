// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/option_parser.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/help_text.hpp"
#include "session/exit_code.hpp"

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

std::string help_hint(const CLI::App& app) {
  return "'" + app.get_name() + (app.get_help_all_ptr() == nullptr ? " --help" : " --help-all") + "' lists the options";
}

using Habits = std::map<std::string, std::string>;

// "--format sam --preset" for "-ax": what an option of another program is here; "" if nobody knows.
std::string meant_by(const CLI::App& app, const std::string& name, const Habits& habits) {
  if (const auto habit = habits.find(name); habit != habits.end()) return habit->second;
  const auto here = [&](const std::string& option) { return app.get_option_no_throw(option) == nullptr ? "" : option; };
  if (name == "-o") return here("--output");
  if (name.starts_with("--") || name.size() < 2) return "";
  if (name.size() == 2) return here("-" + name);
  std::string all;
  for (const char letter : name.substr(1)) {
    const std::string one = meant_by(app, std::string("-") + letter, habits);
    const bool begins_value = !all.empty() && letter >= '0' && letter <= '9';  // -A2, also where there is an option -2
    if (one.empty() || begins_value) return all;
    all += (all.empty() ? "" : " ") + one;
  }
  return all;
}

int unknown_argument(const CLI::App& app, const std::vector<std::string>& rest, const Habits& habits) {
  const std::vector<std::string> known = option_names(app);
  bool said = false;
  for (const std::string& argument : rest) {
    if (!looks_like_option(argument)) continue;
    const std::string name = argument.substr(0, argument.find('='));
    const std::string here = meant_by(app, name, habits), near = nearest_name(name, known);
    if (said && here.empty() && near.empty()) continue;  // more than one line about the manual is no help
    print_error(app, (habits.contains(name) ? "no option '" : "unknown option '") + name + "'",
                !here.empty()   ? "here: " + here
                : !near.empty() ? "did you mean '" + near + "'?"
                                : help_hint(app));
    said = true;
  }
  if (!said)
    print_error(app, "unexpected argument '" + rest.front() + "'", "a value goes behind its option, which may be repeated where --help says so");
  return exit_usage;
}

// CLI11 takes whatever follows an option as its value; "--reads --reference x" is a forgotten value. "": none is.
std::string forgotten_value(const CLI::App& app, const Arguments& arguments) {
  const auto option = [&](const std::string& word) {
    return word.starts_with("--") ? app.get_option_no_throw(word.substr(0, word.find('='))) : nullptr;
  };
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    const CLI::Option* known = arguments[i].find('=') == std::string::npos ? option(arguments[i]) : nullptr;
    if (known == nullptr || known->get_items_expected_min() == 0) continue;
    if (option(arguments[++i]) != nullptr) return known->get_name() + " has no value: '" + arguments[i] + "' is an option";
  }
  return "";
}

// "--reads=" is an empty value, as --reads "" is. CLI11 takes it for --reads, whose value comes next.
Arguments with_empty_values(const CLI::App& app, const Arguments& arguments) {
  Arguments whole;
  for (const std::string& word : arguments) {
    const bool is_empty = word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
    const CLI::Option* known = is_empty ? app.get_option_no_throw(word.substr(0, word.size() - 1)) : nullptr;
    if (known == nullptr || known->get_items_expected_min() == 0) {
      whole.push_back(word);
    } else {
      whole.push_back(word.substr(0, word.size() - 1));
      whole.emplace_back();
    }
  }
  return whole;
}

}  // namespace

std::optional<int> parse_known_options(CLI::App& app, const Arguments& arguments) {
  if (looking != nullptr) {
    (*looking)(app);
    return exit_ok;
  }
  app.allow_extras();
  if (dynamic_cast<HelpText*>(app.get_formatter().get()) == nullptr) app.formatter(std::make_shared<HelpText>());
  if (const std::string problem = forgotten_value(app, arguments); !problem.empty()) return print_error(app, problem, "give it a value"), exit_usage;
  const Arguments whole = with_empty_values(app, arguments);
  Arguments reversed(whole.rbegin(), whole.rend());  // CLI11 wants them so
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForAllHelp&) {
    std::fputs(app.help("", CLI::AppFormatMode::All).c_str(), stdout);
    return exit_ok;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    // An option that CLI11 complains about may only be there because the one before it is misspelt.
    print_error(app, error.what(), help_hint(app));
    return exit_usage;
  }
  return std::nullopt;
}

std::optional<int> parse_options(CLI::App& app, const Arguments& arguments, const std::map<std::string, std::string>& habits) {
  if (const auto ended = parse_known_options(app, arguments)) return ended;
  if (const std::vector<std::string> rest = app.remaining(); !rest.empty()) return unknown_argument(app, rest, habits);
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
