// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The step scores of chain_score.hpp for a vector of predecessors, and the choice among them. Included once per instruction set.

#if defined(SLUICE_CHAINING_STEP_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_CHAINING_STEP_VECTORS
#undef SLUICE_CHAINING_STEP_VECTORS
#else
#define SLUICE_CHAINING_STEP_VECTORS
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "chaining/chain_score.hpp"

HWY_BEFORE_NAMESPACE();
namespace sluice::chaining::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntTag = hn::CappedTag<std::int32_t, 16>;
using FloatTag = hn::RebindToFloat<IntTag>;
using Ints = hn::Vec<IntTag>;
constexpr int lanes = static_cast<int>(hn::MaxLanes(IntTag()));

// A score that never wins, from which any step can still be subtracted.
constexpr std::int32_t out_of_reach = -(1 << 30);

enum class SkipCost : std::uint8_t { none, some };

// One bit per lane.
template <class Tag, class Mask>
HWY_INLINE std::uint32_t lanes_of(Tag tag, Mask mask) {
#if HWY_TARGET == HWY_AVX3
  (void)tag;
  return mask.raw;
#else
  alignas(8) std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8;
#endif
}

// The best predecessor so far. Of equal scores the nearest anchor wins, that with the highest index; the anchor's own span wins over all.
struct Choice {
  explicit Choice(std::int32_t span) : best(span), wanted(span + 1) {}

  HWY_INLINE void take(Ints scores, const std::int32_t* indices) {
    const IntTag tag;
    if (hn::AllFalse(tag, hn::Gt(scores, hn::Set(tag, wanted - 1)))) return;
    const auto highest = hn::MaxOfLanes(tag, scores);
    const std::int32_t index = indices[31 - std::countl_zero(lanes_of(tag, hn::Eq(scores, highest)))];
    const std::int32_t score = hn::GetLane(highest);
    chosen = score > best ? index : std::max(chosen, index);
    best = wanted = score;
  }

  std::int32_t best;
  std::int32_t wanted;  // the lowest score that changes the choice
  std::int32_t chosen = -1;
};

// Steps to one anchor.
template <SkipCost skip_cost>
class StepVectors {
 public:
  StepVectors(Point to, StepLimits limits, StepCosts costs)
      : target_(hn::Set(IntTag(), to.target)),
        query_(hn::Set(IntTag(), to.query)),
        past_query_gap_(hn::Set(IntTag(), std::min(limits.query_gap, limits.target_gap) + 1)),
        past_band_(hn::Set(IntTag(), limits.band + 1)),
        gap_cost_(hn::Set(FloatTag(), costs.gap)),
        skip_cost_(hn::Set(FloatTag(), costs.skip)) {}

  // Their scores with the predecessors' scores added; out_of_reach where no step is allowed. Predecessors are within target_gap.
  HWY_INLINE Ints scores(Ints target, Ints query, Ints span, Ints score) const {
    const IntTag tag;
    const auto zero = hn::Zero(tag);
    const auto along_query = hn::Sub(query_, query);
    const auto along_target = hn::Sub(target_, target);
    const auto difference = hn::Abs(hn::Sub(along_target, along_query));
    const auto gap = hn::Min(along_target, along_query);
    const auto allowed = hn::And(hn::And(hn::Gt(gap, zero), hn::Gt(past_query_gap_, along_query)), hn::Gt(past_band_, difference));
    const auto sum = hn::Sub(hn::Add(score, hn::Min(span, gap)), penalty(difference, gap, span));
    return hn::IfThenElse(allowed, sum, hn::Set(tag, out_of_reach));
  }

 private:
  HWY_INLINE Ints penalty(Ints difference, Ints gap, Ints span) const {
    const IntTag tag;
    const FloatTag float_tag;
    const auto one = hn::Set(tag, 1);
    auto linear = hn::Mul(gap_cost_, hn::ConvertTo(float_tag, difference));
    const auto bits = hn::BitCast(tag, hn::ConvertTo(float_tag, hn::Add(difference, one)));
    const auto exponent = hn::ConvertTo(float_tag, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(tag, 128)));
    const auto mantissa = hn::BitCast(float_tag, hn::Or(hn::And(bits, hn::Set(tag, 0x007fffff)), hn::Set(tag, 0x3f800000)));
    const auto polynomial = hn::Sub(hn::Mul(hn::Add(hn::Mul(hn::Set(float_tag, -0.34484843F), mantissa), hn::Set(float_tag, 2.02466578F)), mantissa),
                                    hn::Set(float_tag, 0.67487759F));
    auto logarithm = hn::Add(exponent, polynomial);
    if constexpr (skip_cost == SkipCost::some) {
      linear = hn::Add(linear, hn::Mul(skip_cost_, hn::ConvertTo(float_tag, gap)));
      logarithm = hn::IfThenElseZero(hn::RebindMask(float_tag, hn::Gt(difference, hn::Zero(tag))), logarithm);
    }
    // Without a cost of skips nothing needs to be said about a difference of 0: its logarithm is taken for 0.005, which the conversion cuts.
    const auto cut = hn::ConvertTo(tag, hn::Add(linear, hn::Mul(hn::Set(float_tag, 0.5F), logarithm)));
    if constexpr (skip_cost == SkipCost::none) return cut;
    return hn::IfThenElseZero(hn::Or(hn::Gt(difference, hn::Zero(tag)), hn::Gt(gap, span)), cut);
  }

  Ints target_, query_, past_query_gap_, past_band_;
  hn::Vec<FloatTag> gap_cost_, skip_cost_;
};

}  // namespace sluice::chaining::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
