// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Bytes that are read where they are wanted: those of a file, or of memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace sluice::signal_reader {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // [offset, offset + bytes), which must lie within size(). Thread-safe. Throws Failure where they are not there any more.
  virtual void read(std::uint64_t offset, char* to, std::size_t bytes) const = 0;
  // The same where no disk has to be waited for; else false, with anything in `to`.
  virtual bool read_if_at_hand(std::uint64_t, char*, std::size_t) const { return false; }
};

// The bytes must outlive the object.
class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::span<const char> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, char* to, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to, bytes_.data() + offset, bytes);
  }

 private:
  std::span<const char> bytes_;
};

// Some of them in memory, at an address that flatbuffers may be read at.
class LoadedBytes {
 public:
  LoadedBytes() = default;
  LoadedBytes(const ByteSource& source, std::uint64_t offset, std::size_t bytes)
      : words_(std::make_unique_for_overwrite<std::uint64_t[]>(bytes / sizeof(std::uint64_t) + 1)), size_(bytes) {
    source.read(offset, reinterpret_cast<char*>(words_.get()), bytes);
  }
  std::span<const char> span() const { return {reinterpret_cast<const char*>(words_.get()), size_}; }

 private:
  std::unique_ptr<std::uint64_t[]> words_;
  std::size_t size_ = 0;
};

}  // namespace sluice::signal_reader
