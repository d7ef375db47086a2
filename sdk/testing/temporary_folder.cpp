// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sluice/testing/temporary_folder.hpp>
#include <stdexcept>
#include <system_error>

namespace sluice::testing {

TemporaryFolder::TemporaryFolder(const std::string& parent) {
  std::string name = (parent.empty() ? std::filesystem::temp_directory_path().string() : parent) + "/sluice-test-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder in " + parent);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a left-over temporary file is not worth a failed test
  std::filesystem::remove_all(path_, ignored);
}

namespace detail {

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace detail

}  // namespace sluice::testing
