// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What votes are worth, for the CPU and for devices.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {

// Of a letter with this Phred score + 33; 1 to 94.
constexpr std::uint8_t vote_of(char quality) {
  return static_cast<std::uint8_t>(std::max<std::int8_t>(static_cast<std::int8_t>(quality), '"') - '!');
}
inline constexpr std::uint32_t highest_vote = 94;

// Of a gap at the very end of a sequence, where there is a neighbour on one side only: about the mean of a nanopore read.
inline constexpr std::uint8_t votes_without_neighbour = 10;

// Of A, C, G and T, for the one with the second most.
template <class Ballot>
constexpr auto second_votes(const Ballot& votes) {
  auto most = votes[0], second = votes[0] - votes[0];
  for (std::size_t code = 1; code < ambiguous_code; ++code) {
    second = std::max(second, std::min(most, votes[code]));
    most = std::max(most, votes[code]);
  }
  return second;
}

}  // namespace sluice::read_correction
