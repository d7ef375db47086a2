// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a CUDA device computes in which order, and on which words: the host's part of cuda.hpp, without CUDA. Private to the plugin.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sdtw/sdtw.hpp"

namespace sluice::sdtw::cuda {

// Most rows of a lane, and of a warp. Cells of a lane may exceed the ceiling by the query levels of its rows and by their costs.
inline constexpr std::int32_t most_lane_rows = 70;
inline constexpr std::int32_t most_rows = 32 * most_lane_rows;
inline constexpr std::uint32_t ceiling = 65535 - 2 * most_lane_rows * 2 * squiggle_limit;

// The packed reference: one 32-bit word for two columns, of two segments that end together: both strands of a target, or two of the strands of
// several targets that are about as long. Halves are levels moved to 0 .. 2 squiggle_limit.
//
// Ahead of the shorter segment the level of its first column is repeated. A cell of such a column is that of the first one, since a path that comes
// from it has paid what a path that stays on the first column pays: so all cells behind are those of the segment alone, and a path that ends there
// ends at the first column.
struct PackedPair {
  std::int64_t first_word = 0;  // even
  std::int64_t columns = 0;     // words
  // Of the reference, for each half: the column of the first word, less than least_column where levels are repeated.
  std::int64_t first_column[2] = {0, 0};
  std::int64_t least_column[2] = {-1, -1};  // the segment's first column; -1: the half means nothing
};
// Where a segment lies.
struct PackedSegment {
  std::int64_t first_word = 0;
  int half = 0;
};
struct PackedReference {
  std::vector<std::uint32_t> words;
  std::vector<PackedPair> pairs;        // longest first
  std::vector<PackedSegment> segments;  // by their index in the reference
};
// Segments have less than 2^31 columns.
PackedReference pack(const Reference& reference);

// One query, or the next levels of one.
struct Job {
  std::int64_t query = 0;  // first level, in an array on the device
  std::int64_t levels = 0;
  std::int32_t result = 0;
  // Two arrays of state_words words on the device; null when nothing is kept and levels fit most_rows. The row before lies in the first one.
  std::uint32_t* state[2] = {nullptr, nullptr};
  bool resumes = false;  // there is a row before
  bool keeps = false;    // the last row is kept: in state[state_after(levels)]
};
inline std::int64_t state_words(const PackedReference& reference) { return static_cast<std::int64_t>(reference.words.size()); }
// Which of a job's states has the last row.
inline int state_after(std::int64_t levels) { return static_cast<int>((levels + most_rows - 1) / most_rows % 2); }

// Rows of one query.
struct QueryRows {
  std::int64_t query = 0;                   // first level of the query
  const std::uint32_t* state_in = nullptr;  // the row before, one word a packed word; null: these are the query's first rows
  std::uint32_t* state_out = nullptr;       // where the last row is kept; null: it is not
  std::int32_t rows = 0;                    // 1 to most_rows
  std::int32_t result = 0;                  // -1: these are not the query's last rows
};
// Columns of the reference.
struct TargetStretch {
  std::int64_t word = 0;  // first one of the packed levels
  std::int32_t columns = 0;
  std::int32_t early_columns = 0;           // at the beginning, even: computed for what comes behind them, but not kept
  std::int64_t first_column[2] = {0, 0};    // as of PackedPair
  std::int64_t least_column[2] = {-1, -1};  // as of PackedPair
};
// The column of the reference where a path ends that has been found in a half of a stretch.
constexpr std::int64_t found_column(const TargetStretch& stretch, int half, std::int32_t column) {
  const std::int64_t found = stretch.first_column[half] + column;
  return found < stretch.least_column[half] ? stretch.least_column[half] : found;
}

// The least of several results is the best, by the rule for ties. no_result: nothing has been found.
inline constexpr int column_bits = 47;
inline constexpr std::uint64_t no_result = ~std::uint64_t{0};
inline Hit hit_of(std::uint64_t result) {
  return {static_cast<std::int64_t>(result >> column_bits), static_cast<std::int64_t>(result & ((std::uint64_t{1} << column_bits) - 1))};
}

// Rows of a lane for which there is a kernel.
inline constexpr std::int32_t kernel_rows[] = {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 66, 68, 70};

// How queries are spread over a warp: each has `group` lanes, a power of 2, with `lane_rows` rows each or a few less.
struct Shape {
  std::int32_t group = 0;
  std::int32_t lane_rows = 0;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};
// The narrowest group of at least `group` lanes, of 4 to 32, that can hold the rows.
inline constexpr std::int32_t least_group = 4;
Shape shape_of(std::int64_t rows, std::int32_t group = least_group);

enum class Rows : std::uint8_t {
  whole,     // no query has a state
  stateful,  // queries may have one
  paired,    // no query has a state, and each has a stretch of its own
  anchored,  // likewise, and a path begins at the first column of the stretch, with its first row, and nowhere else
};

// Every one of the queries with every one of the stretches; of paired and anchored rows each query with its own.
inline constexpr bool has_own_stretches(Rows rows) { return rows == Rows::paired || rows == Rows::anchored; }
struct Launch {
  Rows rows;
  Shape shape;
  std::int64_t first_query, query_count;
  std::int64_t first_stretch, stretch_count;
  std::int64_t items() const { return has_own_stretches(rows) ? query_count : query_count * stretch_count; }
};
// A launch begins when the one before has ended.
struct Schedule {
  std::vector<QueryRows> queries;
  std::vector<TargetStretch> stretches;
  std::vector<Launch> launches;
};
// `resident_warps`: how many the device runs at a time; decides into how many stretches a target is cut.
Schedule schedule_jobs(const PackedReference& reference, std::span<const Job> jobs, std::int64_t resident_warps);

// A stretch of columns of one strand that some query is to be searched for in. Its levels lie in an array of all stretches', one behind the other; as
// words, in both halves, they get places with room behind them that the kernels may read.
struct OwnStretch {
  std::int64_t first_level = 0;   // of the array
  std::int64_t columns = 0;       // less than 2^31
  std::int64_t first_column = 0;  // of the reference
  std::int64_t word = 0;          // set by place_stretches, as is the next
  std::int64_t words = 0;         // with the room behind it
  std::int32_t job = 0;
};
// Returns how many words all of them take.
std::int64_t place_stretches(std::span<OwnStretch> stretches);
// The search for each stretch's job in it. Jobs have 1 to most_rows levels, and no states.
Schedule schedule_stretches(std::span<const OwnStretch> stretches, std::span<const Job> jobs, std::int64_t resident_warps);

// Path starts. The query has at most most_rows levels, the hit is the best of all of it.
struct PathJob {
  const std::int16_t* query = nullptr;  // on the device
  std::int64_t levels = 0;
  Hit hit;
  std::int32_t result = 0;
};
// A path from its end backwards: levels to be reversed, by one block each.
struct PathCopy {
  const std::int16_t* query = nullptr;
  std::int64_t levels = 0;     // of the query
  std::int64_t last_word = 0;  // of the packed reference, where the path ends
  std::int64_t columns = 0;
  std::int32_t half = 0;
  std::int64_t to_query = 0, to_words = 0;
};
struct PathSchedule {
  Schedule schedule;
  std::vector<PathCopy> copies;
  std::int64_t query_levels = 0, words = 0;  // sizes of the arrays that the copies fill
};
// Result i is a hit whose column is the number of columns from the path's first column to its last one. `resident_warps`: as above; decides how many
// lanes a path gets.
PathSchedule schedule_paths(const PackedReference& reference, const Reference& columns, std::span<const PathJob> jobs, std::int64_t resident_warps);
// Where a job's path ends, and how many columns it may have at most.
struct PathEnd {
  std::int64_t word = 0, columns = 0;
  std::int32_t half = 0;
};
PathSchedule schedule_paths(std::span<const PathJob> jobs, std::span<const PathEnd> ends, std::int64_t resident_warps);

}  // namespace sluice::sdtw::cuda
