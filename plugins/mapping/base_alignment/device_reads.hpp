// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The reads of a batch in rounds: whatever can be aligned of all of them is aligned in one call, then each goes on with what came of it.

#include <vector>

#include "base_alignment/cuda/job.hpp"
#include "base_alignment/read_aligner.hpp"

namespace sluice::base_alignment {

// The pieces of one hit in one way (see ways_of).
struct RoundWay {
  Sites sites = Sites::none;
  std::vector<std::int64_t> problem_of;  // by piece: of the round; -1: left to the CPU
};
struct RoundHit {
  std::size_t hit = 0;  // of its read
  HitPlan plan;
  std::vector<std::uint8_t> reversed;  // codes of the left end
  std::vector<RoundWay> ways;
  std::vector<Problem> problems;  // of this hit
  // Across introns, of each problem: what a device gets of the target, and of its cuts.
  std::vector<std::vector<cuda::SiteWord>> targets;
  std::vector<std::vector<std::int32_t>> of_cuts;
  std::vector<Cuts> cuts;  // by piece
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
// what was cut out of their targets may matter.
bool take_round(ReadAligner& aligner, const cuda::Answers& answers, RoundRead& read, std::size_t& unproven);

}  // namespace sluice::base_alignment
