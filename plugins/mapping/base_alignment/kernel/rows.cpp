// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/rows.hpp"

#include <cstring>

namespace sluice::base_alignment {
namespace {
constexpr std::size_t kept_steps = std::size_t{64} << 20;
constexpr std::size_t most_steps_at_once = std::size_t{256} << 20;

// At most so many steps: all rows, each as wide as the band or the shorter sequence, in whole blocks.
std::size_t steps_of(const Problem& problem) {
  const std::int32_t shorter = std::min(problem.target_length, problem.query_length);
  const std::int32_t width = problem.band < 0 ? shorter : std::min(shorter, problem.band + 1);
  return (static_cast<std::size_t>(problem.target_length) + static_cast<std::size_t>(problem.query_length)) *
         (static_cast<std::size_t>(width) + 2 * static_cast<std::size_t>(block_cells));
}
}  // namespace

void MatrixRows::start_sequences(const Problem& problem) {
  const auto target_length = static_cast<std::size_t>(problem.target_length), query_length = static_cast<std::size_t>(problem.query_length);
  const auto prepare = [](std::vector<std::uint8_t>& codes, std::size_t length) {
    if (codes.size() < length + 2 * slack) codes.resize(length + 2 * slack);
    std::memset(codes.data(), 0, slack);
    std::memset(codes.data() + slack + length, 0, slack);
    return codes.data() + slack;
  };
  std::uint8_t* const forward = prepare(target_, target_length);
  std::memcpy(forward, problem.target, target_length);
  target = forward;
  std::uint8_t* const back = prepare(query_back_, query_length);
  std::reverse_copy(problem.query, problem.query + query_length, back);
  query_back = back;
}

void MatrixRows::start(const Problem& problem, const Scores& scores) {
  const auto target_length = static_cast<std::size_t>(problem.target_length);
  const std::size_t width = (target_length + block_cells - 1) / block_cells * block_cells;
  const std::size_t stride = width + 2 * slack;
  differences_.resize(7 * stride);
  std::int8_t* at = differences_.data() + slack;
  for (std::int8_t** array : {&u, &v, &x, &y, &x2, &y2, &substitution}) {
    *array = at;
    at += stride;
  }
  const auto closed = static_cast<std::int8_t>(-(scores.gap_open + scores.gap_extend));
  const auto closed_long = static_cast<std::int8_t>(-(scores.gap_open_long + scores.gap_extend_long));
  for (std::int8_t* array : {u, v, x, y}) std::memset(array, closed, width + slack);
  for (std::int8_t* array : {x2, y2}) std::memset(array, closed_long, width + slack);
  std::memset(substitution, 0, width + slack);
  if (problem.goal != Goal::ends) {
    score_.assign(width + slack, Alignment::unreached);
    score = score_;
  }
  start_sequences(problem);
  rows_.clear();
  steps_.clear();
  // Growing would copy them, and touch three times the memory. What is not written to is never there.
  steps_.reserve(std::min(steps_of(problem), most_steps_at_once) + slack);
}

void MatrixRows::give_back() { steps_.give_back_beyond(kept_steps); }

void MatrixRows::trace(std::int32_t from_target, std::int32_t from_query, TieOrder ties, std::vector<std::uint32_t>& cigar) const {
  trace_path(from_target, from_query, ties, cigar, [&](std::int32_t i, std::int32_t j, std::uint8_t& state) {
    const Row& row = rows_[static_cast<std::size_t>(i) + static_cast<std::size_t>(j)];
    if (i < row.begin)
      state = step_insertion;
    else if (i > row.last)
      state = step_deletion;
    else
      follow(steps_[row.steps + static_cast<std::size_t>(i - row.begin)], state);
  });
}

}  // namespace sluice::base_alignment
