// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The reads of a batch in rounds: whatever can be aligned of all of them is aligned in one call, then each goes on with what came of it.

#include <vector>

#include "base_alignment/cuda/job.hpp"
#include "base_alignment/read_aligner.hpp"

namespace sluice::base_alignment {

// A piece of a hit among all problems of a round.
struct RoundPiece {
  std::int64_t problem = -1;  // of the round; -1: left to the CPU
  Cuts cuts;                  // across introns: what its target is without
};
// The pieces of one hit in one way (see ways_of).
struct RoundWay {
  Sites sites = Sites::none;
  std::vector<RoundPiece> pieces;
};
struct RoundHit {
  std::size_t hit = 0;  // of its read
  HitPlan plan;
  std::vector<std::uint8_t> reversed;  // codes of the left end
  std::vector<RoundWay> ways;
  std::vector<Problem> problems;                     // of this hit
  std::vector<std::vector<cuda::SiteWord>> targets;  // of each problem, across introns
};
struct RoundRead {
  ReadState state;
  std::vector<RoundHit> round;
};

// Plans the read's hits that are not aligned, and says what is to be aligned of them.
void plan_round(const AlignmentSettings& settings, ReadAligner& aligner, RoundRead& read);
// All problems of a round, one behind the other.
std::vector<Problem> problems_of(std::span<RoundRead> reads);
// The same across introns.
std::vector<cuda::SplicedProblem> spliced_problems_of(std::span<RoundRead> reads);
// Aligns the hits that were planned; false: no part of them is left for another round. unproven: raised by the pieces whose answers are of no use, as
// the middles that their targets are without may matter.
bool take_round(ReadAligner& aligner, const cuda::Answers& answers, RoundRead& read, std::size_t& unproven);

}  // namespace sluice::base_alignment
