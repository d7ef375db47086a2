// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/manual_page.hpp"

#include <cctype>

#include "cli/option_parser.hpp"
#include "cli/pipeline_arguments.hpp"
#include "config/pipeline.hpp"

namespace sluice::cli {
namespace {

// Text as it is: no backslash, hyphen or beginning of a line means anything.
std::string plain(const std::string& text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string section(const std::string& title) { return ".SH " + title + "\n"; }
std::string item(const std::string& term, const std::string& meaning) { return ".TP\n" + term + "\n" + plain(meaning) + "\n"; }
std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }

std::string option_term(const CLI::Option& option) {
  std::string term;
  for (const std::string& name : option.get_snames()) term += (term.empty() ? "" : ", ") + bold("-" + name);
  for (const std::string& name : option.get_lnames()) term += (term.empty() ? "" : ", ") + bold("--" + name);
  if (option.get_items_expected_min() > 0) term += " \\fI" + plain(option.get_type_name()) + "\\fR";
  return term;
}

std::string heading(const std::string& title, const std::string& version) {
  return ".\\\" Written by `sluice docs --manual`: change the commands, not this file.\n.TH " + title + " 1 \"\" \"sluice " + version +
         "\" \"User Commands\"\n";
}

// Those that an app shows, below the headings of their groups.
std::string options_of(const CLI::App& app) {
  std::string text;
  for (const std::string& group : app.get_groups()) {
    std::string options;
    for (const CLI::Option* option : shown_options(app))
      if (option->get_group() == group && !option->check_lname("help")) options += item(option_term(*option), option->get_description());
    if (!options.empty()) text += ".SS " + plain(group) + "\n" + options;
  }
  return text;
}

std::string command_part(const Command& command) {
  std::string arguments, options;
  look_at_options(command, {}, [&](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
      if (option->get_positional()) arguments += " \\fI" + plain(option->get_type_name()) + "\\fR";
    for (const CLI::Option* option : shown_options(app))
      if (!option->check_lname("help")) options += item(option_term(*option), option->get_description());
  });
  std::string summary = command.summary;
  summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(summary.front())));
  return ".SS " + bold(std::string("sluice ") + command.name) + arguments + "\n" + plain(summary) + ".\n" + options;
}

}  // namespace

std::string manual_page(const std::string& version) {
  std::string page = heading("SLUICE", version);
  page += section("NAME") + "sluice \\- pipelines for nanopore and other long\\-read data\n";
  page += section("SYNOPSIS") + ".B sluice\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n";
  page +=
      section("DESCRIPTION") +
      plain(
          "Runs pipelines of stages, which plugins bring. A pipeline is a TOML file; those that are shipped are known by their names. "
          "'sluice COMMAND --help' describes a command, 'sluice run PIPELINE --help' a pipeline with its own options, and 'sluice inspect STAGE' a "
          "stage. Every command knows --help.") +
      "\n";
  page += section("COMMANDS");
  for (const Command& command : commands()) page += command_part(command);
  page += section("PIPELINES");
  Diagnostics ignored;  // of files of the user's own; `sluice check` tells
  for (const auto& file : shipped_pipelines()) {
    const WrittenPipeline pipeline = load_pipeline_file(file, ignored);
    page += item(bold(file.stem().string()), pipeline.summary + (pipeline.example.empty() ? "" : ". Example: " + pipeline.example));
  }
  page += section("EXIT STATUS");
  page += item("0", "what was asked for is done") + item("1", "doctor and docs --check: something is not as it should be") +
          item("2", "the command line or the pipeline is wrong; nothing was run") +
          item("3", "the run finished, but produced nothing, or more rows failed than --max-bad-reads allows") + item("4", "the run failed") +
          item("130", "the run was interrupted") + item("141", "the reader of an output has gone");
  page += section("ENVIRONMENT");
  page += item(bold("SLUICE_PLUGIN_PATH"), "folders with plugins, separated by colons") +
          item(bold("SLUICE_PIPELINE_PATH"), "folders with pipelines that are known by name");
  page += section("FILES");
  page += item(plain("~/.local/share/sluice/plugins"), "the user's plugins") + item(plain("~/.config/sluice/pipelines"), "the user's pipelines") +
          item(plain("~/.local/share/sluice/models"), "k-mer models that 'sluice model add' keeps") +
          item(plain("~/.cache/sluice/machine_profile.json"), "what 'sluice bench --calibrate' has measured");
  return page;
}

std::string manual_page(const std::string& version, const WrittenPipeline& pipeline) {
  const std::string name = "sluice-" + pipeline.name;
  std::string page = heading(name, version);
  page += section("NAME") + plain(name) + " \\- " + plain(pipeline.summary) + "\n";
  page += section("SYNOPSIS") + bold("sluice " + pipeline.name) + " " + plain(usage_of(pipeline)) + "\n";
  page += section("DESCRIPTION") + plain(pipeline.doc) + "\n" + section("EXAMPLE") + ".nf\n" + plain(pipeline.example) + "\n.fi\n";
  page += section("OPTIONS");
  look_at_options(commands().front(), {pipeline.name}, [&](const CLI::App& app) { page += options_of(app); });
  if (!pipeline.habits.empty()) page += section("OPTIONS OF OTHER PROGRAMS");
  for (const auto& [option, here] : pipeline.habits) page += item(bold(option), here);
  return page + section("SEE ALSO") + bold("sluice") + "(1)\n";
}

}  // namespace sluice::cli
