// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The files of a run's signal, one after the other as if they were one.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/fast5_program.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

// Endings of a folder's files.
inline constexpr const char* signal_endings = ".blow5 .slow5 .pod5 .fast5";

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
  // Opened when it is first asked for, and kept; of FAST5 files, of which there may be a million, those that were opened last. Thread-safe.
  std::shared_ptr<const SignalFile> file(std::size_t number);
  // Whoever goes through all files says where he is: of FAST5 files the next ones are then opened on all threads, now and again.
  void goes_through(std::size_t number, const ParallelLoop& parallel);

 private:
  // What is known of so many bytes of reads stays in memory: some two million of them.
  static constexpr std::uint64_t most_kept = std::uint64_t{256} << 20;

  static constexpr std::size_t opened_ahead = 256;

  std::vector<std::string> paths_;
  std::vector<std::uint64_t> begins_;
  std::shared_ptr<Fast5Programs> programs_ = Fast5Programs::shared();  // stay as long as files may be opened
  std::mutex mutex_;                                                   // guards what follows
  std::vector<std::shared_ptr<const SignalFile>> files_;
  std::deque<std::size_t> passing_;  // those that are not kept for ever, in the order in which they were opened
  std::uint64_t passing_bytes_ = 0;
};

}  // namespace sluice::signal_reader
