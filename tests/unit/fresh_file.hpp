// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files that a test writes again and again, without waiting for a disk that others use.

#include <unistd.h>

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

// A folder in memory for tests that sync thousands of files; where there is none, that of temporary files.
inline std::string folder_in_memory() {
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

inline const std::string& write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(fresh(path), std::ios::binary) << bytes;
  return path;
}

}  // namespace sluice::written_files
