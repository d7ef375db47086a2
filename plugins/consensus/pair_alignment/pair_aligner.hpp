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

// Tests set lower ones, so that short pairs are treated as long ones are.
struct AlignerLimits {
  std::int64_t undivided_bytes = std::int64_t{1} << 20;  // edlib's, of which the result depends
  std::int64_t trace_bytes = std::int64_t{6} << 20;      // of trace_bytes(), of which it does not
};

// Of the alignments with the fewest edits it takes the one of edlib 1.2.7 (Sosic and Sikic, Bioinformatics 2017), which decides where racon cuts
// reads:
//  * A pair whose matrix is small (20 bytes per 64 rows and column, and 8 bytes a column, below 1 MiB) is walked back from its last cell. A base of
//    the query against a gap is preferred, then a base of the target against a gap, then the diagonal.
//  * A larger one is divided at half of the target, rounded down (Hirschberg), at the smallest row that an optimal path passes in that column, not
//    counting 0 and the last one unless there is no other (then 0 first). Both parts are treated by the same two rules.
//
// Both are read from one trace of the whole pair. No optimal path is above the uppermost one, which is found by walking back with the other
// preference, diagonal before target: paths cannot cross without sharing a cell. So all divisions lie on it, and it joins the last cell of each part
// with the part's origin. A part is then walked back within the trace of the whole, where a cell's predecessors are those on shortest paths from the
// part's origin and perhaps others, which are only on shortest paths from the pair's. If the walk comes to the part's origin, all its cells are on
// shortest paths from there, and as it took the first of more predecessors, it is the walk of the part alone. If it misses the origin, it did so
// behind the last cell where it touched the uppermost path, and what lies between the origin and that cell is aligned by itself.
//
// Memory is about 100 bytes a base, and up to 10 MiB for the trace: pairs that would need more are divided first. Not thread-safe: one object a
// thread.
class PairAligner {
 public:
  explicit PairAligner(AlignerLimits limits = {}) : limits_(limits) {}
  // What pairs of so many bases keep, about.
  static std::uint64_t memory_bytes(double bases);
  // Replaces `cigar` by M (equal or not), I (of the query) and D operations in BAM encoding; returns the number of edits. Any bytes are letters.
  std::int64_t align(std::string_view query, std::string_view target, std::vector<std::uint32_t>& cigar);

 private:
  // Whether the trace of a whole pair may be used: not while one is in use.
  enum class Trace : std::uint8_t { whole, parts };
  struct Cell {
    std::int64_t row = 0, column = 0;
  };

  bool is_small(std::int64_t rows, std::int64_t columns) const;
  void solve(Span query, Span target, std::int64_t limit, Trace trace);
  void divide(Span query, Span target, std::int64_t limit, Trace trace);
  // The number of edits, if it is within the limit, otherwise of some path.
  std::int64_t fill(Span query, Span target, std::int64_t limit, BandTrace& trace);
  void align_small(Span query, Span target, std::int64_t limit);

  void align_by_trace(Span query, Span target, std::int64_t limit);
  void find_uppermost_path(Cell end);
  void solve_part(Cell begin, Cell end);
  void walk_part(Cell begin, Cell end);

  void append(std::uint32_t operation, std::int64_t length);
  void append_backward(const std::vector<std::uint32_t>& backward);

  AlignerLimits limits_;
  LetterPlanes planes_;
  BandProblem problem_;
  BandWorkspace workspace_;
  BandTrace whole_, part_;
  LastColumn left_, right_;
  Cell origin_;                          // of the pair of whole_, in query and target
  std::vector<std::int32_t> uppermost_;  // of each column the smallest row of a shortest path; one more for the column behind the last
  std::vector<std::uint32_t> backward_, part_backward_;  // operations of a part, last one first
  std::vector<std::uint32_t>* cigar_ = nullptr;
  std::int64_t edits_ = 0;
  double edit_rate_ = 0.1;  // of the pairs before: a guess of how wide the band must be, which has no influence on the result
};

}  // namespace sluice::pair_alignment
