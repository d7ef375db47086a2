// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What every form of the methylation HMM shares: the recurrence, the log-sum table, and the check of a problem. Transitions and emissions are those
// of sluice/event_hmm.hpp.
//
// Three states per k-mer: M (match: the event belongs to the k-mer), B (bad event: emits with log-probability 0), K (k-mer skipped: silent).
// With N k-mers and T events, rows t = 1..T (event t - 1), columns j = 1..N (k-mer j - 1); row 0 and column 0 are all -inf:
//   M[t,j] = emission + LSE(M[t-1,j] + match_stay, M[t-1,j-1] + match_next, B[t-1,j] + bad_match, B[t-1,j-1] + bad_match,
//                           K[t-1,j-1] + skip_match, j == 1 ? clipping[t-1] : -inf)
//   B[t,j] = LSE(M[t-1,j] + match_bad, B[t-1,j] + bad_stay)
//   K[t,j] = LSE(M[t,j-1] + match_skip, B[t,j-1] + bad_skip, K[t,j-1] + skip_stay)
//   end    = LSE(end, M[t,N] + clipping[T-t], B[t,N] + clipping[T-t], K[t,N] + clipping[T-t]), for every row
// Terms are folded from left to right, all in single precision. Terms of f5c that are always -inf are left out: LSE(x, -inf) = x exactly.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {

using event_hmm::is_usable, event_hmm::make_read_transitions, event_hmm::make_transitions, event_hmm::ScaledLevel;
using event_hmm::kLogBad, event_hmm::kLogBadOut, event_hmm::kLogSkip, event_hmm::kLogSkipOut, event_hmm::kLogSkipSelf, event_hmm::kMinusInfinity;

// LSE(a, b) = hi + table[int((hi - lo) * 1000)], the index truncated; hi when lo is -inf or hi - lo >= 15.7.
// In single precision int(d * 1000) >= 15700 exactly when d >= 15.7 (tests/unit/methylation/methylation_hmm proves it over all d), so both rules are
// one clamp of the index to the last entry, which is 0. The sum hi + 0 differs from hi only for -0, which no sum of log-probabilities < 0 gives.
inline constexpr float kLogSumScale = 1000.0F;
inline constexpr std::int32_t kLogSumLast = 15700;

// float(ln(1 + exp(-i / 1000))) for i < 15700, then 0. 64-byte aligned; 62.8 kB, so it lives in L2 with its often used beginning in L1.
const float* log_sum_table();

// Log-probability of leaving out the first (or last) d events: clipping[d], extended to `count` entries. Entries are kept: they do not depend on
// anything. ln(0.5) for none; else ln(0.5) - 3 + ln(1 - 0.9) + (d - 1)(ln(0.9) - 3), each entry rounded to single.
void extend_clipping(std::vector<float>& clipping, std::size_t count);

// The letters of the sequence on the strand of the read under both hypotheses, as ranks of the methylation model, in forward reference order.
// `sites`: of the motif on that strand. Arrays of at least sequence.size() - k + 1 entries. The sequence is at least k long.
void hypothesis_ranks(std::string_view sequence, std::uint32_t k, Strand strand, const MotifSites& sites, std::uint32_t* unmethylated,
                      std::uint32_t* methylated);

inline ScaledLevel scale_level(const KmerModelView& model, std::uint32_t rank, const ReadSignal& read) {
  return event_hmm::scale_level(model, rank, {read.scale, read.shift, read.var, read.log_var});
}

// Bounds, lengths, event means: everything but the transitions and the scaled levels.
ScoreStatus check_problem(std::span<const ReadSignal> reads, const GroupProblem& problem, std::uint32_t k);

// k within 1 .. 12, alphabet `methylation`, all three arrays of 5^k entries.
bool is_usable(const KmerModelView& model);

// Rows of the HMM of a checked problem.
inline std::int64_t event_count(const GroupProblem& problem) {
  const std::int64_t distance = static_cast<std::int64_t>(problem.last_event) - problem.first_event;
  return (distance < 0 ? -distance : distance) + 1;
}

}  // namespace sluice::methylation_hmm
