// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// --params FILE: values of a pipeline's parameters, and in a table [run] options of the run, as TOML.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_document.hpp"

namespace sluice {

struct GivenValue {
  std::vector<std::string> texts;  // one, or those of a list
  bool is_list = false;
  Location where;
};

struct ParamsFile {
  std::map<std::string, GivenValue> parameters, run;  // by snake_case name
};

// Values are strings, numbers, booleans, or lists of them; anything else is reported, with its place. What the names mean is not looked at here.
ParamsFile parse_params(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics);
ParamsFile load_params_file(const std::filesystem::path& file, Diagnostics& diagnostics);

}  // namespace sluice
