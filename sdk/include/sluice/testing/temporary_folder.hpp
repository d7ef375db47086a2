// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A folder for the files of one test, and a file's bytes.

#include <string>

namespace sluice::testing {

// A folder that disappears with its owner.
class TemporaryFolder {
 public:
  // Below `parent`, or where the system keeps temporary files.
  explicit TemporaryFolder(const std::string& parent = "");
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

namespace detail {

// Empty for a file that can't be read.
std::string file_bytes(const std::string& path);

}  // namespace detail

}  // namespace sluice::testing
