// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/rows.hpp"

#include <cstring>

namespace sluice::base_alignment {
namespace {

constexpr std::uint32_t match = 0, insertion = 1, deletion = 2;

void add(std::vector<std::uint32_t>& cigar, std::size_t from, std::uint32_t operation, std::uint32_t bases) {
  if (cigar.size() > from && (cigar.back() & 15U) == operation)
    cigar.back() += bases << 4;
  else
    cigar.push_back(bases << 4 | operation);
}

}  // namespace

void MatrixRows::start(const Problem& problem, const Scores& scores) {
  const auto target_length = static_cast<std::size_t>(problem.target_length), query_length = static_cast<std::size_t>(problem.query_length);
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
  target_.assign(width + slack, 0);
  std::memcpy(target_.data(), problem.target, target_length);
  target = target_.data();
  query_back_.assign(query_length + 2 * slack, 0);
  for (std::size_t i = 0; i < query_length; ++i) query_back_[slack + i] = problem.query[query_length - 1 - i];
  query_back = query_back_.data() + slack;
  rows_.clear();
  steps_used_ = 0;
}

void MatrixRows::grow_steps(std::size_t bytes) {
  step_room_ = std::max(bytes, step_room_ + step_room_ / 2);
  auto more = std::make_unique_for_overwrite<std::uint8_t[]>(step_room_);
  if (steps_used_ > 0) std::memcpy(more.get(), steps_.get(), steps_used_);
  steps_ = std::move(more);
}

void MatrixRows::trace(std::int32_t i, std::int32_t j, TieOrder ties, std::vector<std::uint32_t>& cigar) const {
  const std::size_t from = cigar.size();
  std::uint8_t state = step_match;
  while (i >= 0 && j >= 0) {
    const Row& row = rows_[static_cast<std::size_t>(i) + static_cast<std::size_t>(j)];
    if (i < row.begin) {
      state = step_insertion;
    } else if (i > row.last) {
      state = step_deletion;
    } else {
      const std::uint8_t step = steps_[row.steps + static_cast<std::size_t>(i - row.begin)];
      if (state == step_match || (step & goes_on(state)) == 0) state = step & step_mask;
    }
    if (state == step_match) {
      add(cigar, from, match, 1);
      --i;
      --j;
    } else if (state == step_deletion || state == step_long_deletion) {
      add(cigar, from, deletion, 1);
      --i;
    } else {
      add(cigar, from, insertion, 1);
      --j;
    }
  }
  if (i >= 0) add(cigar, from, deletion, static_cast<std::uint32_t>(i) + 1);
  if (j >= 0) add(cigar, from, insertion, static_cast<std::uint32_t>(j) + 1);
  if (ties == TieOrder::gap_right) std::reverse(cigar.begin() + static_cast<std::ptrdiff_t>(from), cigar.end());
}

}  // namespace sluice::base_alignment
