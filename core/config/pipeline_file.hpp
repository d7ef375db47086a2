// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a pipeline file, and what is a path to one.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/toml_document.hpp"

namespace sluice {

// What has a '/' or ends in .toml is a path; anything else is a name.
bool is_pipeline_path(std::string_view name_or_file);

// At most one byte more than `largest`, so that a longer file is seen to be longer. nullopt and an error if it can't be read.
std::optional<std::string> read_pipeline_text(const std::filesystem::path& file, Diagnostics& diagnostics, const char* what = "the pipeline file",
                                              std::size_t largest = largest_document);

// FILE or NAME of `include`: beside the file that says it, in the folder parts/ there, or in the folder parts/ of those where pipelines are looked
// for. Empty path and a diagnostic (with the nearest name) if there is none.
std::filesystem::path find_fragment(const std::string& name_or_file, const std::filesystem::path& from, Diagnostics& diagnostics,
                                    const Location& where);

}  // namespace sluice
