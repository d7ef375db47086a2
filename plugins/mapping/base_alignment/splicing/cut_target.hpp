// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A target that is much longer than the part of a read that is aligned to it from end to end has one intron in nearly all cases, and what is in the
// middle of it is of no use. So the middle is left out first, and then it is proven that no path through it is as good. A way of our own: the path is
// that of the whole target, or there is none.
//
// A path of the whole target goes over the middle in one intron, and then it is one of the short target with the same score; or it is at the score of
// a cell of the middle. From there to either end of the target more bases have to be left out than a deletion that is cheaper than an intron has, so
// it pays for two introns at least. A path that scores more than a read without differences would with two introns is better than all of these;
// wherever the short target's recurrences chose between such a path and another one, those of the whole would choose the same.

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

// From the alignment to the short target to that to the whole one. False: it is not proven, and `made` is of no use.
bool put_back(const Scores& scores, std::int32_t query_length, Cut cut, Alignment& made);

}  // namespace sluice::base_alignment
