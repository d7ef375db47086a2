// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The best local alignment's score and end, by which inversions are found (Farrar's striped Smith-Waterman as minimap2 2.24 has it).

#include <cstdint>
#include <span>
#include <vector>

#include "base_alignment/kernel/problem.hpp"

namespace sluice::base_alignment {

struct LocalEnd {
  std::int32_t score = 0;
  // Last bases of both. The query's may lie up to seven behind its end, and the target's as many too far: columns that fill the last stripe pass a
  // score on unchanged.
  std::int32_t query = 0, target = 0;
};

struct LocalRows {
  std::vector<std::int32_t> score, deletion;
};

// Codes as in Problem; neither is empty. One piece of gap costs, the first.
LocalEnd align_locally(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, LocalRows& rows);

}  // namespace sluice::base_alignment
