// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Two sequences as bits of letter codes, in the forms that band_fill reads, of which any part in either direction can be had.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pair_alignment/band_fill.hpp"

namespace sluice::pair_alignment {

enum class Direction : std::uint8_t { forward, backward };

// [begin, end) of a sequence.
struct Span {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

class LetterPlanes {
 public:
  void set(std::string_view query, std::string_view target);
  // Rows, columns, planes and pointers for the two parts, both not empty; backward: from their ends. Valid until the next call.
  void describe(Span query, Span target, Direction direction, BandProblem& problem);

 private:
  // Of one direction and plane.
  struct Plane {
    std::vector<std::uint64_t> query_bits;
    // Of letters 2 m and 2 m + 1: forward from the last letter to the first, since column_masks counts downwards.
    std::array<std::vector<std::uint64_t>, 2> target_masks;
  };
  void make(Direction direction);

  std::array<std::array<Plane, max_planes>, 2> directions_;
  std::array<bool, 2> is_made_{};
  std::array<std::vector<std::uint64_t>, max_planes> part_;    // query bits from the part's beginning on
  std::vector<std::uint8_t> query_, target_, backward_query_;  // codes
  int planes_ = 2;
};

}  // namespace sluice::pair_alignment
