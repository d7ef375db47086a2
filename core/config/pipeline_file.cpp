// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/pipeline_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace sluice {

bool is_pipeline_path(std::string_view name_or_file) { return name_or_file.find('/') != std::string_view::npos || name_or_file.ends_with(".toml"); }

std::optional<std::string> read_pipeline_text(const std::filesystem::path& file, Diagnostics& diagnostics, const char* what, std::size_t largest) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(largest + 1, '\0');
  if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad() || (stream.fail() && !stream.eof())) {
    diagnostics.error({file.string(), 0, 0}, "", std::string(what) + " cannot be read: " + std::strerror(errno),
                      "does it exist, and may you read it?");
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace sluice
