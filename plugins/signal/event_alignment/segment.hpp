// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What every form of the segment's Viterbi shares.
//
// With N k-mers and T events, rows t = 1..T (event t - 1), columns j = 1..N (k-mer j - 1); row 0 and column 0 are all -inf:
//   M[t,j] = emission + max(M[t-1,j] + match_stay, M[t-1,j-1] + match_next, B[t-1,j] + bad_match, B[t-1,j-1] + bad_match,
//                           K[t-1,j-1] + skip_match, t == 1 and j == 1 ? ln(0.5) : -inf)
//   B[t,j] = max(M[t-1,j] + match_bad, B[t-1,j] + bad_stay)
//   K[t,j] = max(M[t,j-1] + match_skip, B[t,j-1] + bad_skip, K[t,j-1] + skip_stay)
// all in single precision. The path comes from the last of these terms that equals the maximum, or from nowhere when the maximum is -inf or that of
// the first cell.

#include "event_alignment/event_alignment.hpp"

namespace sluice::event_alignment {

inline constexpr std::size_t kMaximumColumns = kSegmentReach + 1;
inline constexpr float kLogStart = event_hmm::log_of(0.5F);

// Ranks of the segment's k-mers in the nucleotide model, in the order of the forward strand.
void segment_ranks(const Segment& segment, std::uint32_t k, std::span<std::uint32_t, kMaximumColumns> ranks);

inline std::size_t column_count(const Segment& segment, std::uint32_t k) { return segment.sequence.size() - k + 1; }

}  // namespace sluice::event_alignment
