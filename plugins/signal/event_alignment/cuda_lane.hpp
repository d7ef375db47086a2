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

enum class CellKind : std::uint8_t { bad, match, skip };

// A cell of a path.
struct PathPoint {
  std::int64_t row;
  int column;
  CellKind kind;
};

// Through which cell of the steps whose choices are stored the best paths to a k-mer's three states go: of the last step, or of the one before it.
struct Origins {
  std::uint32_t match = 0;
  std::uint32_t bad = 0;
  std::uint32_t skip = 0;

  __host__ __device__ static Origins of(int column, bool is_of_step_before) {
    const auto cell = static_cast<std::uint32_t>(column) << 3U | (is_of_step_before ? 4U : 0U);
    return {cell | static_cast<std::uint32_t>(CellKind::match), cell | static_cast<std::uint32_t>(CellKind::bad),
            cell | static_cast<std::uint32_t>(CellKind::skip)};
  }
};
template <int kColumns>
__host__ __device__ PathPoint point_of(std::uint32_t origin, int last_step) {
  const int column = static_cast<int>(origin >> 3U);
  return {last_step - column / kColumns - static_cast<int>(origin >> 2U & 1U), column, static_cast<CellKind>(origin & 3U)};
}

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

// Transitions from a lane's left neighbour; the first lane has none, whatever it is given instead.
struct FromLeft {
  float match_next, match_skip, skip_match, skip_stay;
  float none;  // added to what needs no transition
  __host__ __device__ static FromLeft of(const event_hmm::Transitions& log, bool has_neighbour) {
    if (has_neighbour) return {log.match_next, log.match_skip, log.skip_match, log.skip_stay, 0.0F};
    constexpr float never = event_hmm::kMinusInfinity;
    return {never, never, never, never, never};
  }
};

template <int kColumns>
struct Lane {
  static_assert(kColumns * kChoiceBits <= 32 && kColumns * kLanes >= 96);
  LaneLevel level[kColumns];
  float match[kColumns], bad[kColumns], bad_out[kColumns], skip[kColumns];
  float best[kColumns];  // of the terms of the last match
  Passing above;         // of the left neighbour, a row above
  Origins origins[kColumns];
  Origins origins_above;
  FromLeft from_left;

  __host__ __device__ void begin(int lane, const event_hmm::Transitions& log) {
    from_left = FromLeft::of(log, lane > 0);
    for (int c = 0; c < kColumns; ++c) match[c] = bad[c] = bad_out[c] = skip[c] = best[c] = event_hmm::kMinusInfinity;
    above = {};
    if (lane == 0) above.bad_out = kLogStart;  // the term that begins a path, in the place of one that is taken as it is
    for (Origins& of_column : origins) of_column = {};
    origins_above = {};
  }

  // The cells of this step and the one before it become the origins of later ones.
  __host__ __device__ void begin_origins(int lane) {
    for (int c = 0; c < kColumns; ++c) origins[c] = Origins::of(lane * kColumns + c, false);
    origins_above = Origins::of(lane * kColumns - 1, true);
  }

  __host__ __device__ Passing passing() const { return {match[kColumns - 1], bad_out[kColumns - 1], skip[kColumns - 1]}; }
  __host__ __device__ const Origins& passing_origins() const { return origins[kColumns - 1]; }

  // Goes one row on. `left`: of the left neighbour, in this row. Returns the choices, kChoiceBits a column.
  template <bool kByReciprocal>
  __host__ __device__ std::uint32_t advance(float event, const Passing& left, const event_hmm::Transitions& log) {
    return advance<kByReciprocal, false>(event, left, log, {});
  }

  // The same, but carries origins on.
  template <bool kByReciprocal>
  __host__ __device__ void advance_with_origins(float event, const Passing& left, const event_hmm::Transitions& log, const Origins& left_origins) {
    advance<kByReciprocal, true>(event, left, log, left_origins);
  }

