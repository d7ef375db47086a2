// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From chains of anchors to the stretches of the squiggle reference in which a read is aligned.

#include <cstdint>
#include <sluice/host_device.hpp>
#include <span>
#include <vector>

namespace sluice::signal_seeding {

struct CandidateParameters {
  std::int32_t most_chains = 16;
  // What lies before and behind a chain may be so much longer on the reference than on the read, and by `margin` columns more.
  double stretch = 0.3;
  std::int32_t margin = 60;
};

struct ChainsOfRead {
  std::span<const std::int32_t> score, anchor_count;
  std::span<const std::uint64_t> anchor_x, anchor_y;
};

// Columns among all of the squiggle reference, end exclusive, within one strand.
struct Candidate {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Of the ends of a chain, the stretch around it. `first`, `last`: its anchors; strands' columns from strand_begin to strand_end.
struct ChainEnds {
  std::uint64_t first_x = 0, first_y = 0, last_x = 0, last_y = 0;
};
SLUICE_HOST_DEVICE constexpr std::int64_t columns_beyond(std::int64_t columns, const CandidateParameters& parameters) {
  return static_cast<std::int64_t>(static_cast<double>(columns) * (1 + parameters.stretch)) + parameters.margin;
}
SLUICE_HOST_DEVICE constexpr Candidate candidate_around(const ChainEnds& chain, std::int32_t read_columns, std::int64_t strand_begin,
                                                        std::int64_t strand_end, const CandidateParameters& parameters) {
  constexpr std::uint64_t column = 0xFFFFFFFFU;  // the lower half of a word
  const std::int64_t before = static_cast<std::int64_t>(chain.first_y & column);
  const std::int64_t behind = read_columns - static_cast<std::int64_t>(chain.last_y & column);
  const std::int64_t begin = strand_begin + static_cast<std::int64_t>(chain.first_x & column) - columns_beyond(before, parameters);
  const std::int64_t end = strand_begin + static_cast<std::int64_t>(chain.last_x & column) + columns_beyond(behind > 0 ? behind : 0, parameters);
  return {begin > strand_begin ? begin : strand_begin, end < strand_end ? end : strand_end};
}
// Two candidates in the order of their begins that are one. Two strands touch where one ends and the next begins: no candidate joins them.
SLUICE_HOST_DEVICE constexpr bool are_one(const Candidate& before, const Candidate& next) { return next.begin < before.end; }

// Do the counts add up, has every chain an anchor, and does each lie on one of the strands?
bool chains_are_valid(const ChainsOfRead& chains, std::span<const std::int64_t> strand_begin);

// The stretches of the best chains, ascending; those that overlap are one. `read_columns`: of the read, on the scale of the anchors' places on it.
// `strand_begin`: first column of each strand, and the end of the last. Appends to `candidates`.
void find_candidates(const ChainsOfRead& chains, std::int32_t read_columns, std::span<const std::int64_t> strand_begin,
                     const CandidateParameters& parameters, std::vector<Candidate>& candidates);

}  // namespace sluice::signal_seeding
