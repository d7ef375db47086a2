// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Subsequence dynamic time warping: where in a reference of expected levels a query of measured levels fits best. All of the query is used, any
// stretch of the reference. Levels are integers within +-squiggle_limit (sluice/squiggle_reference.hpp), so that every score is an exact sum.
//
//   D[i][j] = cost(q[i], r[j]) + min(D[i-1][j], D[i-1][j-1])      and D[i][j-1], if reference deletions are allowed
//   D[-1][j] = 0;   score = min over j of D[n-1][j]
//
// Without reference deletions (Sadasivan et al. 2023, DTWax) a path never skips a query level and moves by at most one column a row, so that n rows
// span at most n columns. Contigs and strands are segments of their own: no path runs from one into the next.
//
// Ties. Of equal scores: the lowest target, forward before reverse, the column that passes the pore first; of the paths that end there: the one that
// is shortest on the reference.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/squiggle_reference.hpp>
#include <span>
#include <vector>

namespace sluice::sdtw {

enum class Cost : std::uint8_t { manhattan, squared };
enum class ReferenceDeletions : std::uint8_t { forbidden, allowed };
enum class Strand : std::uint8_t { forward, reverse };

struct Method {
  Cost cost = Cost::manhattan;
  ReferenceDeletions deletions = ReferenceDeletions::forbidden;
};

constexpr std::int64_t largest_cost(Cost cost) {
  constexpr std::int64_t distance = 2 * squiggle_limit;
  return cost == Cost::manhattan ? distance : distance * distance;
}
// Longest query, in levels: its scores fit 31 bits. 17 million levels (Manhattan), 135,000 (squared).
constexpr std::int64_t longest_query(Cost cost) { return std::numeric_limits<std::int32_t>::max() / largest_cost(cost); }

// Columns of one strand of one contig, in the order in which they pass the pore.
struct Segment {
  std::int32_t target = 0;
  Strand strand = Strand::forward;
  std::int64_t begin = 0;  // first column among all
  std::int64_t size = 0;   // columns, at least 1
};

// All targets and strands, one after the other. Levels are copied.
class Reference {
 public:
  explicit Reference(FirstEnd first_end = FirstEnd::five_prime) : first_end_(first_end) {}
  // Targets count from 0; a strand without levels has no segment. Throws Failure for a level outside +-squiggle_limit.
  void add_target(std::span<const std::int16_t> forward_level, std::span<const std::int16_t> reverse_level);
  // The same without levels: the columns have places, but can't be searched. Not beside add_target.
  void add_target_sizes(std::size_t forward_columns, std::size_t reverse_columns);

  std::span<const std::int16_t> levels() const { return levels_; }
  std::span<const Segment> segments() const { return segments_; }
  std::int64_t columns() const { return segments_.empty() ? 0 : segments_.back().begin + segments_.back().size; }
  // Which end of the strands passes the pore first: places are on forward strands all the same.
  FirstEnd first_end() const { return first_end_; }
  // The segment that has the column.
  const Segment& segment_of(std::int64_t column) const;

 private:
  void add_segment(Strand strand, std::size_t columns);
  void add_levels(std::span<const std::int16_t> level);
  std::vector<std::int16_t> levels_;
  std::vector<Segment> segments_;
  std::int32_t targets_ = 0;
  FirstEnd first_end_;
};

// The end of the best path. Without a query or a reference: score 0, column -1.
struct Hit {
  std::int64_t score = 0;
  std::int64_t column = -1;
  friend bool operator==(const Hit&, const Hit&) = default;
};

// Where the best path lies on the forward strand of its contig: k-mer positions, end exclusive. -1: there is none.
struct Place {
  std::int32_t target = -1;
  Strand strand = Strand::forward;
  std::int64_t start = -1;
  std::int64_t end = -1;
  friend bool operator==(const Place&, const Place&) = default;
};

// The place of a path from `first_column` to `last_column`, both inclusive and of one segment; last_column -1: no place.
Place place_of(const Reference& reference, std::int64_t first_column, std::int64_t last_column);

// Are all levels within +-squiggle_limit? Everything below takes such queries only, of at most longest_query levels.
bool levels_are_valid(std::span<const std::int16_t> levels);

// The definition, cell by cell, with the first column of each cell's best path carried along. The implementation of reference deletions, and what
// all others are compared with.
class ScalarRows {
 public:
  ScalarRows(const Reference& reference, Method method);
  // Forgets the query.
  void restart() { empty_ = true; }
  // Further levels of the same query.
  void advance(std::span<const std::int16_t> query);
  Hit best() const;
  // First column of the best path that ends at `column`.
  std::int64_t first_column(std::int64_t column) const;

 private:
  const Reference* reference_;
  Method method_;
  bool empty_ = true;
  std::vector<std::int64_t> score_;  // per column: D of the row before
  std::vector<std::int64_t> first_;  // per column: where the path begins
};

}  // namespace sluice::sdtw
