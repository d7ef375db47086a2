// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The best path of a segment with one k-mer per vector lane, compiled once per instruction set and chosen at run time.
//
// A cell needs its left neighbour of the same row (skipped k-mers) and three cells of the row before. So the lanes of a strip of k-mers stand one row
// apart: at step s lane i is at row s - i, its left neighbour's row is what lane i - 1 did a step ago, and the row before that what it did two steps
// ago. What leaves a strip on the right is kept for the next one. Lanes that have not begun hold -inf and stay so.

#include <algorithm>
#include <array>

#include "event_alignment/segment.hpp"

// AVX3_DL adds nothing that this loop could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "event_alignment/segment_path.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::event_alignment::HWY_NAMESPACE {

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

// Without vectors the scalar form is as fast.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

void FindPath(const Segment& segment, const KmerModelView& model, Workspace& workspace) { segment_path_reference(segment, model, workspace); }

#else

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
constexpr std::size_t kLanes = 16;
using MaskBits = std::uint16_t;
#elif HWY_TARGET == HWY_AVX2
constexpr std::size_t kLanes = 8;
using MaskBits = std::uint8_t;
#else
constexpr std::size_t kLanes = 4;
using MaskBits = std::uint8_t;
#endif

using Floats = hn::FixedTag<float, kLanes>;
using V = hn::Vec<Floats>;
using M = hn::Mask<Floats>;

// Which of two terms a maximum came from, a bit per lane: set for the later one.
enum Choice : std::size_t {
  kPreviousMatch,  // of the two match terms of a match
  kPreviousBad,    // of its two bad terms
  kBadOverMatch,   // of these pairs
  kSkipOverEvent,  // of the skip term and all others
  kBadFromBad,     // of the two terms of a bad event
  kSkipFromBad,    // of the match and the bad term of a skip
  kSkipFromSkip,   // of the skip term and these two
  kChoices
};

// Lane i of the result is lane i - 1; lane 0 is the last one.
HWY_INLINE V Rotate(V v) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v.raw), _mm512_castps_si512(v.raw), 15))};
#elif HWY_TARGET == HWY_AVX2
  return V{_mm256_permutevar8x32_ps(v.raw, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6))};
#else
  return hn::Shuffle2103(v);
#endif
}

// `rotated` with lane 0 of `first`.
HWY_INLINE V WithFirst(V first, V rotated) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_mask_mov_ps(rotated.raw, 1, first.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V{_mm256_blend_ps(rotated.raw, first.raw, 1)};
#elif HWY_TARGET == HWY_SSE4
  return V{_mm_blend_ps(rotated.raw, first.raw, 1)};
#else
  return hn::IfThenElse(hn::FirstN(Floats(), 1), first, rotated);
#endif
}

