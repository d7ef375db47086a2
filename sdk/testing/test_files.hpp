// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The output files of a stage under test, in a temporary folder. Each may have bytes already when it is opened.

#include <sluice/abi.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sluice/testing/result.hpp>
#include <sluice/testing/saved_instance.hpp>
#include <sluice/testing/temporary_folder.hpp>
#include <string>
#include <vector>

namespace sluice::testing::detail {

class TestFiles {
 public:
  TestFiles(const std::string& folder, std::function<void(const std::string&)> problem) : parent_(folder), problem_(std::move(problem)) {}
  TestFiles(const TestFiles&) = delete;
  ~TestFiles();

  // Beyond so many bytes a file writing fails.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  bool wrote_beyond_capacity() const { return wrote_beyond_capacity_; }
  // What the files have that will be opened, in that order.
  void keep(std::vector<SavedFile> files) { kept_ = std::move(files); }
  // What the files have now, in the order in which they were opened.
  std::vector<SavedFile> contents() const;
  void finish(bool succeeded, Result& result);

  sluice_status open(const char* path, sluice_file** file, sluice_error* error);
  static sluice_status write(sluice_file* file, const void* data, std::size_t bytes, sluice_error* error);
  static const char* path(const sluice_file* file);
  static sluice_status close(sluice_file* file, sluice_error* error);
  static sluice_status set_header(sluice_file* file, std::uint64_t bytes);

 private:
  struct File {
    TestFiles* home = nullptr;
    std::string path, temporary, real;
    std::FILE* stream = nullptr;
    std::uint64_t written = 0, header = 0;
  };
  static File& of(sluice_file* file) { return *reinterpret_cast<File*>(file); }
  static sluice_status error_of(sluice_error* error, const File& file, const std::string& what);

  const std::string parent_;               // of the folder
  std::optional<TemporaryFolder> folder_;  // made with the first file: most runs have none, and there are thousands of them
  std::function<void(const std::string&)> problem_;
  std::uint64_t capacity_ = std::numeric_limits<std::uint64_t>::max();
  bool wrote_beyond_capacity_ = false;
  std::vector<SavedFile> kept_;
  std::vector<std::unique_ptr<File>> files_;
  std::mutex mutex_;  // guards files_ while they are opened
};

}  // namespace sluice::testing::detail
