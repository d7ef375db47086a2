// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "pair_alignment/pair_aligner.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "pair_alignment/trace_walk.hpp"

namespace sluice::pair_alignment {
namespace {

constexpr std::uint32_t match = 0, insertion = 1, deletion = 2;  // SAM's codes

// Puts runs of equal steps together.
class Runs {
 public:
  explicit Runs(std::vector<std::uint32_t>& operations) : operations_(operations) { operations_.clear(); }
  void add(std::uint32_t operation) {
    if (operation != operation_) end(), operation_ = operation;
    ++length_;
  }
  void end() {
    if (length_ > 0) operations_.push_back(length_ << 4U | operation_);
    length_ = 0;
  }

 private:
  std::vector<std::uint32_t>& operations_;
  std::uint32_t operation_ = match, length_ = 0;  // parts that are walked back are shorter than 2^28
};

// A limit that turned out too small is doubled, unless a path is known that is better than that.
std::int64_t raised(std::int64_t limit, std::int64_t known_path) { return std::min(known_path, 2 * limit + 64); }

}  // namespace

std::uint64_t PairAligner::memory_bytes(double bases) {
  // 2.6 MB of trace for 8 kb with 14 % errors. What trace_bytes() says is exceeded where errors sit at the end of a pair.
  const double trace = std::min(bases * bases / 24, 1.6 * static_cast<double>(AlignerLimits().trace_bytes));
  return static_cast<std::uint64_t>(100 * bases + trace) + (std::uint64_t{1} << 20);
}

bool PairAligner::is_small(std::int64_t rows, std::int64_t columns) const {
  const std::int64_t blocks = (rows + 63) / 64;
  return columns == 1 || 20 * blocks * columns + 8 * columns < limits_.undivided_bytes;
}

void PairAligner::append(std::uint32_t operation, std::int64_t length) {
  constexpr std::int64_t longest = (std::int64_t{1} << 28) - 1;
  while (length > 0) {
    const bool joins = !cigar_->empty() && (cigar_->back() & 15U) == operation && cigar_->back() >> 4U < longest;
    const std::int64_t room = joins ? longest - (cigar_->back() >> 4U) : longest;
    const std::int64_t part = std::min(length, room);
    if (joins)
      cigar_->back() += static_cast<std::uint32_t>(part) << 4U;
    else
      cigar_->push_back(static_cast<std::uint32_t>(part) << 4U | operation);
    length -= part;
  }
}

void PairAligner::append_backward(const std::vector<std::uint32_t>& backward) {
  if (backward.empty()) return;
  append(backward.back() & 15U, backward.back() >> 4U);
  cigar_->insert(cigar_->end(), backward.rbegin() + 1, backward.rend());
}

std::int64_t PairAligner::align(std::string_view query, std::string_view target, std::vector<std::uint32_t>& cigar) {
  cigar.clear();
  cigar_ = &cigar;
  edits_ = 0;
  const auto rows = static_cast<std::int64_t>(query.size()), columns = static_cast<std::int64_t>(target.size());
  if (rows > 0 && columns > 0) planes_.set(query, target);
  const std::int64_t longer = std::max(rows, columns);
  const auto guess = static_cast<std::int64_t>(1.15 * edit_rate_ * static_cast<double>(longer)) + 16;
  solve({0, rows}, {0, columns}, std::min(longer, std::max(guess, std::abs(rows - columns))), Trace::whole);
  if (longer >= 1000) edit_rate_ = static_cast<double>(edits_) / static_cast<double>(longer);
  return edits_;
}

// limit: a guess of the number of edits, at least |rows - columns|.
void PairAligner::solve(Span query, Span target, std::int64_t limit, Trace trace) {
  if (query.size() == 0 || target.size() == 0) {
    append(insertion, query.size());
    append(deletion, target.size());
    edits_ += query.size() + target.size();
  } else if (is_small(query.size(), target.size())) {
    align_small(query, target, limit);
  } else if (trace == Trace::whole && trace_bytes(query.size(), target.size(), limit) <= limits_.trace_bytes) {
    align_by_trace(query, target, limit);
  } else {
    divide(query, target, limit, trace);
  }
}

std::int64_t PairAligner::fill(Span query, Span target, std::int64_t limit, BandTrace& trace) {
  planes_.describe(query, target, Direction::forward, problem_);
  problem_.all_columns = target.size();
  problem_.limit = limit;
  return fill_with_trace(problem_, workspace_, trace);
}

void PairAligner::align_small(Span query, Span target, std::int64_t limit) {
  std::int64_t distance = fill(query, target, limit, part_);
  while (distance > limit) {
    limit = raised(limit, distance);
    distance = fill(query, target, limit, part_);
  }
  edits_ += distance;
  std::int64_t row = query.size(), column = target.size();
  Runs runs(part_backward_);
  walk_trace<Prefer::target_gap>(
      part_, row, column, 0, 0, [&] { runs.add(insertion); }, [&] { runs.add(deletion); }, [&] { runs.add(match); });
  runs.end();
  append(insertion, row);
  append(deletion, column);
  append_backward(part_backward_);
}

void PairAligner::align_by_trace(Span query, Span target, std::int64_t limit) {
  const std::int64_t distance = fill(query, target, limit, whole_);
  if (distance > limit) return solve(query, target, raised(limit, distance), Trace::whole);
  edits_ += distance;
  origin_ = {query.begin, target.begin};
  const Cell end{query.size(), target.size()};
  find_uppermost_path(end);
  solve_part({0, 0}, end);
}

void PairAligner::find_uppermost_path(Cell end) {
  uppermost_.resize(static_cast<std::size_t>(end.column) + 2);
  uppermost_[static_cast<std::size_t>(end.column) + 1] = static_cast<std::int32_t>(end.row) + 1;
  std::int64_t row = end.row, column = end.column;
  const auto leaves_column = [&] { uppermost_[static_cast<std::size_t>(column)] = static_cast<std::int32_t>(row); };
  walk_trace<Prefer::diagonal>(
      whole_, row, column, 0, 0, [] {}, leaves_column, leaves_column);
  std::fill(uppermost_.begin(), uppermost_.begin() + column + 1, 0);
}

// The part of the uppermost path's pair between two of its cells.
void PairAligner::solve_part(Cell begin, Cell end) {
  const std::int64_t rows = end.row - begin.row, columns = end.column - begin.column;
  if (rows == 0 || columns == 0) {
    append(insertion, rows);
    append(deletion, columns);
    return;
  }
  if (is_small(rows, columns)) return walk_part(begin, end);
  const std::int64_t half = begin.column + columns / 2;
  const Cell middle{uppermost_[static_cast<std::size_t>(half)], half};
  if (middle.row == begin.row) {
    // Row 0, which counts only if there is no other: paths that begin with a gap of half of the target.
    const std::int64_t edits = edits_;
    divide({origin_.row + begin.row, origin_.row + end.row}, {origin_.column + begin.column, origin_.column + end.column}, std::max(rows, columns),
           Trace::parts);
    edits_ = edits;
    return;
  }
  solve_part(begin, middle);
  solve_part(middle, end);
}

void PairAligner::walk_part(Cell begin, Cell end) {
  std::int64_t row = end.row, column = end.column;
  Runs runs(backward_);
  const auto on_query = [&] { runs.add(insertion); };
  walk_trace<Prefer::target_gap>(
      whole_, row, column, begin.row, begin.column, on_query, [&] { runs.add(deletion); }, [&] { runs.add(match); });
  bool misses = false;
  if (row > begin.row && column > 0) {
    // In the part's first column: up to its origin, if there is no other way that is shorter.
    const auto misses_origin = [&] { misses = true; };
    const std::int64_t entered = row;
    walk_trace<Prefer::target_gap>(
        whole_, row, column, begin.row, column - 1, [] {}, misses_origin, misses_origin);
    row = entered;
    column = begin.column;
  }
  runs.end();
  if (!misses) {
    append(insertion, row - begin.row);
    append(deletion, column - begin.column);
    append_backward(backward_);
    return;
  }
  // Back to where the walk left the uppermost path.
  const auto is_uppermost = [&] {
    const auto index = static_cast<std::size_t>(column);
    return row == uppermost_[index] || row < uppermost_[index + 1];
  };
  while (!is_uppermost()) {
    std::uint32_t& last = backward_.back();
    const std::uint32_t operation = last & 15U;
    if (operation != deletion) ++row;
    if (operation != insertion) ++column;
    last -= 16;
    if (last >> 4U == 0) backward_.pop_back();
  }
  const Span query{origin_.row + begin.row, origin_.row + row}, target{origin_.column + begin.column, origin_.column + column};
  if (query.size() == 0 || target.size() == 0) {
    append(insertion, query.size());
    append(deletion, target.size());
  } else {
    const std::int64_t edits = edits_, longer = std::max(query.size(), target.size());
    align_small(query, target, std::min(longer, std::abs(query.size() - target.size()) + longer / 4 + 64));
    edits_ = edits;
  }
  append_backward(backward_);
}

void PairAligner::divide(Span query, Span target, std::int64_t limit, Trace trace) {
  const std::int64_t rows = query.size(), columns = target.size();
  const std::int64_t half = columns / 2;
  const Span left_target{target.begin, target.begin + half}, right_target{target.begin + half, target.end};
  std::int64_t best = 0, best_row = 0, left_edits = 0, right_edits = 0;
  while (true) {
    problem_.all_columns = columns;
    problem_.limit = limit;
    planes_.describe(query, left_target, Direction::forward, problem_);
    fill_last_column(problem_, workspace_, left_);
    planes_.describe(query, right_target, Direction::backward, problem_);
    fill_last_column(problem_, workspace_, right_);
    // Rows of the left part, 0 to rows, of which both sides are known.
    const auto left_rows = static_cast<std::int64_t>(left_.distance.size()), right_rows = static_cast<std::int64_t>(right_.distance.size());
    const std::int64_t first = std::max(left_.first_row, rows - (right_.first_row + right_rows - 1));
    const std::int64_t last = std::min(left_.first_row + left_rows - 1, rows - right_.first_row);
    best = std::numeric_limits<std::int64_t>::max();
    const auto edits = [&](std::int64_t row) {
      left_edits = left_.distance[static_cast<std::size_t>(row - left_.first_row)];
      right_edits = right_.distance[static_cast<std::size_t>(rows - row - right_.first_row)];
      return left_edits + right_edits;
    };
    for (std::int64_t row = std::max<std::int64_t>(first, 1); row <= std::min(last, rows - 1); ++row)
      if (edits(row) < best) best = edits(row), best_row = row;
    if (first == 0 && last >= 0 && edits(0) < best) best = edits(0), best_row = 0;
    if (last == rows && first <= rows && edits(rows) < best) best = edits(rows), best_row = rows;
    if (best <= limit) {
      edits(best_row);
      break;
    }
    limit = raised(limit, best);
  }
  const std::int64_t on_the_right = right_edits;
  solve({query.begin, query.begin + best_row}, left_target, left_edits, trace);
  solve({query.begin + best_row, query.end}, right_target, on_the_right, trace);
}

}  // namespace sluice::pair_alignment
