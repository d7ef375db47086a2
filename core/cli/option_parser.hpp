// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What every command does with its options: --help, mistakes with the nearest name, exit codes.

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cli/commands.hpp"
#include "config/diagnostic.hpp"

namespace sluice::cli {

// Parses. Returns the exit code if the command ends here: help was shown, or something is wrong and was said. `habits`: options of other programs,
// and what they are here.
std::optional<int> parse_options(CLI::App& app, const Arguments& arguments, const std::map<std::string, std::string>& habits = {});
// The same for a command that gives on what it does not know.
std::optional<int> parse_known_options(CLI::App& app, const Arguments& arguments);

// Shows `look` the options that a command has for these arguments (a pipeline's parameters are options too) instead of executing it, for
// completion and for the manual page.
void look_at_options(const Command& command, const Arguments& arguments, const std::function<void(const CLI::App&)>& look);
// Those that --help shows.
std::vector<const CLI::Option*> shown_options(const CLI::App& app);

// Prints one line per diagnostic to standard error.
void print(const Diagnostics& diagnostics);
// "sluice run: MESSAGE (REMEDY)"
void print_error(const CLI::App& app, const std::string& message, const std::string& remedy);

}  // namespace sluice::cli
