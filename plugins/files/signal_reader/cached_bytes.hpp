// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the system has of a file in its memory.

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

namespace sluice::signal_reader {

class CachedBytes {
 public:
  // Asking: by a read that must not wait (RWF_NOWAIT). Looking: which pages of the file are there (mincore), for file systems that don't answer, as
  // overlay, the one of containers.
  enum class Way : std::uint8_t { asks, looks };
  // The descriptor stays the caller's, and must be open where the object is used.
  explicit CachedBytes(int descriptor, Way way = Way::asks) : descriptor_(descriptor), way_(way) {}
  CachedBytes(const CachedBytes&) = delete;
  ~CachedBytes();
  // Fills all parts from `offset` of the file on, if the system has them in its memory; else false, with anything in them, also where the file ends
  // or the system can't tell. Thread-safe.
  bool read(std::uint64_t offset, std::span<const iovec> parts) const;

 private:
  bool are_there(std::uint64_t offset, std::uint64_t bytes) const;
  const int descriptor_;
  mutable std::atomic<Way> way_;
  mutable std::once_flag is_mapped_;
  mutable unsigned char* pages_ = nullptr;  // of the whole file as it was then; never read: a file may be cut
  mutable std::uint64_t size_ = 0;
};

}  // namespace sluice::signal_reader
