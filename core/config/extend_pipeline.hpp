// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// [pipeline] extends = "NAME" and include = ["FILE", ...]: a file that takes over a pipeline, and fragments of pipelines, and changes them.

#include <filesystem>
#include <vector>

#include "config/toml_document.hpp"

namespace sluice {

// Puts what `document` says on top of what it takes over: what is read from then on is a pipeline like any other, whose places still name the file
// that said it. The entries of [parameters], [presets], [resources] and [stages] are matched by name:
//   an entry with `use` (of a parameter: `type`) takes the place of the extended pipeline's, and of an included one if it says `replace = true`, or
//   is added behind the last one; one without changes the one that is there, key by key, and its params and resources entry by entry; `remove = true`
//   takes it away.
// False after a problem that leaves nothing to be read (no such file, a circle); others are reported and skipped. `files`: what was read besides
// `file`.
bool extend_pipeline(TomlNode& document, const std::filesystem::path& file, std::vector<std::filesystem::path>& files, Diagnostics& diagnostics);

}  // namespace sluice
