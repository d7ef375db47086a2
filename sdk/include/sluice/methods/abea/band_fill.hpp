// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Fills the bands of one read and keeps one trace per cell. Private to the plugin; align_events is the public function.
//
// Layout. A cell (event e, k-mer k) lives in lane k mod `lanes` of band e + k + 2, whichever way the band moved. With lanes fixed to k-mers, the
// neighbour above is the same lane one band ago, the left one is the lane before it one band ago, the diagonal one the lane before it two bands
// ago: every shift is by exactly one lane and the loop over cells has no branch on the direction of the band.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sluice/methods/abea/abea.hpp>
#include <sluice/methods/abea/transitions.hpp>
#include <span>

namespace sluice::abea {

// One value per k-mer of the read, in read order.
struct LevelColumns {
  const float* mean;          // scale * level_mean + shift, pA
  const float* stdv;          // pA
  const float* inverse_stdv;  // 1 / stdv, correctly rounded
  const float* peak;          // log_normal_constant - ln(stdv): the log-likelihood of an event that equals the mean
};

// Ranges over the whole read; they decide which arithmetic is exact.
struct LevelRanges {
  float lowest_mean, highest_mean;
  float lowest_stdv, highest_stdv;
  float lowest_peak, highest_peak;
};

inline constexpr std::size_t bytes_per_band_trace = 32;  // lane bits: 16 bytes "came from above", 16 bytes "came from the left"

struct BandFillInput {
  std::span<const float> event_means;
  std::int32_t kmer_count;
  LevelColumns levels;
  LevelRanges ranges;
  Transitions log_probability;
  std::span<const std::uint64_t> guide;  // AlignmentInput's
  bool events_are_moderate;              // every event mean is finite and below 2^20 pA in size
  std::byte* traces;                     // bytes_per_band_trace for each of events + k-mers + 2 bands; aligned to 32
};

struct BandFillResult {
  std::int32_t end_event;  // the event of the best cell of the last k-mer, or -1
  std::int32_t lanes;      // the lane of a cell is its k-mer modulo this
  BandCounts bands;
};

// Nothing on a machine without vector instructions: align_events_scalar is as fast there.
std::optional<BandFillResult> fill_bands(const BandFillInput& input);

}  // namespace sluice::abea
