// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/help_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/option_parser.hpp"
#include "config/text_fields.hpp"

namespace sluice::cli {
namespace {

constexpr std::size_t usual_width = 80, narrowest = 40, widest = 160, term_columns = 28;

// `is_whole`: with every long name, not the first alone.
std::string term_of(const CLI::Option& option, bool is_whole) {
  std::string term;
  for (const std::string& name : option.get_snames()) term += (term.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) {
    term += (term.empty() ? "--" : ", --") + name;
    if (!is_whole) break;
  }
  return option.get_items_expected_min() > 0 ? term + " " + option.get_type_name() : term;
}

// What --help says of an option that --help-all says more of: "what it is; more of it [required, a|b, may be repeated, default a]" without what
// is behind the semicolon, with what has to be known to give it; of lines "  NAME: what it is" the names.
std::string brief(const std::string& description) {
  std::string text = description.substr(0, description.find('\n')), facts, kept, names;
  for (std::size_t at = description.find("\n  "); at != std::string::npos; at = description.find("\n  ", at + 1))
    names += (names.empty() ? ": " : ", ") + description.substr(at + 3, description.find(':', at) - at - 3);
  if (const std::size_t begin = text.rfind('['); begin != std::string::npos && begin > 0 && text.ends_with(']')) {
    facts = text.substr(begin + 1, text.size() - begin - 2);
    text.resize(begin - 1);
  }
  text = text.substr(0, text.find(" (minimap2"));
  for (std::size_t at = 0, open = text.npos; at < text.size(); ++at) {
    if (text[at] == '(') open = at;
    if (text[at] == ')') open = text.npos;
    if (text.compare(at, 2, "; ") != 0) continue;
    const std::size_t end = open == text.npos ? text.npos : text.find(')', at);  // in parentheses what is left of them
    text.erase(at, end == text.npos ? end : end - at);
    open = text.npos;
  }
  for (const std::string& fact : text_fields(facts, ',')) {
    const std::string one = fact.substr(fact.starts_with(' ') ? 1 : 0);
    if (one == "required" || one.starts_with("default ") || one.find('|') != std::string::npos) kept += (kept.empty() ? " [" : ", ") + one;
  }
  return text + names + kept + (kept.empty() ? "" : "]");
}

std::string entry(const CLI::Option& option, std::size_t width, bool is_whole) {
  std::string text = "  " + term_of(option, is_whole);
  text += text.size() + 2 > term_columns ? "\n" + std::string(term_columns, ' ') : std::string(term_columns - text.size(), ' ');
  const std::string initial = option.get_default_str();
  const std::string description = option.get_description() + (initial.empty() ? "" : " [default " + initial + "]");
  return text + wrapped(is_whole ? description : brief(description), width - term_columns, term_columns) + "\n";
}

std::string usage_of(const CLI::App& app, const std::string& arguments) {
  std::string usage = "Usage: " + app.get_name();
  if (!arguments.empty()) return usage + " " + arguments + "\n";
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) usage += " " + option->get_type_name() + (option->get_items_expected_max() > 1 ? " ..." : "");
  return usage + " [options]\n";
}

// Paragraphs are filled anew; a line that begins with a space or is an item of a list stays a line.
std::string filled(const std::string& text, std::size_t width) {
  std::string lines;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i > 0 && text[i - 1] == '\n', stays = text[i] == '\n' || text[i] == ' ' || text.compare(i, 2, "- ") == 0;
    if (begins_line && !stays && lines.size() > 1 && lines[lines.size() - 2] != '\n') lines.back() = ' ';
    lines += text[i];
  }
  return wrapped(lines, width, 0);
}

}  // namespace

const char* group_heading(const std::string& group) {
  return group == "input" ? "Inputs" : group == "output" ? "Outputs" : group == "common" ? "What people change" : everything_else;
}

std::size_t help_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_width;
  return std::clamp<std::size_t>(size.ws_col, narrowest, widest);
}

std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      result += "\n" + (at + 1 < text.size() && text[at + 1] != '\n' ? std::string(indent, ' ') : "");
      column = 0;
      ++at;
      continue;
    }
    const std::size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
    const std::size_t end = std::min(text.find_first_of(" \n", at + spaces), text.size());
    const std::string word = text.substr(at + spaces, end - at - spaces);
    if (column > 0 && column + spaces + word.size() > width) {
      result += "\n" + std::string(indent, ' ') + word;
      column = word.size();
    } else {
      result += std::string(spaces, ' ') + word;
      column += spaces + word.size();
    }
    at = end;
  }
  return result;
}

std::string command_lines(const std::string& command, std::size_t width) {
  constexpr std::size_t indent = 6;
  std::string lines = wrapped(command, width - indent - 2, indent);
  for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 3)) lines.insert(at, " \\");
  return lines;
}

std::string HelpText::make_help(const CLI::App* app, std::string, CLI::AppFormatMode mode) const {
  const std::size_t width = help_width();
  std::string text = wrapped(app->get_description(), width, 0) + "\n\n" + usage_of(*app, arguments_);
  if (!example_.empty()) text += "\nExample:\n  " + command_lines(example_, width - 2) + "\n";
  const bool is_whole = mode == CLI::AppFormatMode::All || app->get_help_all_ptr() == nullptr;
  std::size_t hidden = 0;
  for (const std::string& group : app->get_groups()) {
    std::string entries;
    std::size_t count = 0;
    for (const CLI::Option* option : shown_options(*app))
      if (option->get_group() == group && (is_whole || option != app->get_help_all_ptr()))  // the last line names that one
        entries += entry(*option, width, is_whole), ++count;
    if (mode != CLI::AppFormatMode::All && (group == everything_else || group == running_in_detail))
      hidden += count;
    else if (count > 0)
      text += "\n" + group + ":\n" + entries;
  }
  if (!app->get_footer().empty() && is_whole) text += filled(app->get_footer(), width);
  if (!text.ends_with('\n')) text += '\n';
  if (hidden > 0) text += "\n" + wrapped("--help-all shows " + std::to_string(hidden) + " more options, and says more of each.", width, 0) + "\n";
  return text;
}

}  // namespace sluice::cli
