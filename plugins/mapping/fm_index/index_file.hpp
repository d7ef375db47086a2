// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FM-indexes in files: a header, then the columns as they are in memory, each at a multiple of 64 bytes, so that a file is mapped and not read.

#include <cstdint>
#include <functional>
#include <sluice/index_file/index_file.hpp>
#include <string>
#include <string_view>

#include "fm_index/index_builder.hpp"

namespace sluice::fm_index {

inline constexpr std::string_view index_magic = "SLUICEFM";

using IndexSource = index_file::Source;
using index_file::source_of;
using index_file::Verify;

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
