// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/agreement.hpp"

#include <algorithm>

namespace sluice::read_correction {
namespace {

constexpr std::size_t at_once = 16;
// A vote is below 128: so many sums stay below 2^16.
constexpr std::size_t most_voters = 512;

// Loops of a fixed number of steps, which compilers turn into vectors.
void add(const std::uint8_t* __restrict votes, std::uint16_t* __restrict sums) {
  for (std::size_t i = 0; i < at_once; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + votes[i]);
}

}  // namespace

void Agreement::reset(std::size_t bases) {
  bases_ = bases;
  const std::size_t room = bases / at_once * at_once + at_once;
  of_bases_.resize(padding + room);
  of_gaps_.resize(padding + room);
  base_sums_.resize(room);
  gap_sums_.resize(room);
  clear();
}

void Agreement::clear() {
  std::ranges::fill(base_sums_, std::uint16_t{0});
  std::ranges::fill(gap_sums_, std::uint16_t{0});
  voters_ = 0;
}

bool Agreement::end_voter() {
  for (std::size_t base = 0; base < base_sums_.size(); base += at_once) {
    add(of_bases_.data() + padding + base, base_sums_.data() + base);
    add(of_gaps_.data() + padding + base, gap_sums_.data() + base);
  }
  return ++voters_ == most_voters;
}

}  // namespace sluice::read_correction
