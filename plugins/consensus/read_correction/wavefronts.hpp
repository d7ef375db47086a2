// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs of sequences with few differences: per number of differences and diagonal, the furthest cell that so many reach (Ukkonen,
// Information and Control 1985; Myers, Algorithmica 1986), which is at most d * d cells for d differences. Numbers along a diagonal never fall, so
// the table also says where the path leaves each diagonal, and the way back takes a step for each difference.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "read_correction/path_runs.hpp"
#include "read_correction/wavefront_lines.hpp"

namespace sluice::read_correction {

class Wavefronts {
 public:
  // Letters are bytes below 0xFE. Neither pattern nor text need stay alive. Memory is kept from one call to the next.
  void set_pattern(std::string_view pattern);

  // False: pattern and text have more than max_distance differences.
  bool align(std::string_view text, std::int32_t max_distance);
  // The same without a copy: `padding` letters text_end follow the text.
  static constexpr std::size_t padding = WavefrontMatrix::letters_at_once;
  static constexpr char text_end = '\xFE';
  bool align_padded(std::string_view text, std::int32_t max_distance);
  // Of the last align() that was true: its differences, and its path from the first letters to the last.
  std::int32_t distance() const { return distance_; }
  void path(std::vector<PathRun>& runs) const;
  // The same path from the end on, as steps.equal(row, column, letters) and steps.difference(row, column, step): where each begins. There may be
  // stretches without letters.
  template <class Steps>
  void walk_back(Steps&& steps) const;

  // The prefix of the text with the fewest differences from the whole pattern. False: all have more than max_distance.
  bool find_best_prefix(std::string_view text, std::int32_t max_distance, BestPrefix& best);

  std::size_t bytes() const { return reached_.capacity() * sizeof(reached_[0]); }

 private:
  void set_text(std::string_view text);
  template <class IsEnd>
  bool grow(std::int32_t max_distance, IsEnd&& is_end);
  std::int32_t* front(std::int32_t differences);

  std::string pattern_, text_;  // each with an end that equals nothing
  std::int32_t rows_ = 0, columns_ = 0;
  std::int32_t distance_ = 0;
  std::vector<std::int32_t> reached_;  // front by front: columns
};

template <class Steps>
void Wavefronts::walk_back(Steps&& steps) const {
  std::int32_t row = rows_, column = columns_;
  const std::int32_t* front = reached_.data() + place_in_fronts(distance_, 0);
  for (std::int32_t d = distance_; d > 0 && row > 0 && column > 0; --d) {
    front -= front_distance(d);
    const std::int32_t diagonal = column - row;
    // The highest columns of this diagonal where the cell to the left, above, and before on the diagonal has one difference less.
    const std::int32_t left = front[diagonal - 1] + 1, above = front[diagonal + 1], before = front[diagonal] + 1;
    const std::int32_t at = std::min(column, std::max(std::max(left, above), before));
    row -= column - at;
    steps.equal(row, at, column - at);
    column = at;
    // Which step it is cannot be guessed.
    const bool from_left = left >= at, from_above = !from_left && above >= at;
    row -= from_left ? 0 : 1;
    column -= from_above ? 0 : 1;
    steps.difference(row, column, from_left ? PathStep::text_only : from_above ? PathStep::pattern_only : PathStep::mismatch);
  }
  const std::int32_t equal = std::min(row, column);
  row -= equal;
  column -= equal;
  steps.equal(row, column, equal);
  while (column > 0) steps.difference(row, --column, PathStep::text_only);
  while (row > 0) steps.difference(--row, column, PathStep::pattern_only);
}

}  // namespace sluice::read_correction
