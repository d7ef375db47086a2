// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The work of one lane of a warp on one segment, for the device and for tests on the host. As in segment_path.cpp the lanes stand one row apart: at
// step s lane l is at row s - l. A lane has kColumns adjacent k-mers, whose cells of one row it computes from left to right; what is right of them
// gets the last one's scores at the next step.

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>

#include "event_alignment/segment.hpp"

namespace sluice::event_alignment::cuda {

inline constexpr int kLanes = 32;

// What a k-mer passes on to its right neighbour.
struct Passing {
  float match = event_hmm::kMinusInfinity;
  float bad_out = event_hmm::kMinusInfinity;  // to match or skip, the transition included
  float skip = event_hmm::kMinusInfinity;
};

struct LaneLevel {
  float mean = 0.0F;
  float twice_stdv = 2.0F;
  float reciprocal = 0.5F;  // of twice_stdv
  float constant = -1.0F;
};

__host__ __device__ inline LaneLevel lane_level(const event_hmm::ScaledLevel& level) {
  return {level.mean, 2.0F * level.stdv, 1.0F / (2.0F * level.stdv), level.constant};
}

// Quotients by a corrected product with the reciprocal are those of a division, but for differences that a constant of this size hides.
__host__ __device__ inline bool may_use_reciprocal(const LaneLevel& level) { return fabsf(level.constant) >= 0x1p-20F; }

template <bool kByReciprocal>
__host__ __device__ float emission(float event, const LaneLevel& level) {
  const float distance = event - level.mean;
  float half = 0.0F;
  if constexpr (kByReciprocal) {
    const float quotient = distance * level.reciprocal;
    half = fmaf(fmaf(-quotient, level.twice_stdv, distance), level.reciprocal, quotient);
  } else {
    half = distance / level.twice_stdv;
  }
  return fmaf(-2.0F, half * half, level.constant);
}

// Which of two terms a maximum came from: bits of a column's choices, set for the later term.
enum Choice : std::uint32_t {
  kPreviousMatch = 1,  // of the two match terms of a match
  kPreviousBad = 2,    // of its two bad terms
  kBadOverMatch = 4,   // of these pairs
  kSkipOverEvent = 8,  // of the skip term and all others
  kBadFromBad = 16,    // of the two terms of a bad event
  kSkipFromBad = 32,   // of the match and the bad term of a skip
  kSkipFromSkip = 64,  // of the skip term and these two
};
inline constexpr int kChoiceBits = 7;

template <int kColumns>
struct Lane {
  static_assert(kColumns * kChoiceBits <= 32 && kColumns * kLanes >= 96);
  LaneLevel level[kColumns];
  float match[kColumns], bad[kColumns], bad_out[kColumns], skip[kColumns];
  float best[kColumns];  // of the terms of the last match
  Passing above;         // of the left neighbour, a row above
  float start;           // the term that begins a path

  __host__ __device__ void begin(int lane) {
    for (int c = 0; c < kColumns; ++c) match[c] = bad[c] = bad_out[c] = skip[c] = best[c] = event_hmm::kMinusInfinity;
    above = {};
    start = lane == 0 ? kLogStart : event_hmm::kMinusInfinity;
  }

  __host__ __device__ Passing passing() const { return {match[kColumns - 1], bad_out[kColumns - 1], skip[kColumns - 1]}; }

  // Goes one row on. `left`: of the left neighbour, in this row. Returns the choices, kChoiceBits a column.
  template <bool kByReciprocal>
  __host__ __device__ std::uint32_t advance(float event, Passing left, const event_hmm::Transitions& log) {
    std::uint32_t choices = 0;
    Passing diagonal = above;
    above = left;
    for (int c = 0; c < kColumns; ++c) {
      const auto choose = [&choices, c](bool later, Choice choice) {
        if (later) choices |= static_cast<std::uint32_t>(choice) << (kChoiceBits * c);
      };
      const Passing own{match[c], bad_out[c], skip[c]};
      const float same_match = own.match + log.match_stay, previous_match = diagonal.match + log.match_next;
      const float previous_skip = diagonal.skip + log.skip_match;
      const float from_match = fmaxf(same_match, previous_match), from_bad = fmaxf(own.bad_out, diagonal.bad_out);
      const float from_event = fmaxf(from_match, from_bad);
      best[c] = fmaxf(from_event, previous_skip);
      if (c == 0) {
        best[c] = fmaxf(best[c], start);
        start = event_hmm::kMinusInfinity;
      }
      const float match_to_bad = own.match + log.match_bad, bad_to_bad = bad[c] + log.bad_stay;
      const float match_to_skip = left.match + log.match_skip, skip_to_skip = left.skip + log.skip_stay;
      const float event_to_skip = fmaxf(match_to_skip, left.bad_out);
      choose(previous_match >= same_match, kPreviousMatch);
      choose(diagonal.bad_out >= own.bad_out, kPreviousBad);
      choose(from_bad >= from_match, kBadOverMatch);
      choose(previous_skip >= from_event, kSkipOverEvent);
      choose(bad_to_bad >= match_to_bad, kBadFromBad);
      choose(left.bad_out >= match_to_skip, kSkipFromBad);
      choose(skip_to_skip >= event_to_skip, kSkipFromSkip);
      match[c] = best[c] + emission<kByReciprocal>(event, level[c]);
      bad[c] = fmaxf(match_to_bad, bad_to_bad);
      bad_out[c] = bad[c] + log.bad_match;
      skip[c] = fmaxf(event_to_skip, skip_to_skip);
      diagonal = own;
      left = {match[c], bad_out[c], skip[c]};
    }
    return choices;
  }
};

// Calls cell(row, column, state) for every event of the path, from the last to the first. choices_at(step, lane): what the lane has returned at that
// step; steps never ascend.
template <int kColumns, class ChoicesAt, class Cell>
__host__ __device__ void walk_back(std::int64_t rows, int columns, const ChoicesAt& choices_at, const Cell& cell) {
  std::int64_t row = rows - 1;
  int column = columns - 1;
  enum class Kind { match, bad, skip } kind = Kind::match;
  while (true) {
    if (kind != Kind::skip) cell(row, column, kind == Kind::match ? State::match : State::bad);
    if (row == 0 && kind == Kind::match) return;
    const int lane = column / kColumns;
    const std::uint32_t choices = choices_at(row + lane, lane) >> (kChoiceBits * (column % kColumns));
    if (kind == Kind::match) {
      --row;
      if (choices & kSkipOverEvent) {
        kind = Kind::skip;
        --column;
      } else if (choices & kBadOverMatch) {
        kind = Kind::bad;
        column -= choices & kPreviousBad ? 1 : 0;
      } else {
        column -= choices & kPreviousMatch ? 1 : 0;
      }
    } else if (kind == Kind::bad) {
      --row;
      kind = choices & kBadFromBad ? Kind::bad : Kind::match;
    } else {
      --column;
      kind = choices & kSkipFromSkip ? Kind::skip : choices & kSkipFromBad ? Kind::bad : Kind::match;
    }
  }
}

}  // namespace sluice::event_alignment::cuda
