// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is left of an instance that is gone: what it gave with save(), and its files as they were then.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::testing {

struct SavedFile {
  std::string path;  // as the stage gave it
  std::string bytes;
  std::uint64_t header = 0;  // bytes of its header, see header_of_file in abi.h
};

struct SavedInstance {
  std::string state;
  std::vector<SavedFile> files;  // in the order in which they were opened
  std::size_t batches = 0;       // that had come out by then
};

}  // namespace sluice::testing
