// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// ${parameter} in the texts of a pipeline file.

#include <map>
#include <string>

#include "config/diagnostic.hpp"

namespace sluice {

struct Expansion {
  std::string text;
  std::string message, remedy;  // message empty: fine
};

// Replaces every ${name} by its value; "$${" stands for "${". An unknown name, a missing brace and a result above 64 KiB are problems.
Expansion expand(const std::string& text, const std::map<std::string, std::string>& parameters);

}  // namespace sluice