HWY_INLINE MaskBits Bits(M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(Floats(), mask, bytes);
  MaskBits bits;
  __builtin_memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

constexpr bool kHasFma = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

struct Levels {
  V mean, twice_stdv, reciprocal, constant;
};

template <bool kByReciprocal>
HWY_INLINE V Emission(V event, const Levels& level) {
  const Floats d;
  const V distance = hn::Sub(event, level.mean);
  V half;
  if constexpr (kByReciprocal) {
    const V quotient = hn::Mul(distance, level.reciprocal);
    half = hn::MulAdd(hn::NegMulAdd(quotient, level.twice_stdv, distance), level.reciprocal, quotient);
    return hn::NegMulAdd(hn::Set(d, 2.0F), hn::Mul(half, half), level.constant);
  } else {
    half = hn::Div(distance, level.twice_stdv);
    const V square = hn::Mul(half, half);
    return hn::Sub(level.constant, hn::Add(square, square));
  }
}

// What leaves a strip on the right, by row.
struct Boundary {
  float* match;
  float* bad_out;
  float* skip;
};

// The choices of one segment: for each, strip by strip, step by step. (Side by side, the compiler would gather them in a register.)
struct Traces {
  MaskBits* bits;
  std::size_t steps;  // of a strip, with those of the last lane
  std::size_t strips;
  MaskBits* of(Choice choice, std::size_t strip) const { return bits + (choice * strips + strip) * steps; }
};

template <bool kByReciprocal>
bool FillStrips(const Segment& segment, std::size_t columns, const float* HWY_RESTRICT levels, const float* HWY_RESTRICT newest_event,
                const Boundary& boundary, const Traces& traces) {
  const Floats d;
  const event_hmm::Transitions& log = segment.transitions;
  const V match_stay = hn::Set(d, log.match_stay), match_next = hn::Set(d, log.match_next), match_bad = hn::Set(d, log.match_bad),
          match_skip = hn::Set(d, log.match_skip), bad_out = hn::Set(d, log.bad_match), bad_stay = hn::Set(d, log.bad_stay),
          skip_match = hn::Set(d, log.skip_match), skip_stay = hn::Set(d, log.skip_stay), minus_infinity = hn::Set(d, event_hmm::kMinusInfinity);
  const auto rows = static_cast<std::ptrdiff_t>(segment.rows);
  const std::size_t strips = (columns + kLanes - 1) / kLanes;
  V best = minus_infinity;  // of the terms of a match
  for (std::size_t strip = 0; strip < strips; ++strip) {
    const float* at = levels + strip * 4 * kLanes;
    const Levels level{hn::Load(d, at), hn::Load(d, at + kLanes), hn::Load(d, at + 2 * kLanes), hn::Load(d, at + 3 * kLanes)};
    V match = minus_infinity, bad = minus_infinity, bad_leaving = minus_infinity, skip = minus_infinity;
    V above_match = minus_infinity, above_bad = minus_infinity, above_skip = minus_infinity;  // of the left neighbour, a row above
    const std::size_t last_lane = std::min(kLanes, columns - strip * kLanes) - 1;
    const std::ptrdiff_t steps = rows + static_cast<std::ptrdiff_t>(last_lane);
    MaskBits* HWY_RESTRICT choices[kChoices];
    for (std::size_t choice = 0; choice < kChoices; ++choice) choices[choice] = traces.of(static_cast<Choice>(choice), strip);
    std::ptrdiff_t step = 0;
    if (strip == 0) {
      const V start = hn::Add(hn::Set(d, kLogStart), Emission<kByReciprocal>(hn::LoadU(d, newest_event), level));
      match = WithFirst(start, minus_infinity);
      best = WithFirst(hn::Zero(d), minus_infinity);
      step = 1;
    }
    for (; step < steps; ++step) {
      const V rotated_match = Rotate(match), rotated_bad = Rotate(bad_leaving), rotated_skip = Rotate(skip);
      const V left_match = WithFirst(hn::Set(d, boundary.match[step]), rotated_match);
      const V left_bad = WithFirst(hn::Set(d, boundary.bad_out[step]), rotated_bad);
      const V left_skip = WithFirst(hn::Set(d, boundary.skip[step]), rotated_skip);
      // The last lane's row of the step before. Before its first row there is spare room.
      const std::ptrdiff_t leaving = step - static_cast<std::ptrdiff_t>(kLanes);
      boundary.match[leaving] = hn::GetLane(rotated_match);
      boundary.bad_out[leaving] = hn::GetLane(rotated_bad);
      boundary.skip[leaving] = hn::GetLane(rotated_skip);

      const V emission = Emission<kByReciprocal>(hn::LoadU(d, newest_event - step), level);
      const V same_match = hn::Add(match, match_stay), previous_match = hn::Add(above_match, match_next);
      const V same_bad = bad_leaving, previous_bad = above_bad;
      const V previous_skip = hn::Add(above_skip, skip_match);
      const V from_match = hn::Max(same_match, previous_match), from_bad = hn::Max(same_bad, previous_bad);
      const V from_event = hn::Max(from_match, from_bad);
      best = hn::Max(from_event, previous_skip);
      const V match_to_bad = hn::Add(match, match_bad), bad_to_bad = hn::Add(bad, bad_stay);
      const V match_to_skip = hn::Add(left_match, match_skip), skip_to_skip = hn::Add(left_skip, skip_stay);
      const V event_to_skip = hn::Max(match_to_skip, left_bad);
      const auto choose = [&](Choice choice, M later) HWY_ATTR { choices[choice][step] = Bits(later); };
      choose(kPreviousMatch, hn::Ge(previous_match, same_match));
      choose(kPreviousBad, hn::Ge(previous_bad, same_bad));
      choose(kBadOverMatch, hn::Ge(from_bad, from_match));
      choose(kSkipOverEvent, hn::Ge(previous_skip, from_event));
      choose(kBadFromBad, hn::Ge(bad_to_bad, match_to_bad));
      choose(kSkipFromBad, hn::Ge(left_bad, match_to_skip));
      choose(kSkipFromSkip, hn::Ge(skip_to_skip, event_to_skip));
      match = hn::Add(best, emission);
      bad = hn::Max(match_to_bad, bad_to_bad);
      bad_leaving = hn::Add(bad, bad_out);
      skip = hn::Max(event_to_skip, skip_to_skip);
      above_match = left_match;
      above_bad = left_bad;
      above_skip = left_skip;
    }
    // The last lane's last row.
    const std::ptrdiff_t leaving = steps - static_cast<std::ptrdiff_t>(kLanes);
    boundary.match[leaving] = hn::GetLane(Rotate(match));
    boundary.bad_out[leaving] = hn::GetLane(Rotate(bad_leaving));
    boundary.skip[leaving] = hn::GetLane(Rotate(skip));
  }
  HWY_ALIGN float lanes[kLanes];
  hn::Store(best, d, lanes);
  return lanes[(columns - 1) % kLanes] > event_hmm::kMinusInfinity;
}

void WalkBack(const Segment& segment, std::size_t columns, const Traces& traces, Workspace& workspace) {
  std::size_t row = static_cast<std::size_t>(segment.rows) - 1;
  std::size_t column = columns - 1;
  enum class Kind { match, bad, skip } kind = Kind::match;
  while (true) {
    if (kind != Kind::skip)
      workspace.path.push_back({static_cast<std::int32_t>(row), static_cast<std::int16_t>(column), kind == Kind::match ? State::match : State::bad});
    if (row == 0 && kind == Kind::match) return;
    const std::size_t lane = column % kLanes;
    const auto later = [&, at = row + lane, strip = column / kLanes](Choice choice) { return (traces.of(choice, strip)[at] >> lane & 1U) != 0; };
    switch (kind) {
      case Kind::match:
        --row;
        if (later(kSkipOverEvent)) {
          kind = Kind::skip;
          --column;
        } else if (later(kBadOverMatch)) {
          kind = Kind::bad;
          column -= later(kPreviousBad) ? 1 : 0;
        } else {
          column -= later(kPreviousMatch) ? 1 : 0;
        }
        break;
      case Kind::bad:
        --row;
        kind = later(kBadFromBad) ? Kind::bad : Kind::match;
        break;
      case Kind::skip:
        --column;
        kind = later(kSkipFromSkip) ? Kind::skip : later(kSkipFromBad) ? Kind::bad : Kind::match;
        break;
    }
  }
}

void FindPath(const Segment& segment, const KmerModelView& model, Workspace& workspace) {
  const std::size_t columns = column_count(segment, model.k);
  const auto rows = static_cast<std::size_t>(segment.rows);
  std::array<std::uint32_t, kMaximumColumns> ranks;
  segment_ranks(segment, model.k, ranks);

  constexpr std::size_t kMostStrips = (kMaximumColumns + kLanes - 1) / kLanes;
  HWY_ALIGN float levels[kMostStrips * 4 * kLanes];
  const std::size_t strips = (columns + kLanes - 1) / kLanes;
  bool by_reciprocal = kHasFma;
  for (std::size_t j = 0; j < strips * kLanes; ++j) {
    event_hmm::ScaledLevel level{0.0F, 1.0F, -1.0F};
    if (j < columns) level = event_hmm::scale_level(model, ranks[j], segment.scaling);
    float* at = levels + j / kLanes * 4 * kLanes + j % kLanes;
    at[0] = level.mean;
    at[kLanes] = 2.0F * level.stdv;
    at[2 * kLanes] = 1.0F / (2.0F * level.stdv);
    at[3 * kLanes] = level.constant;
    by_reciprocal = by_reciprocal && std::abs(level.constant) >= 0x1p-20F;
  }

  // Events from the last to the first, so that a load has the events of neighbouring lanes; at both ends lanes look beyond.
  constexpr std::size_t spare = kLanes;
  const std::size_t room = rows + 2 * spare;
  workspace.scores.resize(4 * room);
  float* const newest_event = workspace.scores.data() + rows + spare;  // of row 0
  std::fill_n(workspace.scores.data(), room, 0.0F);
  for (std::size_t row = 0; row < rows; ++row)
    *(newest_event - row) = segment.event_mean[static_cast<std::size_t>(segment.first_event + static_cast<std::int64_t>(row) * segment.step)];
  float* const of_rows = workspace.scores.data() + room + spare;
  const Boundary boundary{of_rows, of_rows + room, of_rows + 2 * room};
  std::fill_n(workspace.scores.data() + room, 3 * room, event_hmm::kMinusInfinity);

  Traces traces{nullptr, rows + spare, strips};
  workspace.traces.resize(kChoices * strips * traces.steps * sizeof(MaskBits));
  traces.bits = reinterpret_cast<MaskBits*>(workspace.traces.data());
  const bool reachable = by_reciprocal ? FillStrips<kHasFma>(segment, columns, levels, newest_event, boundary, traces)
                                       : FillStrips<false>(segment, columns, levels, newest_event, boundary, traces);
  workspace.path.clear();
  if (reachable) {
    WalkBack(segment, columns, traces, workspace);
  } else {
    workspace.path.push_back({static_cast<std::int32_t>(rows - 1), static_cast<std::int16_t>(columns - 1), State::match});
  }
}

#endif

}  // namespace sluice::event_alignment::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::event_alignment {

HWY_EXPORT(FindPath);
HWY_EXPORT(TargetName);

void segment_path(const Segment& segment, const KmerModelView& model, Workspace& workspace) {
  HWY_DYNAMIC_DISPATCH(FindPath)(segment, model, workspace);
}

const char* segment_path_target() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace sluice::event_alignment
#endif  // HWY_ONCE
