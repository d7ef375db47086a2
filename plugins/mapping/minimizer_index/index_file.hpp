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
#include <sluice/index_file/index_file.hpp>
#include <span>
#include <string>
#include <string_view>

#include "minimizer_index/index_builder.hpp"

namespace sluice::minimizer_index {

inline constexpr std::string_view index_magic = "SLUICEMI";

using IndexSource = index_file::Source;
using index_file::source_of;
using index_file::Verify;

using WriteBytes = std::function<void(std::string_view)>;
void write_index(const MinimizerIndexView& index, const IndexSource& source, const ForEach& for_each, const WriteBytes& write);

struct LoadedIndex {
  MinimizerIndex index;
  IndexSource source;
};
// Maps the file into memory. Throws Failure when it is truncated, damaged, of another version, or its source has changed since.
LoadedIndex map_index(const std::string& path, Verify verify, const ForEach& for_each);

}  // namespace sluice::minimizer_index
