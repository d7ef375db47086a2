// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Global alignment of two sequences with the fewest edits.

#include <cstdint>
#include <string_view>
#include <vector>

#include "pair_alignment/band_fill.hpp"
#include "pair_alignment/letter_planes.hpp"

namespace sluice::pair_alignment {

// Of the alignments with the fewest edits it takes the one of edlib 1.2.7 (Sosic and Sikic, Bioinformatics 2017), which decides where racon cuts
// reads:
//  * A pair whose matrix is small (20 bytes per 64 rows and column, and 8 bytes a column, below 1 MiB) is walked back from its last cell. A base of
//  the
//    query against a gap is preferred, then a base of the target against a gap, then the diagonal.
//  * A larger one is divided at half of the target, rounded down (Hirschberg), at the smallest row that an optimal path passes in that column, not
//    counting 0 and the last one unless there is no other (then 0 first). Both parts are treated by the same two rules.
// Memory is about 100 bytes a base, and a few MiB. Not thread-safe: one object a thread.
class PairAligner {
 public:
  // Replaces `cigar` by M (equal or not), I (of the query) and D operations in BAM encoding; returns the number of edits. Any bytes are letters.
  std::int64_t align(std::string_view query, std::string_view target, std::vector<std::uint32_t>& cigar);

 private:
  void solve(Span query, Span target, std::int64_t limit);
  std::int64_t walk_back(Span query, Span target, std::int64_t limit);
  void divide(Span query, Span target, std::int64_t limit);
  void append(std::uint32_t operation, std::int64_t length);

  LetterPlanes planes_;
  BandProblem problem_;
  BandWorkspace workspace_;
  BandTrace trace_;
  LastColumn left_, right_;
  std::vector<std::uint32_t> backward_;  // operations of a small pair, last one first
  std::vector<std::uint32_t>* cigar_ = nullptr;
  std::int64_t edits_ = 0;
  double edit_rate_ = 0.1;  // of the pairs before: a guess of how wide the band must be, which has no influence on the result
};

}  // namespace sluice::pair_alignment
