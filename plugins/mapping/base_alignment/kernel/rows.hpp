// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The matrix row by row, and what is kept of it. Target base i and query base j meet on row i + j, an anti-diagonal; a cell is its i. A row is
// computed in blocks of 16 cells, also where they lie outside the band: neighbours inside it read them, so that they are part of the result
// (minimap2's kernels do the same; Suzuki and Kasahara 2018 for the differences, Li 2018 for two pieces).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/kept_buffer.hpp>
#include <span>
#include <vector>

#include "base_alignment/kernel/problem.hpp"

namespace sluice::base_alignment {

inline constexpr std::int32_t block_cells = 16;

// The cells of a row: those in the band, and those of the blocks that it touches.
struct RowCells {
  std::int32_t band_begin = 0, band_last = 0;
  std::int32_t begin = 0, last = 0;
  constexpr bool empty() const { return band_begin > band_last; }
};
constexpr RowCells cells_of_row(std::int32_t row, std::int32_t query_length, std::int32_t target_length, std::int32_t band) {
  const std::int64_t r = row, w = band;
  RowCells cells;
  cells.band_begin = static_cast<std::int32_t>(std::max<std::int64_t>(std::max<std::int64_t>(0, r - query_length + 1), (r - w + 1) >> 1));
  cells.band_last = static_cast<std::int32_t>(std::min<std::int64_t>(std::min<std::int64_t>(target_length - 1, r), (r + w) >> 1));
  cells.begin = cells.band_begin / block_cells * block_cells;
  cells.last = cells.band_last / block_cells * block_cells + block_cells - 1;
  return cells;
}

// How a cell was reached, in one byte: the state in bits 0 to 2, and whether each gap goes on behind the cell from bit 3 on.
enum Step : std::uint8_t { step_match = 0, step_deletion = 1, step_insertion = 2, step_long_deletion = 3, step_long_insertion = 4 };
inline constexpr std::uint8_t step_mask = 7;
constexpr std::uint8_t goes_on(std::uint8_t gap_step) { return static_cast<std::uint8_t>(4U << gap_step); }

// Reusable memory of an alignment.
class MatrixRows {
 public:
  // Vectors may be read and written this far behind the last cell, and read before the first.
  static constexpr std::size_t slack = 256;

  void start(const Problem& problem, const Scores& scores);
  // The same for who keeps differences and scores elsewhere.
  void start_sequences(const Problem& problem);
  // Room for the steps of the next row. They are written from its first cell on, in whole vectors.
  std::uint8_t* next_steps(const RowCells& cells) {
    rows_.push_back({steps_.size(), cells.begin, cells.last});
    return steps_.append(static_cast<std::size_t>(cells.last - cells.begin + 1), slack);
  }
  // Room for `bytes` steps of rows that the caller locates itself.
  std::uint8_t* all_steps(std::size_t bytes) { return steps_.start(bytes, slack); }
  // Gives memory back that only few reads need; behind all problems of one.
  void give_back();
  // Appends the path that ends at (target, query), in the order of `ties`.
  void trace(std::int32_t target, std::int32_t query, TieOrder ties, std::vector<std::uint32_t>& cigar) const;

  // Differences of scores between neighbours, per target base; see A.21.1 of the specification for their names.
  std::int8_t *u = nullptr, *v = nullptr, *x = nullptr, *y = nullptr, *x2 = nullptr, *y2 = nullptr, *substitution = nullptr;
  std::span<std::int32_t> score;             // of the last row's cells within the band; goals with a best cell only
  const std::uint8_t* target = nullptr;      // codes, and 0 before and behind them
  const std::uint8_t* query_back = nullptr;  // the query from its last base to its first, 0 before and behind it

 private:
  struct Row {
    std::size_t steps;
    std::int32_t begin, last;
  };
  std::vector<std::int8_t> differences_;
  std::vector<std::int32_t> score_;
  std::vector<std::uint8_t> target_, query_back_;
  std::vector<Row> rows_;
  KeptBuffer<std::uint8_t> steps_;
};

// The operations of a path from its last cell back to its first.
class BackwardPath {
 public:
  explicit BackwardPath(std::vector<std::uint32_t>& cigar) : cigar_(cigar), first_(cigar.size()) {}
  void add(std::uint32_t operation, std::uint32_t bases) {
    if (operation == operation_) {
      bases_ += bases;
      return;
    }
    end_run();
    operation_ = operation;
    bases_ = bases;
  }
  // `reversed`: into the order of the sequences.
  void finish(bool reversed) {
    end_run();
    if (reversed) std::reverse(cigar_.begin() + static_cast<std::ptrdiff_t>(first_), cigar_.end());
  }

 private:
  void end_run() {
    if (bases_ > 0) cigar_.push_back(bases_ << 4 | operation_);
  }
  std::vector<std::uint32_t>& cigar_;
  std::size_t first_;
  std::uint32_t operation_ = 0, bases_ = 0;
};

// Appends the path that ends at (target, query). step_at(target, query): how that cell was reached.
template <class StepAt>
void trace_path(std::int32_t target, std::int32_t query, TieOrder ties, std::vector<std::uint32_t>& cigar, const StepAt& step_at) {
  constexpr std::uint32_t match = 0, insertion = 1, deletion = 2;
  BackwardPath path(cigar);
  std::uint8_t state = step_match;
  while (target >= 0 && query >= 0) {
    step_at(target, query, state);
    if (state == step_match) {
      path.add(match, 1);
      --target;
      --query;
    } else if (state == step_deletion || state == step_long_deletion) {
      path.add(deletion, 1);
      --target;
    } else {
      path.add(insertion, 1);
      --query;
    }
  }
  if (target >= 0) path.add(deletion, static_cast<std::uint32_t>(target) + 1);
  if (query >= 0) path.add(insertion, static_cast<std::uint32_t>(query) + 1);
  path.finish(ties == TieOrder::gap_right);
}
// The state before a cell that was reached by `step`, coming from the state behind it.
constexpr void follow(std::uint8_t step, std::uint8_t& state) {
  if (state == step_match || (step & goes_on(state)) == 0) state = step & step_mask;
}

}  // namespace sluice::base_alignment
