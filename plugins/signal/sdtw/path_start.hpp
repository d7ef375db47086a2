// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where a path begins whose end is known. Private to the plugin.
//
// Without reference deletions a path of n rows lies in the n columns before its end. So its beginning is not carried along with every cell of the
// search, but found by the same recurrence from the end backwards: at most n^2 / 2 cells, 1 % of a search in 200,000 columns.

#include <cstdint>
#include <span>

#include "sdtw/column_tiles.hpp"
#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {

struct PathStartWorkspace {
  AlignedArray<std::int16_t> levels;  // reversed: from the end of the path backwards
  AlignedArray<std::uint16_t> narrow;
  AlignedArray<std::uint32_t> wide;
};

// The first column of the path with the score and end of `hit`; of several paths that of the shortest one. `hit` is the best of the query, which
// is not empty; no reference deletions.
std::int64_t path_start(const Reference& reference, std::span<const std::int16_t> query, const Hit& hit, Cost cost, PathStartWorkspace& workspace);

}  // namespace sluice::sdtw
