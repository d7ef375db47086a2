// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From chains of anchors to the stretches of the squiggle reference in which a read is aligned.

#include <cstdint>
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

// Do the counts add up, has every chain an anchor, and does each lie on one of the strands?
bool chains_are_valid(const ChainsOfRead& chains, std::span<const std::int64_t> strand_begin);

// The stretches of the best chains, ascending; those that overlap are one. `read_columns`: of the read, on the scale of the anchors' places on it.
// `strand_begin`: first column of each strand, and the end of the last. Appends to `candidates`.
void find_candidates(const ChainsOfRead& chains, std::int32_t read_columns, std::span<const std::int64_t> strand_begin,
                     const CandidateParameters& parameters, std::vector<Candidate>& candidates);

}  // namespace sluice::signal_seeding
