// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FM-indexes in files: a header, then the columns as they are in memory, each at a multiple of 64 bytes, so that a file is mapped and not read.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "fm_index/index_builder.hpp"

namespace sluice::fm_index {

inline constexpr std::string_view index_magic = "SLUICEFM";
inline constexpr std::uint64_t largest_checked_bytes = std::uint64_t{4} << 30;

// The sequences that an index was made from, to see later whether they have changed. bytes = 0: unknown.
struct IndexSource {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};
IndexSource source_of(const std::string& path);

// large: of files above largest_checked_bytes only the parts are checked that say how much there is of others; full: everything; structure:
// everything but the checksums, to test that nothing behind them leads out of the index.
enum class Verify : std::uint8_t { large, full, structure };

struct LoadedIndex {
  FmIndex index;
  IndexSource source;
};

// Calls `write` with the bytes of the file, in order.
void write_index(const FmIndex& index, const IndexSource& source, const ParallelFor& parallel_for,
                 const std::function<void(std::string_view)>& write);

// Maps a file. Throws Failure (input): not an index, of another version, truncated, damaged, or stale (its sequences have changed since).
LoadedIndex map_index(const std::string& path, Verify verify, const ParallelFor& parallel_for);

}  // namespace sluice::fm_index
