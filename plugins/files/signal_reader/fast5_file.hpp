// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A FAST5 file of which is known what it has. It is open only while something is read from it: a run may have a million of them.

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "signal_reader/byte_source.hpp"
#include "signal_reader/fast5_program.hpp"
#include "signal_reader/fast5_reads.hpp"

namespace sluice::signal_reader {

// A file that is opened for each read. Throws Failure (input) with its name when it is another or has another size than before.
class ReopenedFile final : public ByteSource {
 public:
  // `descriptor`: it, open.
  ReopenedFile(std::string path, int descriptor);
  std::uint64_t size() const override { return static_cast<std::uint64_t>(info_.st_size); }
  void read(std::uint64_t offset, char* to, std::size_t bytes) const override;

 private:
  std::string path_;
  struct stat info_ {};
};

// Throws Failure (input) with its name.
class Fast5File {
 public:
  // The descriptor may be closed afterwards.
  Fast5File(const std::string& path, int descriptor);
  Fast5File(const Fast5File&) = delete;

  std::uint64_t file_bytes() const { return file_.size(); }
  const Fast5Reads& reads() const { return *reads_; }

 private:
  ReopenedFile file_;
  std::unique_ptr<Fast5Reads> reads_;
};

}  // namespace sluice::signal_reader
