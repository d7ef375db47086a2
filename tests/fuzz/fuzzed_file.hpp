// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the targets share: bytes as a file, and what becomes of them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>

namespace fuzzing {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// A file in memory, with a name for who opens it by one.
class FileOf {
 public:
  explicit FileOf(std::string_view bytes) : file_(memfd_create("fuzzed", MFD_CLOEXEC)) {
    require(file_ >= 0 && write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~FileOf() { close(file_); }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

// A folder of this process, in memory, for files that lie beside each other.
class Folder {
 public:
  Folder() : path_(std::filesystem::path("/dev/shm") / ("sluice_fuzz_" + std::to_string(getpid()))) { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// Runs `read`; what is refused must be said to be the input's fault, in words.
template <class Read>
void read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const sluice::Failure& failure) {
    require((failure.status() == SLUICE_ERROR_INPUT || failure.status() == SLUICE_ERROR_USAGE) && !std::string_view(failure.what()).empty());
  }
}

}  // namespace fuzzing
