// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of a run's signal, one after the other as if they were one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

// Endings of a folder's files.
inline constexpr const char* signal_endings = ".blow5 .slow5 .pod5";

class SignalFiles {
 public:
  // A path a line: the attribute `path` of the resource signal_file. Throws Failure (input) for one that is not there.
  explicit SignalFiles(std::string_view paths);

  std::size_t size() const { return paths_.size(); }
  const std::string& path(std::size_t file) const { return paths_[file]; }
  // Where the file begins among the bytes of all; of size(): their end.
  std::uint64_t begin(std::size_t file) const { return begins_[file]; }
  // The file that holds this byte of all, which must be before their end.
  std::size_t file_at(std::uint64_t byte) const;
  // Opened when it is first asked for, and kept. Thread-safe.
  const SignalFile& file(std::size_t file);

 private:
  std::vector<std::string> paths_;
  std::vector<std::uint64_t> begins_;
  std::mutex mutex_;  // guards files_
  std::vector<std::unique_ptr<SignalFile>> files_;
};

}  // namespace sluice::signal_reader
