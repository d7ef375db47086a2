// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Most of a long target to which a part of a read is aligned from end to end is intron, and what is in the middle of an intron is of no use. So
// stretches that have no k bases in a row that the read has, too, are cut out first, and then it is proven that no path through them is as good. A
// way of our own: the path is that of the whole target, or there is none.
//
// A path of the whole target goes over every cut in an intron, and then it is one of the short target with the same score; or it is at the score of a
// cell of a cut on its way. If all of the latter score less than the path that was found, that one is the whole target's: wherever the short target's
// recurrences chose between it and another path, those of the whole choose the same. What the latter may score is said
//
// - at once: to either end of the target more bases have to be left out than a deletion has that is cheaper than an intron, so that there are two
//   introns, and otherwise no loss at most; or
// - by the recurrences themselves, from the first cut on. In a cut a path has equal bases in rows of fewer than k, but for one base more for each
// word of
//   k bases that the read and the cut have in common; between two rows there is a loss. Of these words those count that lie so near to each other
//   that a path with deletions between them loses no more by these. What goes on behind the cut as an intron was opened there.

#include <cstdint>
#include <span>
#include <vector>

#include "base_alignment/kernel/spliced.hpp"
#include "base_alignment/splicing/splice_sites.hpp"

namespace sluice::base_alignment {

// A stretch of a target, [begin, end).
struct Cut {
  std::int32_t begin = 0, end = 0;
  std::vector<std::int32_t> losses;  // of a path in the cut at least, by bases of the read
  std::int32_t bases() const { return end - begin; }
};
struct Cuts {
  std::vector<Cut> of_target;  // from its beginning to its end
  bool any() const { return !of_target.empty(); }
  std::int32_t bases() const;
};
// Reusable memory.
struct CutScratch {
  std::vector<std::uint64_t> may_have;
  std::vector<std::uint32_t> words;
  std::vector<Cut> kept;
  std::vector<SplicedEdge> edges;
  std::vector<std::int32_t> best, score, intron, hits;
};

// What is to be cut out; nothing where that is of no use. Sites must cost nothing or more, which known ones may not.
void find_cuts(const Scores& scores, const Problem& problem, CutScratch& scratch, Cuts& cuts);

struct ShortTarget {
  std::vector<std::uint8_t> codes;
  SiteScores sites;
};
// piece: of the whole target. What sites cost is what they cost there.
void cut_out(const SiteCosts& costs, const SitePiece& piece, std::span<const Cut> cuts, ShortTarget& target);
// What is asked for of the alignment to the short target: what leaves the columns before the cuts.
void want_edges(const Cuts& cuts, CutScratch& scratch);

// From a path of the short target to that of the whole one. False: it does not go over all cuts in introns.
bool put_back(std::span<const Cut> cuts, std::vector<std::uint32_t>& cigar);
// No path of the whole target through a cut scores more than these; if a path of the short target that goes over all cuts scores more, it is the
// whole target's, and else the whole target's scores no more than the higher of both. whole: of the whole target.
std::int32_t highest_with_two_introns(const Scores& scores, const Problem& whole);
// scratch.edges: of the alignment to the short target.
std::int32_t highest_through_cuts(const Scores& scores, const Problem& whole, const Cuts& cuts, const ShortTarget& target, SplicedRows& rows,
                                  CutScratch& scratch);

}  // namespace sluice::base_alignment
