// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which alignments of a read are kept, in which order, which are primary, and how sure each is. Method: minimap2 2.24, A.19 and A.20 of the
// specification.

#include <vector>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {

// Drops hits with too few anchors, matches or too low a score, and those with too much of the read on both sides.
void drop_weak(const AlignmentSettings& settings, std::int32_t read_length, std::vector<AlignedHit>& hits);

// Gives hits of a read that several places of the target explain equally well scores in which a difference costs what it costs at the best one's
// identity. True: it did.
bool adjust_scores(const AlignmentSettings& settings, std::int32_t read_length, std::vector<AlignedHit>& hits);

// By descending score; equal ones by their hashes.
void sort_by_score(std::vector<AlignedHit>& hits);

// Reusable memory.
struct RankingScratch {
  overlap::PrimaryHits intervals;
  std::vector<std::size_t> primaries;
  std::vector<std::int32_t> renumbered;
};
// Sets id, parent and what primary hits know of their rivals; hits must be sorted.
void set_parents(const AlignmentSettings& settings, RankingScratch& scratch, std::vector<AlignedHit>& hits);
// Drops secondary hits that the settings do not keep, and says which hit leads.
void drop_secondary_hits(const AlignmentSettings& settings, RankingScratch& scratch, std::vector<AlignedHit>& hits);

// repeat_length: bases of the read under minimizers that were too frequent to be looked up.
void set_mapping_quality(const AlignmentSettings& settings, std::int32_t repeat_length, std::vector<AlignedHit>& hits);

}  // namespace sluice::base_alignment
