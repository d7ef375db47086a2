// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Two sequences as bits of letter codes, in the forms that fill_band reads, of which any part in either direction can be had.

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
  // Per direction and plane.
  std::array<std::array<std::vector<std::uint64_t>, max_planes>, 2> query_bits_, target_masks_;
  std::array<std::vector<std::uint64_t>, max_planes> part_;  // query bits from the part's beginning on
  std::int64_t query_length_ = 0, target_length_ = 0;
  int planes_ = 2;
};

}  // namespace sluice::pair_alignment
