// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An open POD5 file.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "signal_reader/byte_source.hpp"
#include "signal_reader/cached_bytes.hpp"
#include "signal_reader/pod5_reads.hpp"

namespace sluice::signal_reader {

// Does a file that begins so claim to be POD5? To be HDF5, as FAST5 files are?
bool begins_as_pod5(std::span<const char> start_of_file);
bool begins_as_hdf5(std::span<const char> start_of_file);
// Is it a file whose reads are known when it is whole, POD5 or HDF5?
bool has_table(const std::string& path);

// A file that must stay as it is while it is read. Throws Failure (input) with its name when it does not.
class UnchangingFile final : public ByteSource {
 public:
  UnchangingFile(std::string path, int descriptor);
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, char* to, std::size_t bytes) const override;
  bool read_if_at_hand(std::uint64_t offset, char* to, std::size_t bytes) const override;

 private:
  std::size_t read_some(std::uint64_t offset, char* to, std::size_t bytes) const;
  std::string end() const;
  void check() const;
  [[noreturn]] void fail_changed() const;
  std::string path_;
  int descriptor_;
  CachedBytes cached_;
  std::uint64_t size_ = 0;
  std::string end_;                             // its last bytes
  mutable std::atomic<std::int64_t> modified_;  // when it was, ns
};

// Throws Failure (input) with its name.
class Pod5File {
 public:
  // The descriptor must outlive the object.
  Pod5File(const std::string& path, int descriptor);
  Pod5File(const Pod5File&) = delete;

  const Pod5Reads& reads() const { return *reads_; }

 private:
  UnchangingFile file_;
  std::unique_ptr<Pod5Reads> reads_;
};

}  // namespace sluice::signal_reader
