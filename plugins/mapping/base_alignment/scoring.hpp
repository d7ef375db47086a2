// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scores of a base-level alignment: those of minimap2's map-ont preset (its -A, -B, -O and -E), where a gap of n bases costs
// min(open + n * extend, open_long + n * extend_long).

#include <algorithm>
#include <cstdint>

namespace sluice::base_alignment {

struct Scoring {
  std::int32_t match = 2;     // added
  std::int32_t mismatch = 4;  // taken off, as are the following
  std::int32_t gap_open = 4, gap_extend = 2;
  std::int32_t long_gap_open = 24, long_gap_extend = 1;

  std::int32_t gap(std::int32_t bases) const { return std::min(gap_open + bases * gap_extend, long_gap_open + bases * long_gap_extend); }
};

}  // namespace sluice::base_alignment
