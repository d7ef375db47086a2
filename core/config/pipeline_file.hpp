// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a pipeline file, and what is a path to one.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/diagnostic.hpp"

namespace sluice {

// What has a '/' or ends in .toml is a path; anything else is a name.
bool is_pipeline_path(std::string_view name_or_file);

// At most one byte more than parse_toml takes, so that it sees that a longer file is longer. nullopt and an error if it can't be read.
std::optional<std::string> read_pipeline_text(const std::filesystem::path& file, Diagnostics& diagnostics);

}  // namespace sluice
