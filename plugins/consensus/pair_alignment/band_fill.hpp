// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Edit distances in a band around the cheapest paths, 64 rows at a time by bits (Myers, J. ACM 1999, in Hyyro's form with carries between blocks),
// and several such blocks at a time by vectors.
//
// Rows are bases of the query (1 to rows), columns bases of the target (1 to columns), D(i, j) the distance of the prefixes. Rows are taken in strips
// of one vector of blocks; within a strip block b works two columns behind block b - 1, so that what leaves the bottom of a block enters the one
// below it two steps later (in the next step it would have to be waited for: the way there is longer than the rest of a step):
//
//     step      s    s+1  s+2
//     block 0   j    j+1  j+2        rows  64 each
//     block 1   j-2  j-1  j
//     block 2   j-4  j-3  j-2
//
// A strip spans the columns in which paths of at most `limit` edits pass its rows, going by the distances at the bottom of the strip above (Ukkonen's
// band is what is left of that where nothing is known of the distances). Cells outside are taken as if they were reached by gaps alone from the
// nearest cell inside, i.e. never too small, so that every path of at most `limit` edits has its exact cost.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <vector>

namespace sluice::pair_alignment {

constexpr int max_planes = 8;         // bits of a letter
constexpr std::size_t max_lanes = 8;  // 64-bit lanes of a vector; padding of what is loaded as vectors

struct BandProblem {
  std::int64_t rows = 0, columns = 0;  // both at least 1
  std::int64_t all_columns = 0;        // paths end in the last row of this column, which may lie behind `columns`
  std::int64_t limit = 0;              // of edits; at least |rows - all_columns|
  int planes = 2;
  // Bit i of word w: that bit of the code of row 64 w + i + 1. Readable up to a multiple of max_lanes words.
  std::array<const std::uint64_t*, max_planes> row_bits{};
  // Odd and even columns for themselves. [j % 2][-(j / 2)]: all ones if that bit of the code of column j is set, otherwise 0. Readable for j / 2 from
  // -max_lanes to columns / 2 + max_lanes.
  std::array<std::array<const std::uint64_t*, 2>, max_planes> column_masks{};
};

// Vectors of a trace, in pieces that stay where they are while more are needed, and are used again for the next trace.
class TraceMemory {
 public:
  void reuse() {
    for (KeptBuffer<std::uint64_t>& piece : pieces_) piece.clear();
    piece_ = 0;
  }
  // On a cache line.
  std::uint64_t* take(std::size_t words) {
    words = (words + line_words - 1) / line_words * line_words;
    if (piece_ < pieces_.size() && !pieces_[piece_].empty() && pieces_[piece_].size() + words > pieces_[piece_].room()) ++piece_;
    if (piece_ == pieces_.size()) pieces_.emplace_back();
    KeptBuffer<std::uint64_t>& piece = pieces_[piece_];
    if (piece.empty()) piece.start(0, std::max(words, least_words));
    return piece.append(words);
  }

 private:
  static constexpr std::size_t line_words = 8, least_words = std::size_t{1} << 16;  // half a MiB: some strips of 8 kb
  std::vector<KeptBuffer<std::uint64_t>> pieces_;
  std::size_t piece_ = 0;
};

// What is kept for walking back.
struct BandStrip {
  std::int64_t first_column = 0;
  // Step s of a strip: `lanes` words whose bits are 0 where the diagonal step into (i, j) is on a shortest path and the one from (i - 1, j) is not,
  // then `lanes` words whose bits are 0 where the step from (i, j - 1) is and the one from (i - 1, j) is not. Block b is in column first_column + s -
  // 2 b.
  const std::uint64_t* words = nullptr;
};
struct BandTrace {
  int lanes = 1;  // blocks of a strip
  std::vector<BandStrip> strips;
  TraceMemory memory;
};

// D(i, columns) for rows i from first_row on; the rows that paths of at most `limit` edits pass are among them.
struct LastColumn {
  std::int64_t first_row = 0;
  std::vector<std::int32_t> distance;
};

// Steps along the bottom of the strip above. The highest bits: D(i, j) is not D(i, j - 1) + 1; it is D(i, j - 1) - 1.
struct RowStep {
  std::uint64_t not_up = 0, down = 0;
};
struct BandWorkspace {
  std::vector<RowStep> row_steps;  // of columns
};

// D(rows, columns), if `columns` is all_columns; exact if that is within the limit, otherwise the cost of some path.
std::int64_t fill_with_trace(const BandProblem& problem, BandWorkspace& workspace, BandTrace& trace);
void fill_last_column(const BandProblem& problem, BandWorkspace& workspace, LastColumn& last);

// Bytes of a trace of such a problem, about.
std::int64_t trace_bytes(std::int64_t rows, std::int64_t columns, std::int64_t limit);

}  // namespace sluice::pair_alignment
