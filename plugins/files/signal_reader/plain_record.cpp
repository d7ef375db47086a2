// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/plain_record.hpp"

#include <libdeflate.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <sluice/allocated.hpp>
#include <vector>

namespace sluice::signal_reader {

struct PlainRecord::Streams {
  libdeflate_decompressor* deflate = allocated(libdeflate_alloc_decompressor());
  ZlibBeginning inflate;
  ZSTD_DStream* zstd = allocated(ZSTD_createDStream());
  std::vector<char> plain;  // a whole decompressed record

  // The record that was begun.
  std::span<const char> stored;
  RecordCompression compression = RecordCompression::none;
  std::vector<char> start;  // its decompressed beginning ...
  std::size_t made = 0;     // ... of so many bytes
  std::size_t used = 0;     // of `stored`, zstd
  bool ended = false;

  Streams() = default;
  Streams(const Streams&) = delete;
  ~Streams() {
    libdeflate_free_decompressor(deflate);
    ZSTD_freeDStream(zstd);
  }

  std::span<const char> whole_zlib(std::span<const char> bytes) {
    const std::size_t most = bytes.size() * max_deflate_ratio + 64;
    if (plain.size() < bytes.size() * 3) plain.resize(bytes.size() * 3);
    while (true) {
      std::size_t size = 0;
      const auto result = libdeflate_zlib_decompress(deflate, bytes.data(), bytes.size(), plain.data(), plain.size(), &size);
      if (result == LIBDEFLATE_SUCCESS) return {plain.data(), size};
      if (result != LIBDEFLATE_INSUFFICIENT_SPACE || plain.size() >= most) return {};
      plain.resize(std::min(most, plain.size() * 2 + 4096));
    }
  }
  std::span<const char> whole_zstd(std::span<const char> bytes) {
    // Writers of BLOW5 store single frames with the content size; slow5lib refuses others, too.
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return {};
    if (size / max_zstd_block_text > bytes.size() / min_zstd_block + 1) return {};
    if (plain.size() < size) plain.resize(static_cast<std::size_t>(size));
    const std::size_t got = ZSTD_decompressDCtx(zstd, plain.data(), plain.size(), bytes.data(), bytes.size());
    if (ZSTD_isError(got) != 0) return {};
    return {plain.data(), got};
  }

  // Until `start` has `size` bytes.
  bool more_zstd(std::size_t size) {
    ZSTD_inBuffer in{stored.data(), stored.size(), used};
    ZSTD_outBuffer to{start.data(), size, made};
    while (to.pos < to.size && !ended) {
      const std::size_t before_in = in.pos;
      const std::size_t before_out = to.pos;
      const std::size_t result = ZSTD_decompressStream(zstd, &to, &in);
      if (ZSTD_isError(result) != 0) return false;
      ended = result == 0 || (in.pos == before_in && to.pos == before_out);
    }
    used = in.pos;
    made = to.pos;
    return true;
  }
};

PlainRecord::PlainRecord() : streams_(std::make_unique<Streams>()) {}
PlainRecord::~PlainRecord() = default;

std::span<const char> PlainRecord::whole(std::span<const char> stored, RecordCompression compression) {
  if (compression == RecordCompression::zlib) return streams_->whole_zlib(stored);
  if (compression == RecordCompression::zstd) return streams_->whole_zstd(stored);
  return stored;
}

void PlainRecord::begin(std::span<const char> stored, RecordCompression compression, ZlibBeginning::Checksum checksum) {
  Streams& s = *streams_;
  s.stored = stored;
  s.compression = compression;
  s.made = s.used = 0;
  s.ended = false;
  if (compression == RecordCompression::zstd) ZSTD_DCtx_reset(s.zstd, ZSTD_reset_session_only);
  if (compression == RecordCompression::zlib) s.inflate.begin(stored, checksum);
}

bool PlainRecord::reach(std::size_t bytes) {
  Streams& s = *streams_;
  if (s.compression == RecordCompression::none) return true;
  if (s.compression == RecordCompression::zlib) return s.inflate.reach(bytes);
  while (s.made < bytes && !s.ended) {
    // What a damaged record asks for is not believed before it is there.
    const std::size_t size = std::min(bytes, std::max(2 * s.made, std::size_t{256 * 1024}));
    if (s.start.size() < size) s.start.resize(size);
    if (!s.more_zstd(size)) return false;
  }
  return true;
}

std::span<const char> PlainRecord::bytes() const {
  const Streams& s = *streams_;
  if (s.compression == RecordCompression::none) return s.stored;
  if (s.compression == RecordCompression::zlib) return s.inflate.bytes();
  return {s.start.data(), s.made};
}

std::size_t PlainRecord::capacity() const { return streams_->plain.capacity() + streams_->start.capacity() + streams_->inflate.capacity(); }

}  // namespace sluice::signal_reader
