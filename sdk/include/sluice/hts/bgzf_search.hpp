// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Blocks of a BGZF file from any byte on. The user links libdeflate.

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/hts/bgzf_block.hpp>
#include <string_view>
#include <vector>

namespace sluice::hts {

// As much as there is, from any place. Errors count as the end: who reads the file in order will say them.
inline std::size_t read_at(int descriptor, std::uint64_t offset, char* to, std::size_t bytes) {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t part = ::pread(descriptor, to + got, bytes - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

// Is there a chain of blocks from here on? It is believed when it goes on for longer than a block can be, as compressed bytes may look like blocks,
// but not across the headers of those that they are in; or when it ends with the file.
inline bool is_block_chain(std::string_view bytes, std::size_t at, bool is_end_of_file) {
  constexpr std::size_t least_blocks = 3;
  const std::size_t begin = at;
  for (std::size_t blocks = 0; blocks < least_blocks || at - begin <= BgzfBlock::most_bytes; ++blocks) {
    if (at == bytes.size()) return is_end_of_file && blocks > 0;
    if (bytes.size() - at < BgzfBlock::header_bytes) return false;
    const std::size_t size = BgzfBlock::bytes(bytes.data() + at);
    if (size == 0 || size > bytes.size() - at) return false;
    at += size;
  }
  return true;
}

// The first block that begins at `from` or behind it; none: there is none in the next 64 KiB, where every block has its end.
inline std::optional<std::uint64_t> find_bgzf_block(int descriptor, std::uint64_t from) {
  constexpr std::size_t window = 4 * BgzfBlock::most_bytes;
  std::vector<char> bytes(window);
  bytes.resize(read_at(descriptor, from, bytes.data(), bytes.size()));
  const std::string_view text(bytes.data(), bytes.size());
  const BgzfInflater inflater;
  std::vector<char> inflated(BgzfBlock::most_bytes);
  for (std::size_t at = text.find('\x1f'); at <= BgzfBlock::most_bytes && at != std::string_view::npos; at = text.find('\x1f', at + 1)) {
    if (!is_block_chain(text, at, text.size() < window)) continue;
    const std::string_view block = text.substr(at, BgzfBlock::bytes(text.data() + at));
    const std::size_t text_bytes = BgzfBlock::text_bytes(block);
    if (text_bytes <= inflated.size() && inflater.inflate(block, inflated.data(), text_bytes)) return from + at;
  }
  return std::nullopt;
}

}  // namespace sluice::hts
