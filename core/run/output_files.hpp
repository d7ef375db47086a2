// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Output files that appear under their final names only when the whole run has succeeded: a killed run leaves nothing that looks complete.

#include <sluice/abi.h>

#include <deque>
#include <mutex>
#include <string>
#include <vector>

struct sluice_file {
  std::string path;       // final; "-": standard output
  std::string temporary;  // where the bytes go until the run has succeeded
  int descriptor = -1;
  std::string pending;  // bytes not yet handed to the kernel
  bool closed = false;
};

namespace sluice {

class OutputFiles {
 public:
  OutputFiles() = default;
  OutputFiles(const OutputFiles&) = delete;
  ~OutputFiles() { discard(); }

  // All of these throw Failure::output (or usage, for a path that can't be an output) naming the path.
  sluice_file* open(const std::string& path);
  static void write(sluice_file& file, const char* data, std::size_t bytes);
  static void close(sluice_file& file);

  // Gives every file its final name; returns the names.
  std::vector<std::string> commit();
  // Keeps what was written so far as NAME.partial; returns the names.
  std::vector<std::string> keep_partial();
  void discard();

 private:
  std::mutex mutex_;  // guards files_
  std::deque<sluice_file> files_;
};

}  // namespace sluice
