// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// `sluice live` is the Python package's: the sequencer's interface has stubs for Python.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/help_text.hpp"
#include "cli/live_options.hpp"
#include "cli/option_parser.hpp"
#include "session/exit_code.hpp"

namespace sluice::cli {
namespace {

constexpr const char* bootstrap =
    "import sys\n"
    "sys.path[:] = [p for p in sys.path if p]\n"  // "-c" puts the folder the user is in first, whatever it has
    "try:\n"
    "    from sluice.live.program import main\n"
    "except ImportError as error:\n"
    "    sys.exit(f\"sluice live: {sys.executable} does not have the package sluice ({error}): install its wheel there (docs/live.md), or let \"\n"
    "             \"SLUICE_PYTHON name a Python that has it\")\n"
    "sys.exit(main(sys.argv[1:]))\n";

std::string default_of(const nlohmann::json& option) {
  if (option.contains("without")) return option["without"];
  const nlohmann::json value = option.value("default", nlohmann::json());
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : fmt::format("{}", value.get<double>());
}

std::string help_of(const nlohmann::json& option) {
  const std::string help = option["help"], value = default_of(option);
  return value.empty() ? help : help + " (default: " + value + ")";
}

// For --help and completion; the package reads them again.
void add_live_options(CLI::App& app) {
  const auto leave = [](const CLI::results_t&) { return true; };
  for (const nlohmann::json& option : nlohmann::json::parse(live_options)) {
    const std::string name = "--" + option["name"].get<std::string>(), help = help_of(option);
    if (option["type"] == "flag")
      app.add_flag(name, help);
    else
      app.add_option(name, leave, help)->type_name(option["value"]);
  }
}

}  // namespace

int live_command(const Arguments& arguments) {
  CLI::App app("Read Until on a sequencer: decides about the live reads of a position of MinKNOW", "sluice live");
  app.footer(
      "\nEvery other option is a parameter of the pipeline (sluice run read_until --help) or of the run (--threads N).\nIt is part of the "
      "Python package: docs/live.md says how to install it; SLUICE_PYTHON names a Python that has it.");
  app.formatter(std::make_shared<HelpText>("", "sluice live --position MN12345 --reference lambda.fa --control-channels 1-256 --log decisions.tsv"));
  add_live_options(app);
  if (const auto ended = parse_known_options(app, arguments)) return *ended;
  const char* const named = std::getenv("SLUICE_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> words = {python, "-c", bootstrap};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::fflush(nullptr);
  execvp(python.c_str(), argv.data());
  std::fprintf(stderr,
               "sluice live: cannot start %s: %s (it is part of the Python package, see docs/live.md: let SLUICE_PYTHON name a Python that has it)\n",
               python.c_str(), std::strerror(errno));
  return exit_failed;
}

}  // namespace sluice::cli
