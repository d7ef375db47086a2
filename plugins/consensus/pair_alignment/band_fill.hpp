// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Edit distances in a band around the diagonal, 64 rows at a time by bits (Myers, J. ACM 1999, in Hyyro's form with carries between blocks), and
// several such blocks at a time by vectors.
//
// Rows are bases of the query (1 to rows), columns bases of the target (1 to columns), D(i, j) the distance of the prefixes. The band holds the cells
// whose diagonal i - j lies in [lowest_diagonal, highest_diagonal]. Rows are taken in strips of one vector of blocks; within a strip block b works
// one column behind block b - 1, so that what leaves the bottom of a block enters the one below it in the next step:
//
//     step      s    s+1  s+2
//     block 0   j    j+1  j+2        rows  64 each
//     block 1   j-1  j    j+1
//     block 2   j-2  j-1  j
//
// A strip spans the columns in which one of its rows lies in the band. Cells outside are taken as if they were reached by gaps alone from the nearest
// cell inside, i.e. never too small, so that every path within the band has its exact cost.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::pair_alignment {

constexpr int max_planes = 8;         // bits of a letter
constexpr std::size_t max_lanes = 8;  // 64-bit lanes of a vector; padding of what is loaded as vectors

struct BandProblem {
  std::int64_t rows = 0, columns = 0;                      // both at least 1
  std::int64_t lowest_diagonal = 0, highest_diagonal = 0;  // lowest <= min(0, rows - columns), highest >= max(0, rows - columns)
  int planes = 2;
  // Bit i of word w: that bit of the code of row 64 w + i + 1. Readable up to a multiple of max_lanes words.
  std::array<const std::uint64_t*, max_planes> row_bits{};
  // [-j]: all ones if that bit of the code of column j is set, otherwise 0. Readable for j from 1 - max_lanes to columns + max_lanes.
  std::array<const std::uint64_t*, max_planes> column_masks{};
};

// What is kept of a strip, for walking back: vectors (one a step) of two words a block.
struct BandStrip {
  std::int64_t first_column = 0;
  std::size_t offset = 0;  // in BandTrace::words
};
struct BandTrace {
  int lanes = 1;  // blocks of a strip
  std::vector<BandStrip> strips;
  // Step s of a strip: `lanes` words whose bits say D(i, j) = D(i - 1, j) + 1, then `lanes` words whose bits say D(i, j) = D(i, j - 1) + 1, where
  // block b is in column first_column + s - b.
  std::vector<std::uint64_t> words;
};

// D(i, columns) for rows i from first_row on; the rows in the band are among them.
struct LastColumn {
  std::int64_t first_row = 0;
  std::vector<std::int32_t> distance;
};

struct BandWorkspace {
  std::vector<std::int64_t> row_steps;  // D(i, j) - D(i, j - 1) along the bottom of the strip above
  std::vector<std::uint64_t> ups, downs;
};

// Fills `last`, and `trace` if it is not nullptr.
void fill_band(const BandProblem& problem, BandWorkspace& workspace, LastColumn& last, BandTrace* trace);

}  // namespace sluice::pair_alignment
