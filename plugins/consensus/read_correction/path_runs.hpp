// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Paths of alignments at unit costs.
//
// Row i stands for i letters of the pattern, column j for j letters of the text. Of all paths of least cost the one is taken that, backwards from the
// last cell, prefers a letter of the text against a gap, then a letter of the pattern against a gap, then the diagonal, so that gaps lie as far right
// as they can: the same place for every text.

#include <cstdint>
#include <vector>

namespace sluice::read_correction {

enum class PathStep : std::uint8_t { match, mismatch, pattern_only, text_only };

// Steps of one kind, one after the other.
struct PathRun {
  PathStep step = PathStep::match;
  std::int32_t length = 0;
  bool operator==(const PathRun&) const = default;
};

// No steps are no run; steps of the last run's kind lengthen it.
inline void append_steps(std::vector<PathRun>& runs, PathStep step, std::int32_t length) {
  if (length == 0) return;
  if (!runs.empty() && runs.back().step == step)
    runs.back().length += length;
  else
    runs.push_back({step, length});
}

// An end of an alignment of a whole pattern.
struct BestPrefix {
  std::int32_t distance = 0;
  std::int32_t letters = 0;  // of the text; the fewest of equally good ends
};

}  // namespace sluice::read_correction
