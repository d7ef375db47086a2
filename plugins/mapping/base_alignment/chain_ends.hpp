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
// The same across introns: without the first and the last anchor, where a gap beside it is so long that the bases around it must say more for it.
// Method: S.4 of the specification.
template <class ScoreAround>  // the best local alignment's score around an anchor
AnchorRange trim_spliced_ends(std::span<const Anchor> anchors, const AlignedHit& hit, const AlignmentSettings& settings,
                              const ScoreAround& score_around) {
  AnchorRange range{hit.first_anchor, hit.anchors};
  if (!settings.trim_ends || hit.anchors < 3) return range;
  const auto at = [&](std::int32_t i) -> const Anchor& { return anchors[static_cast<std::size_t>(i)]; };
  const auto is_doubtful = [&](const Anchor& anchor, const Anchor& left, const Anchor& right) {
    const double wanted = std::log(static_cast<double>(right.on_target() - left.on_target())) + settings.splice.end_seed_penalty;
    return anchor.span() < wanted && static_cast<double>(score_around(anchor)) / settings.scores.match < wanted;
  };
  const std::int32_t first = hit.first_anchor, last = first + hit.anchors - 1;
  if (is_doubtful(at(first), at(first), at(first + 1))) {
    ++range.first;
    --range.count;
  }
  if (is_doubtful(at(last), at(last - 1), at(last))) --range.count;
  return range;
}

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
