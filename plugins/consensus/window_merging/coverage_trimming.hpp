// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Racon's trimming of a window's consensus: ends that few layers cover are cut off.

#include <charconv>
#include <cstdint>
#include <sluice/stage.hpp>
#include <span>
#include <string_view>

namespace sluice::window_merging {

// Bases [begin, end) of the consensus are kept.
struct KeptBases {
  std::size_t begin = 0, end = 0;
  bool is_untrimmed = false;  // fewer than two bases would be left, so that everything is kept (racon: "might be chimeric")
};

// coverage: per base of the consensus, sequences with a letter there. layers: sequences of the window without the backbone. Kept is everything from
// the first to the last base with at least layers / 2 (rounded down) sequences.
KeptBases trim_by_coverage(std::span<const std::int32_t> coverage, std::int64_t layers);

// trim: always, never, or long_reads, which are those of a mean length above 1000 bases in the resource `reads`; without it they count as long.
inline bool trims_windows(const Setup& setup, std::string_view trim) {
  if (trim != "long_reads" || !setup.has_resource("reads")) return trim != "never";
  const std::string_view text = setup.resource("reads").attribute("mean_length");
  double mean_length = 0;
  std::from_chars(text.data(), text.data() + text.size(), mean_length);
  return mean_length > 1000;
}

}  // namespace sluice::window_merging