 private:
  template <bool kByReciprocal, bool kWithOrigins>
  __host__ __device__ std::uint32_t advance(float event, Passing left, const event_hmm::Transitions& log, Origins left_origins) {
    std::uint32_t choices = 0;
    left.bad_out += from_left.none;
    Passing diagonal = above;
    above = left;
    Origins diagonal_origins = origins_above;
    if constexpr (kWithOrigins) origins_above = left_origins;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const auto choose = [&choices, c](bool later, Choice choice) {
        if (later) choices |= static_cast<std::uint32_t>(choice) << (kChoiceBits * c);
        return later;
      };
      const Passing own{match[c], bad_out[c], skip[c]};
      const float same_match = own.match + log.match_stay, previous_match = diagonal.match + (c == 0 ? from_left.match_next : log.match_next);
      const float previous_skip = diagonal.skip + (c == 0 ? from_left.skip_match : log.skip_match);
      const float from_match = fmaxf(same_match, previous_match), from_bad = fmaxf(own.bad_out, diagonal.bad_out);
      const float from_event = fmaxf(from_match, from_bad);
      best[c] = fmaxf(from_event, previous_skip);
      const float match_to_bad = own.match + log.match_bad, bad_to_bad = bad[c] + log.bad_stay;
      const float match_to_skip = left.match + (c == 0 ? from_left.match_skip : log.match_skip);
      const float skip_to_skip = left.skip + (c == 0 ? from_left.skip_stay : log.skip_stay);
      const float event_to_skip = fmaxf(match_to_skip, left.bad_out);
      const bool is_previous_match = choose(previous_match >= same_match, kPreviousMatch);
      const bool is_previous_bad = choose(diagonal.bad_out >= own.bad_out, kPreviousBad);
      const bool is_bad = choose(from_bad >= from_match, kBadOverMatch);
      const bool is_skip = choose(previous_skip >= from_event, kSkipOverEvent);
      const bool is_bad_from_bad = choose(bad_to_bad >= match_to_bad, kBadFromBad);
      const bool is_skip_from_bad = choose(left.bad_out >= match_to_skip, kSkipFromBad);
      const bool is_skip_from_skip = choose(skip_to_skip >= event_to_skip, kSkipFromSkip);
      match[c] = best[c] + emission<kByReciprocal>(event, level[c]);
      bad[c] = fmaxf(match_to_bad, bad_to_bad);
      bad_out[c] = bad[c] + log.bad_match;
      skip[c] = fmaxf(event_to_skip, skip_to_skip);
      diagonal = own;
      left = {match[c], bad_out[c], skip[c]};
      if constexpr (kWithOrigins) {
        const Origins own_origins = origins[c];
        const std::uint32_t of_match = is_previous_match ? diagonal_origins.match : own_origins.match;
        const std::uint32_t of_bad = is_previous_bad ? diagonal_origins.bad : own_origins.bad;
        const std::uint32_t of_event = is_bad ? of_bad : of_match;
        const std::uint32_t of_left_event = is_skip_from_bad ? left_origins.bad : left_origins.match;
        origins[c].match = is_skip ? diagonal_origins.skip : of_event;
        origins[c].bad = is_bad_from_bad ? own_origins.bad : own_origins.match;
        origins[c].skip = is_skip_from_skip ? left_origins.skip : of_left_event;
        diagonal_origins = own_origins;
        left_origins = origins[c];
      }
    }
    return choices;
  }
};

// Walks back from `point` to the cell of row `stop` that has an event, and returns that; before, calls cell(point) for the one of every row behind
// it. choices_at(row, lane): what the lane has returned in that row; it is not asked for a row again once cell() has been told of its point.
template <int kColumns, class ChoicesAt, class Cell>
__host__ __device__ PathPoint walk_back(PathPoint point, std::int64_t stop, const ChoicesAt& choices_at, const Cell& cell) {
  while (point.row > stop || point.kind == CellKind::skip) {
    const std::uint32_t choices = choices_at(point.row, point.column / kColumns) >> (kChoiceBits * (point.column % kColumns));
    if (point.kind == CellKind::skip) {
      --point.column;
      point.kind = choices & kSkipFromSkip ? CellKind::skip : choices & kSkipFromBad ? CellKind::bad : CellKind::match;
      continue;
    }
    cell(point);
    --point.row;
    if (point.kind == CellKind::bad) {
      point.kind = choices & kBadFromBad ? CellKind::bad : CellKind::match;
    } else if (choices & kSkipOverEvent) {
      point.kind = CellKind::skip;
      --point.column;
    } else if (choices & kBadOverMatch) {
      point.kind = CellKind::bad;
      point.column -= choices & kPreviousBad ? 1 : 0;
    } else {
      point.column -= choices & kPreviousMatch ? 1 : 0;
    }
  }
  return point;
}

}  // namespace sluice::event_alignment::cuda
