// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The file format of minimizer indexes. Everything is little-endian.
//
//   8   magic "SLUICEMI"
//   4   version, 1
//   4   bytes of the header: from the magic to the end of the source's path, rounded up to 64
//   4   k        4  w        4  1: homopolymer-compressed        4  bytes of the source's path
//   8   home lines of the table
//   8   bytes of the file
//   8   bytes of the source file, and
//   8   when it was modified, ns since 1970; both 0: not known
//   11 times, one per column in the order of sluice/minimizer_index.hpp:   8  place in the file    8  bytes    8  checksum
//   8   checksum of the header, this field taken as 0
//   then the source's path; then the columns, each at a multiple of 64.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "minimizer_index/index_builder.hpp"

namespace sluice::minimizer_index {

inline constexpr std::string_view index_magic = "SLUICEMI";

// The file that an index was made from.
struct IndexSource {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};
// Size and time of a file as it is now; zeros if it cannot be looked at.
IndexSource source_of(const std::string& path);

using WriteBytes = std::function<void(std::string_view)>;
void write_index(const MinimizerIndexView& index, const IndexSource& source, const ForEach& for_each, const WriteBytes& write);

// large: everything in files of up to `largest_checked_bytes`, otherwise only the header and what belongs to contigs. structure: everything but the
// checksums, to test that nothing behind them leads out of the index.
enum class Verify : std::uint8_t { large, full, structure };
inline constexpr std::uint64_t largest_checked_bytes = std::uint64_t{4} << 30;

struct LoadedIndex {
  MinimizerIndex index;
  IndexSource source;
};
// Maps the file into memory. Throws Failure when it is truncated, damaged, of another version, or its source has changed since.
LoadedIndex map_index(const std::string& path, Verify verify, const ForEach& for_each);

}  // namespace sluice::minimizer_index
