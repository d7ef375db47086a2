// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which anchors of a chain an alignment relies on, and how far it may reach beyond them. Method: minimap2 2.24, A.14 of the specification.

#include <span>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {

struct AnchorRange {
  std::int32_t first = 0, count = 0;
};

// The hit's anchors without those at its ends that many bases of a gap separate from the rest.
AnchorRange trim_ends(std::span<const Anchor> anchors, const AlignedHit& hit, const AlignmentSettings& settings);

// Reusable memory.
using Jumps = std::vector<std::int32_t>;

// Flags anchors between gaps that take each other back, and those behind which a long gap begins that only they interrupt.
void flag_bad_seeds(std::span<Anchor> range, std::int32_t max_gap, Jumps& jumps);

// Bases that the alignment may use, on the target and on the read's strand.
struct Reach {
  std::int32_t target_begin = 0, target_end = 0, query_begin = 0, query_end = 0;
};
struct Lengths {
  std::int32_t target = 0, read = 0;
};
struct Point {
  std::int32_t target = 0, query = 0;
};
// anchors: all of the read. begin and end: where the first and the last anchor cut the hit.
Reach reach_of(std::span<const Anchor> anchors, const AlignedHit& hit, Point begin, Point end, Lengths lengths, const AlignmentSettings& settings);

}  // namespace sluice::base_alignment
