// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which overlaps of a pile are used: one of each read at each place, the longest ones, as many as cover each part of the template often enough.

#include <cstdint>
#include <vector>

namespace sluice::read_correction {

// An overlap of a read with the template; all coordinates on forward strands, ends exclusive.
struct PileOverlap {
  std::int64_t read = 0;  // row in the store of reads
  std::int32_t template_begin = 0, template_end = 0;
  std::int32_t read_begin = 0, read_end = 0;
  std::int32_t matches = 0;  // bases that are equal, 0: unknown
  bool is_reverse = false;
};

// Bases beside an overlap that both reads have although the overlap does not go on there: what two reads of one locus have little of, and two reads
// that share a repeat much.
std::int64_t overhang(const PileOverlap& overlap, std::int64_t template_length, std::int64_t read_length);

// Overlaps with more matches (then a longer span, then the earlier place and read) come first. One is dropped if a read's other overlap before it
// covers more than half of it on the template, so that no read votes twice; else it is kept if some stretch of 500 bases that it covers has fewer
// than max_depth overlaps so far. Those kept are left in the order of their places and reads, whatever order they came in. CONSENT keeps the 150 with
// most matches, which leaves parts of long templates uncovered.
void select_overlaps(std::int32_t template_length, std::int32_t max_depth, std::vector<PileOverlap>& overlaps);

}  // namespace sluice::read_correction
