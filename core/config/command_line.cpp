// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/command_line.hpp"

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

constexpr std::size_t longest_command = 32 * 1024;  // half of what a text with ${...} may become

// As a shell reads it.
std::string shell_word(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

// One option for each of the values of a parameter that may be repeated.
void append_option(std::string& text, const PipelineParameter& parameter, std::string_view value) {
  if (parameter.type == SLUICE_BOOL) {
    text += (value == "false" ? " --no-" : " --") + kebab_case(parameter.name);
    return;
  }
  while (true) {
    const std::string_view one = parameter.several ? value.substr(0, value.find('\n')) : value;
    text += " --" + kebab_case(parameter.name) + " " + shell_word(one);
    if (one.size() == value.size()) return;
    value.remove_prefix(one.size() + 1);
  }
}

}  // namespace

std::string command_line_text(const WrittenPipeline& pipeline, const Overrides& overrides) {
  std::string text = "sluice run " + shell_word(pipeline.name);
  for (const PipelineParameter& parameter : pipeline.parameters) {
    const auto given = overrides.parameters.find(parameter.name);
    if (parameter.type == SLUICE_PATH && parameter.group == "output") continue;
    if (given != overrides.parameters.end()) append_option(text, parameter, given->second);
    if (text.size() > longest_command) return text.substr(0, longest_command) + "...";
  }
  for (const std::string& set : overrides.set) text += " --set " + shell_word(set);
  return text.size() > longest_command ? text.substr(0, longest_command) + "..." : text;
}

}  // namespace sluice
