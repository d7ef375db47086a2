// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The bytes of a BLOW5 record without their compression: all at once, or as many from its beginning as somebody asks for.

#include <cstddef>
#include <memory>
#include <span>

#include "signal_reader/slow5_format.hpp"
#include "signal_reader/zlib_beginning.hpp"

namespace sluice::signal_reader {

// Deflate cannot expand by more than 1032:1.
inline constexpr std::size_t max_deflate_ratio = 1032;
// zstd compresses blocks, of at least 3 bytes for at most 128 KiB; what is in a block is known when all of it has been decompressed.
inline constexpr std::size_t max_zstd_block_text = 128 * 1024, min_zstd_block = 3;

// Working memory for it, used for one record after the other.
class PlainRecord {
 public:
  PlainRecord();
  PlainRecord(const PlainRecord&) = delete;
  ~PlainRecord();

  // All of a record, by the fastest way; empty when it is corrupt. Valid until the next call.
  std::span<const char> whole(std::span<const char> stored, RecordCompression compression);

  // Begins a record of which `stored` is the beginning, or all.
  void begin(std::span<const char> stored, RecordCompression compression, ZlibBeginning::Checksum checksum);
  // Decompresses until there are so many bytes, or `stored` or the record ends. False: it is corrupt.
  bool reach(std::size_t bytes);
  // What there is of the record that was begun. Valid until the next call.
  std::span<const char> bytes() const;

  // Bytes of working memory held.
  std::size_t capacity() const;

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
};

}  // namespace sluice::signal_reader
