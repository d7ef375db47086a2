// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Puts what a pipeline file says on top of what it takes over: the pipeline that it extends, and the fragments that it includes.

#include <string>
#include <vector>

#include "config/toml_document.hpp"

namespace sluice {

// One of the files that `include` names, whole: what it includes itself is in it.
struct Fragment {
  std::string name;  // as the including file says it
  TomlNode document;
};

struct TakenOver {
  std::string base_name;  // as `extends` says it; "" if nothing is extended
  TomlNode base;
  std::vector<Fragment> fragments;
};

TomlMember* member_of(TomlNode& table, const std::string& key);

// `over` on top of what it takes over. The entries of [parameters], [presets], [resources] and [stages] are matched by name: see extend_pipeline().
// A fragment's entries stand where `over` first names one of them, or else its stages and resources before those of `over`, and its parameters and
// presets behind. Problems are reported, and skipped.
TomlNode merged(TakenOver below, const TomlNode& over, Diagnostics& diagnostics);

}  // namespace sluice
