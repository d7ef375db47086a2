// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Racon's trimming of a window's consensus: ends that few layers cover are cut off.

#include <cstdint>
#include <span>

namespace sluice::window_merging {

// Bases [begin, end) of the consensus are kept.
struct KeptBases {
  std::size_t begin = 0, end = 0;
  bool is_untrimmed = false;  // fewer than two bases would be left, so that everything is kept (racon: "might be chimeric")
};

// coverage: per base of the consensus, sequences with a letter there. layers: sequences of the window without the backbone. Kept is everything from
// the first to the last base with at least layers / 2 (rounded down) sequences.
KeptBases trim_by_coverage(std::span<const std::int32_t> coverage, std::int64_t layers);

}  // namespace sluice::window_merging
