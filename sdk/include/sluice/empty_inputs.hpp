// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files without a byte among several, of formats that have at least a header: one sample without reads is no reason not to look at the others.

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice {

inline bool is_file_without_bytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;
}

// Takes them out and gives them back, for a warning (empty_text()). Where there are no others they stay.
inline std::vector<std::string> take_empty_files(std::vector<std::string>& paths) {
  const auto others = std::stable_partition(paths.begin(), paths.end(), [](const std::string& path) { return !is_file_without_bytes(path); });
  if (others == paths.begin()) return {};
  std::vector<std::string> empty(others, paths.end());
  paths.erase(others, paths.end());
  return empty;
}

}  // namespace sluice
