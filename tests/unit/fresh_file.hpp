// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files that a test writes again and again.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sluice::written_files {

// What is there goes first, and never is written over: some file systems flush a file that was cut to nothing when it is closed, which takes
// milliseconds while others write.
inline const std::string& fresh(const std::string& path) {
  std::filesystem::remove(path);
  return path;
}

inline const std::string& write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(fresh(path), std::ios::binary) << bytes;
  return path;
}

}  // namespace sluice::written_files
