// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Single blocks of a BGZF file, for who reads several at once: their size, and their text. The user links libdeflate.

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <string_view>

namespace sluice::hts {

struct BgzfBlock {
  static constexpr std::size_t header_bytes = 18, footer_bytes = 8;
  static constexpr std::size_t most_bytes = std::size_t{1} << 16;  // of a block, and of its text
  // What ends a file: a block without text.
  static constexpr std::string_view end{"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0\x42\x43\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0", 28};

  template <class T>
  static T load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  // The size of the block whose first 18 bytes are at `header`; 0 if they are none.
  static std::size_t bytes(const char* header) {
    if (std::memcmp(header, "\x1f\x8b\x08\x04", 4) != 0 || load<std::uint16_t>(header + 10) < 6) return 0;
    if (header[12] != 'B' || header[13] != 'C' || load<std::uint16_t>(header + 14) != 2) return 0;
    const std::size_t size = std::size_t{load<std::uint16_t>(header + 16)} + 1;
    return size >= header_bytes + footer_bytes ? size : 0;
  }
  // The bytes of text that a whole block says it has.
  static std::size_t text_bytes(std::string_view block) { return load<std::uint32_t>(block.data() + block.size() - 4); }
};

// One for each thread.
class BgzfInflater {
 public:
  BgzfInflater() : decompressor_(allocated(libdeflate_alloc_decompressor()), libdeflate_free_decompressor) {}
  // Fills `text` from a block. False: that is not what is in it, or its checksum is another.
  bool inflate(std::string_view block, char* text, std::size_t text_bytes) const {
    const std::size_t header = 12 + std::size_t{BgzfBlock::load<std::uint16_t>(block.data() + 10)};
    if (header + BgzfBlock::footer_bytes > block.size()) return false;
    std::size_t made = 0;
    return libdeflate_deflate_decompress(decompressor_.get(), block.data() + header, block.size() - header - BgzfBlock::footer_bytes, text,
                                         text_bytes, &made) == LIBDEFLATE_SUCCESS &&
           made == text_bytes && libdeflate_crc32(0, text, text_bytes) == BgzfBlock::load<std::uint32_t>(block.data() + block.size() - 8);
  }

 private:
  std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> decompressor_;
};

}  // namespace sluice::hts
