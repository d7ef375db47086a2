// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What --help and --help-all show: options in groups, wrapped at the terminal's width.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "config/pipeline.hpp"

namespace sluice::cli {

// Groups that only --help-all shows.
inline constexpr const char* everything_else = "Everything else";
inline constexpr const char* running_in_detail = "How to run it, in detail";
// The heading of a parameter's group ("input", "output", "common", "more").
const char* group_heading(const std::string& group);

// Columns of the terminal that standard output is, else 80.
std::size_t help_width();
// Words go on `width` columns, each further line behind `indent` spaces; line breaks in the text stay.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

// The same of a command, with backslashes, so that it can be copied.
std::string command_lines(const std::string& command, std::size_t width);

class HelpText : public CLI::Formatter {
 public:
  // arguments: what stands behind the name in the line of usage; "": as the parser says.
  explicit HelpText(std::string arguments = {}, std::string example = {}) : arguments_(std::move(arguments)), example_(std::move(example)) {}
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;

 private:
  std::string arguments_, example_;
};

}  // namespace sluice::cli
