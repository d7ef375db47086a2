// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors: stretches that a read shares, letter by letter, with the template that it overlaps. CONSENT 2.2.2 has them as k-mers that several
// sequences of a window have in the same order; here each read is anchored to the template by itself, so that a read with an error in one anchor
// keeps the others.

#include <cstdint>
#include <vector>

#include "read_correction/template_kmers.hpp"

namespace sluice::read_correction {

struct Anchor {
  std::int32_t template_begin = 0, read_begin = 0, length = 0;
  std::int32_t template_end() const { return template_begin + length; }
  std::int32_t read_end() const { return read_begin + length; }
  bool operator==(const Anchor&) const = default;
};

// Where an overlap lies, as its mapping states it. The read is in the template's orientation.
struct OverlapPlace {
  std::int32_t template_begin = 0, template_end = 0;
  std::int32_t read_begin = 0, read_end = 0;
};

struct AnchorWorkspace {
  std::vector<std::uint64_t> candidates;  // a bit per k-mer of the read
  std::vector<std::int32_t> changes;      // where they begin and end
  // Per row of candidates, of its first one: where it may lie, and how many letters behind it are a match, too; -1: that has to be looked up.
  std::vector<std::int32_t> guessed_place, guessed_more;
  std::vector<Anchor> runs;
  std::vector<std::int32_t> score, highest_score, predecessor;  // per run; the highest one up to it
};

// The best chain of shared stretches near the line between the overlap's ends (100 bases and 6 % of its length to either side), up to `reach` bases
// beyond the ends on the template. Both coordinates ascend, anchors do not touch each other's letters and have at least 4 letters. Replaces
// `anchors`; none: no chain. A chain's score is its letters less 1 + d / 2 for each shift of d between diagonals; a shift above 30 + a third of the
// distance is not made.
void find_anchors(const TemplateKmers& kmers, const PackedBases& read, const OverlapPlace& place, std::int32_t reach, AnchorWorkspace& workspace,
                  std::vector<Anchor>& anchors);

}  // namespace sluice::read_correction
