// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs of sequences with few differences: per number of differences and diagonal, the furthest cell that so many reach (Ukkonen,
// Information and Control 1985; Myers, Algorithmica 1986), which is at most d * d cells for d differences. Numbers along a diagonal never fall, so
// the table also says where the path leaves each diagonal, and the way back takes a step for each difference.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "read_correction/path_runs.hpp"

namespace sluice::read_correction {

class Wavefronts {
 public:
  // Letters are bytes below 0xFE. Neither pattern nor text need stay alive. Memory is kept from one call to the next.
  void set_pattern(std::string_view pattern);

  // False: pattern and text have more than max_distance differences.
  bool align(std::string_view text, std::int32_t max_distance);
  // Of the last align() that was true: its differences, and its path from the first letters to the last.
  std::int32_t distance() const { return distance_; }
  void path(std::vector<PathRun>& runs) const;

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

}  // namespace sluice::read_correction
