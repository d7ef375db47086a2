// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A file that is there completely or not at all.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace sluice {

// Writes beside the final name, syncs and renames; a device or pipe (/dev/stdout, or - for standard output) is written directly. `next` gives the
// content in pieces, "" at its end; it may throw Failure. Returns "" or what went wrong, naming the file.
std::string write_atomically(const std::filesystem::path& file, const std::function<std::string()>& next);
std::string write_atomically(const std::filesystem::path& file, std::string_view content);

// Can write_atomically() create it? Asked before a long run begins. Returns "" or why not.
std::string why_not_writable(const std::filesystem::path& file);

}  // namespace sluice
