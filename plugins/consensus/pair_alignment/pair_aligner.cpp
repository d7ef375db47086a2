// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "pair_alignment/pair_aligner.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace sluice::pair_alignment {
namespace {

constexpr std::uint32_t match = 0, insertion = 1, deletion = 2;  // SAM's codes

bool is_small(std::int64_t rows, std::int64_t columns) {
  const std::int64_t blocks = (rows + 63) / 64;
  return columns == 1 || 20 * blocks * columns + 8 * columns < std::int64_t{1} << 20;
}

// Paths with at most `limit` edits (at least |rows - columns|) do not leave these diagonals: leaving costs a gap on the way out and one back.
void set_band(std::int64_t rows, std::int64_t columns, std::int64_t limit, BandProblem& problem) {
  const std::int64_t difference = rows - columns;
  problem.highest_diagonal = (limit + difference) / 2;
  problem.lowest_diagonal = -((limit - difference) / 2);
}

// A limit that turned out too small is doubled, unless a path is known that is better than that.
std::int64_t raised(std::int64_t limit, std::int64_t known_path) { return std::min(known_path, 2 * limit + 64); }

}  // namespace

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

std::int64_t PairAligner::align(std::string_view query, std::string_view target, std::vector<std::uint32_t>& cigar) {
  cigar.clear();
  cigar_ = &cigar;
  edits_ = 0;
  const auto rows = static_cast<std::int64_t>(query.size()), columns = static_cast<std::int64_t>(target.size());
  if (rows > 0 && columns > 0) planes_.set(query, target);
  const std::int64_t longer = std::max(rows, columns);
  const auto guess = static_cast<std::int64_t>(1.15 * edit_rate_ * static_cast<double>(longer)) + 16;
  solve({0, rows}, {0, columns}, std::min(longer, std::max(guess, std::abs(rows - columns))));
  if (longer >= 1000) edit_rate_ = static_cast<double>(edits_) / static_cast<double>(longer);
  return edits_;
}

// limit: a guess of the number of edits, at least |rows - columns|.
void PairAligner::solve(Span query, Span target, std::int64_t limit) {
  if (query.size() == 0 || target.size() == 0) {
    append(insertion, query.size());
    append(deletion, target.size());
    edits_ += query.size() + target.size();
  } else if (is_small(query.size(), target.size())) {
    edits_ += walk_back(query, target, limit);
  } else {
    divide(query, target, limit);
  }
}

std::int64_t PairAligner::walk_back(Span query, Span target, std::int64_t limit) {
  planes_.describe(query, target, Direction::forward, problem_);
  std::int64_t distance = 0;
  while (true) {
    set_band(query.size(), target.size(), limit, problem_);
    fill_band(problem_, workspace_, left_, &trace_);
    distance = left_.distance.back();
    if (distance <= limit) break;
    limit = raised(limit, distance);
  }
  backward_.clear();
  const auto step = [this](std::uint32_t operation) {
    if (!backward_.empty() && (backward_.back() & 15U) == operation)
      backward_.back() += 16;
    else
      backward_.push_back(16U | operation);
  };
  const std::int64_t strip_rows = std::int64_t{64} * trace_.lanes;
  const auto lanes = static_cast<std::size_t>(trace_.lanes);
  std::int64_t row = query.size(), column = target.size();
  while (row > 0 && column > 0) {
    const BandStrip& strip = trace_.strips[static_cast<std::size_t>((row - 1) / strip_rows)];
    const std::int64_t in_strip = (row - 1) % strip_rows;
    const std::uint64_t* words = trace_.words.data() + strip.offset + static_cast<std::size_t>(in_strip / 64);
    const auto at = static_cast<std::size_t>(column - strip.first_column + in_strip / 64) * 2 * lanes;
    const std::uint64_t bit = std::uint64_t{1} << (in_strip % 64);
    if ((words[at] & bit) != 0) {
      step(insertion);
      --row;
    } else if ((words[at + lanes] & bit) != 0) {
      step(deletion);
      --column;
    } else {
      step(match);
      --row;
      --column;
    }
  }
  append(insertion, row);
  append(deletion, column);
  for (auto operation = backward_.rbegin(); operation != backward_.rend(); ++operation) append(*operation & 15U, *operation >> 4U);
  return distance;
}

void PairAligner::divide(Span query, Span target, std::int64_t limit) {
  const std::int64_t rows = query.size(), columns = target.size();
  const std::int64_t half = columns / 2;
  const Span left_target{target.begin, target.begin + half}, right_target{target.begin + half, target.end};
  std::int64_t best = 0, best_row = 0, left_edits = 0, right_edits = 0;
  while (true) {
    planes_.describe(query, left_target, Direction::forward, problem_);
    set_band(rows, columns, limit, problem_);
    fill_band(problem_, workspace_, left_, nullptr);
    planes_.describe(query, right_target, Direction::backward, problem_);
    set_band(rows, columns, limit, problem_);
    fill_band(problem_, workspace_, right_, nullptr);
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
    if (first == 0 && edits(0) < best) best = edits(0), best_row = 0;
    if (last == rows && edits(rows) < best) best = edits(rows), best_row = rows;
    edits(best_row);
    if (best <= limit) break;
    limit = raised(limit, best);
  }
  const std::int64_t on_the_right = right_edits;
  solve({query.begin, query.begin + best_row}, left_target, left_edits);
  solve({query.begin + best_row, query.end}, right_target, on_the_right);
}

}  // namespace sluice::pair_alignment
