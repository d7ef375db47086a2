// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A target that is much longer than the part of a read that is aligned to it from end to end has one intron in nearly all cases, and what is in the
// middle of it is of no use. So the middle is left out first, and then it is proven that no path through it is as good. A way of our own: the path is
// that of the whole target, or there is none.
//
// A path of the whole target goes over the middle in one intron, and then it is one of the short target with the same score; or it is at the score of
// a cell of the middle on its way. If all of the latter score less than the path that was found, that one is the whole target's: wherever the short
// target's recurrences chose between it and another path, those of the whole choose the same. What the latter may score is said
//
// - at once: to either end of the target more bases have to be left out than a deletion has that is cheaper than an intron, so that there are two
//   introns, and otherwise no loss at most; or
// - by what leaves the part before the middle, what enters the part behind it, and what the read's bases between may gain in the middle: where it has
// no
//   k bases in a row that the read has, too, one in k columns is a loss.

#include <cstdint>
#include <vector>

#include "base_alignment/kernel/spliced.hpp"
#include "base_alignment/splicing/splice_sites.hpp"

namespace sluice::base_alignment {

// The middle of a target, [begin, end).
struct Cut {
  std::int32_t begin = 0, end = 0;
  std::int32_t bases() const { return end - begin; }
};
// What is to be left out; nothing where that is of no use, or not known to be right. Sites must cost nothing or more, which known ones may not.
Cut cut_of(const Scores& scores, const Problem& problem);

struct ShortTarget {
  std::vector<std::uint8_t> codes;
  SiteScores sites;
};
// piece: of the whole target. What sites cost is what they cost there.
void leave_out(const SiteCosts& costs, const SitePiece& piece, Cut cut, ShortTarget& target);

// Reusable memory.
struct CutProof {
  SplicedEdge before, behind;
  ShortTarget reversed;
  std::vector<std::uint8_t> query;
  std::vector<std::int16_t> leaving, entering;
  std::vector<std::int32_t> best_of_length;
  std::vector<std::uint64_t> may_have;
  std::vector<std::uint32_t> words;
};
// Is it proven that `score`, of a path of the short target over the middle, is more than that of any path through the middle? whole: of the whole
// target. proof.before may hold what leaves the column before the cut; else it is found here.
bool is_proven(const Scores& scores, const Problem& whole, Cut cut, const ShortTarget& target, std::int32_t score, SplicedRows& rows,
               CutProof& proof);

// From a path of the short target to that of the whole one. False: it does not go over the middle in an intron.
bool put_back(Cut cut, std::vector<std::uint32_t>& cigar);

}  // namespace sluice::base_alignment
