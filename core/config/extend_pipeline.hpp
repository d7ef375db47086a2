// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// [pipeline] extends = "NAME": a file that takes over another pipeline and changes it.

#include <filesystem>

#include "config/toml_document.hpp"

namespace sluice {

// Puts what `document` says on top of the document that it extends, if it extends one: what is read from then on is a pipeline like any other, whose
// places still name the file that said it. The entries of [parameters], [presets], [resources] and [stages] are matched by name:
//   an entry with `use` (of a parameter: `type`) takes the place of the base's, or is added behind its last one;
//   one without changes the base's, key by key, and its params and resources entry by entry;
//   `remove = true` takes the base's entry away.
// False after a problem that leaves nothing to be read (no such base, a circle); others are reported and skipped.
bool extend_pipeline(TomlNode& document, const std::filesystem::path& file, Diagnostics& diagnostics);

}  // namespace sluice
