// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The recurrence over bands, compiled once per instruction set and chosen at run time. band_fill.hpp draws the layout, narrow_arithmetic.hpp proves
// the arithmetic.

#include <algorithm>
#include <limits>
#include <optional>
#include <sluice/methods/abea/band_fill.hpp>
#include <sluice/methods/abea/narrow_arithmetic.hpp>
#include <utility>

// AVX3_DL adds nothing that this loop could use, SSSE3 nothing over SSE4 on any machine still in use.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "methods/abea/band_fill.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sluice::abea::HWY_NAMESPACE {
// Without vectors, and where Highway emulates them (its f64 to f32 is not that of IEEE for infinities), the scalar form is as fast.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::optional<BandFillResult> FillBands(const BandFillInput&) { return std::nullopt; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// Whole vectors, and a few lanes more than the band has cells. The spare lanes hold the next k-mers and events, so that the lane tables are written
// once per `spare_lanes` bands only: a vector load that overlaps a smaller store still in flight waits about 15 cycles.
#if HWY_TARGET == HWY_AVX3
constexpr int vector_lanes = 16;
#elif HWY_TARGET == HWY_AVX2
constexpr int vector_lanes = 8;
#else
constexpr int vector_lanes = 4;
#endif

// A band of `width` cells in `lanes` lanes.
template <std::int32_t width_, std::int32_t lanes_>
struct Geometry {
  static constexpr std::int32_t width = width_, lanes = lanes_, spare_lanes = lanes - width;
  static_assert(lanes % 8 == 0 && lanes % vector_lanes == 0 && spare_lanes % 4 == 0 && spare_lanes > 0 && lanes <= 128);
};
using AdaptiveBand = Geometry<band_width, HWY_TARGET == HWY_AVX3 ? 112 : 104>;
using GuidedBand = Geometry<guided_band_width, 48>;

using FloatTag = hn::FixedTag<float, vector_lanes>;
using IntTag = hn::FixedTag<std::int32_t, vector_lanes>;
using HalfFloatTag = hn::FixedTag<float, vector_lanes / 2>;
using DoubleTag = hn::FixedTag<double, vector_lanes / 2>;
using FourTag = hn::FixedTag<float, 4>;
using Float = hn::Vec<FloatTag>;
using Double = hn::Vec<DoubleTag>;

// The arithmetic is chosen anew after this many bands; a multiple of every spare_lanes. Choosing costs about as much as one band.
constexpr std::int32_t stretch_bands = 60;
static_assert(stretch_bands % AdaptiveBand::spare_lanes == 0 && stretch_bands % GuidedBand::spare_lanes == 0);

constexpr float impossible = -std::numeric_limits<float>::infinity();

// values[lanes - first + lane] is +inf for the width lanes from `first` on, -inf for the others.
template <std::int32_t width, std::int32_t lanes>
struct BandCeiling {
  alignas(64) float values[2 * lanes];
  constexpr BandCeiling() : values{} {
    for (std::int32_t i = 0; i < 2 * lanes; ++i) values[i] = i % lanes < width ? -impossible : impossible;
  }
};
template <std::int32_t width, std::int32_t lanes>
constexpr BandCeiling<width, lanes> band_ceiling;

// One value per lane. Written four at a time from any lane: what crosses the last lane lands in `after`, its copy one turn earlier in the first
// lanes.
template <std::int32_t lanes>
struct LaneColumn {
  alignas(64) float before[lanes];
  alignas(64) float live[lanes];
  alignas(64) float after[16];
};

// Event means. Lane l of band b holds the event that is b - 2 - l modulo `lanes`. With an event in slot -event modulo `lanes`, and every slot kept
// twice, a band is the contiguous run that begins at slot 2 - b modulo `lanes`.
template <std::int32_t lanes>
struct EventColumn {
  alignas(64) float before[lanes];
  alignas(64) float live[2 * lanes];
  alignas(64) float after[16];
};

// Hides where an address comes from. GCC 12 otherwise computes the address of each vector of a run ahead and keeps them in vector registers: 40 moves
// per band, a fifth of its time.
template <class T>
HWY_INLINE T* of_unknown_origin(T* address) {
#if HWY_COMPILER_GCC_ACTUAL
  asm("" : "+r"(address));
#endif
  return address;
}

// Every lane takes the value of the lane before it.
HWY_INLINE Float shift_one_lane(Float current, Float vector_before) {
#if HWY_TARGET == HWY_AVX3
  return Float{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(current.raw), _mm512_castps_si512(vector_before.raw), 15))};
#elif HWY_TARGET == HWY_AVX2
  const FloatTag tag;
  return hn::CombineShiftRightBytes<12>(tag, current, hn::ConcatLowerUpper(tag, current, vector_before));
#else
  return hn::CombineShiftRightBytes<12>(FloatTag(), current, vector_before);
#endif
}

// RO32(emission + transition), the transition cut as narrow_transitions does.
HWY_INLINE Float add_round_to_odd(Float emission, Float transition) {
  const IntTag int_tag;
#if HWY_TARGET == HWY_AVX3
  const Float cut{_mm512_add_round_ps(emission.raw, transition.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)};
  const auto bits = hn::BitCast(int_tag, cut);
#else
  // The residual is exact (Dekker's fast two-sum: |emission| >= |transition|, or the same exponent). Negative, it says that rounding went one step
  // too far from zero.
  const Float nearest = hn::Add(emission, transition);
  const Float residual = hn::Sub(hn::Sub(nearest, emission), transition);
  const auto bits = hn::Add(hn::BitCast(int_tag, nearest), hn::ShiftRight<31>(hn::BitCast(int_tag, residual)));
#endif
  return hn::BitCast(FloatTag(), hn::Or(bits, hn::Set(int_tag, 1)));
}

HWY_INLINE Float divide_exactly(Float dividend, Float divisor, Float reciprocal) {
#if HWY_NATIVE_FMA
  const Float quotient = hn::Mul(dividend, reciprocal);
  const Float remainder = hn::NegMulAdd(quotient, divisor, dividend);
  return hn::MulAdd(remainder, reciprocal, quotient);
#else
  (void)reciprocal;
  return hn::Div(dividend, divisor);
#endif
}

// Writes the mask bits of the vector that begins at `lane`. Vectors of four lanes share a byte: the even one writes it, the odd one adds its half.
template <class Mask>
HWY_INLINE void store_lane_bits(Mask mask, std::int32_t lane, std::uint8_t* row) {
  if constexpr (vector_lanes >= 8) {
    hn::StoreMaskBits(FloatTag(), mask, row + lane / 8);
  } else {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(FloatTag(), mask, bits);
    row[lane / 8] = static_cast<std::uint8_t>(lane % 8 == 0 ? bits[0] : row[lane / 8] | (bits[0] << 4U));
  }
}

HWY_INLINE Double lower_half(Float values) { return hn::PromoteTo(DoubleTag(), hn::LowerHalf(HalfFloatTag(), values)); }
HWY_INLINE Double upper_half(Float values) { return hn::PromoteTo(DoubleTag(), hn::UpperHalf(HalfFloatTag(), values)); }
HWY_INLINE Float round_halves(Double upper, Double lower) {
  return hn::Combine(FloatTag(), hn::DemoteTo(HalfFloatTag(), upper), hn::DemoteTo(HalfFloatTag(), lower));
}

template <class Band>
class BandFiller {
  static constexpr std::int32_t width = Band::width, lanes = Band::lanes, spare_lanes = Band::spare_lanes;
  static constexpr bool is_guided = width == guided_band_width;

 public:
  explicit BandFiller(const BandFillInput& input)
      : input_(input),
        event_count_(static_cast<std::int32_t>(input.event_means.size())),
        kmer_count_(input.kmer_count),
        narrow_(narrow_transitions(input)) {
    std::fill_n(&scores_[0][0], 2 * lanes, impossible);
    std::fill_n(&shifted_[0][0], 3 * lanes, impossible);
    first_lane_ = modulo_lanes(first_kmer_);
    // Bands 0 and 1: the cell before everything, and the first event trimmed; both before the first k-mer, hence read by lane 0.
    shifted_two_ago_[0] = 0.0F;
    shifted_ago_[0] = static_cast<float>(input.log_probability.trim);
    scores_ago_[lanes - 1] = shifted_ago_[0];
    for (std::int32_t kmer = first_kmer_; kmer < first_kmer_ + width; ++kmer) load_kmer(kmer);
    for (std::int32_t event = last_event_ - width + 1; event <= last_event_; ++event) load_event(event);
  }

  BandFillResult fill() {
    const std::int64_t band_count = std::int64_t{event_count_} + kmer_count_ + 2;
    for (std::int64_t band = 2; band < band_count;) {
      const std::int32_t inner = inner_bands();
      switch (inner > 0 ? arithmetic_of_bands(inner) : Arithmetic::wide) {
        case Arithmetic::narrow:
          fill_inner_bands<Arithmetic::narrow>(band, inner);
          counts_.narrow += inner;
          band += inner;
          break;
        case Arithmetic::checked:
          fill_inner_bands<Arithmetic::checked>(band, inner);
          counts_.checked += inner;
          band += inner;
          break;
        case Arithmetic::wide: {
          const std::int64_t end = std::min(band + spare_lanes, band_count);
          counts_.wide += end - band;
          load_spare_lanes();
          for (; band < end; ++band) {
            move_band(band);
            fill_edge_band(band);
            turn_bands();
          }
          break;
        }
      }
    }
    return {best_end_event_, lanes, counts_};
  }

 private:
  static std::int32_t modulo_lanes(std::int64_t value) {
    const auto rest = static_cast<std::int32_t>(value % lanes);
    return rest < 0 ? rest + lanes : rest;
  }

  void load_kmer(std::int32_t kmer) {
    const std::int32_t lane = modulo_lanes(kmer);
    const bool exists = kmer >= 0 && kmer < kmer_count_;
    mean_.live[lane] = exists ? input_.levels.mean[kmer] : 0.0F;
    stdv_.live[lane] = exists ? input_.levels.stdv[kmer] : 1.0F;
    inverse_stdv_.live[lane] = exists ? input_.levels.inverse_stdv[kmer] : 1.0F;
    peak_.live[lane] = exists ? input_.levels.peak[kmer] : -1.0F;
  }

  void load_event(std::int32_t event) {
    const std::int32_t slot = modulo_lanes(-std::int64_t{event});
    const float mean = event >= 0 && event < event_count_ ? input_.event_means[static_cast<std::size_t>(event)] : 0.0F;
    events_.live[slot] = mean;
    events_.live[slot + lanes] = mean;
  }

  static void copy_four(const float* source, LaneColumn<lanes>& column, std::int32_t lane) {
    const auto values = hn::LoadU(FourTag(), source);
    hn::StoreU(values, FourTag(), column.live + lane);
    hn::StoreU(values, FourTag(), column.live + lane - lanes);
  }

  // The k-mers and events that the band can reach within the next spare_lanes bands.
  void load_spare_lanes() {
    const std::int32_t kmer = first_kmer_ + width;
    const std::int32_t event = last_event_ + 1;
    if (kmer < 0 || kmer > kmer_count_ - spare_lanes || event < 0 || event > event_count_ - spare_lanes) {
      for (std::int32_t i = 0; i < spare_lanes; ++i) {
        load_kmer(kmer + i);
        load_event(event + i);
      }
      return;
    }
    for (std::int32_t i = 0; i < spare_lanes; i += 4) {
      const std::int32_t unwrapped = first_lane_ + width + i;
      const std::int32_t lane = unwrapped >= lanes ? unwrapped - lanes : unwrapped;
      copy_four(input_.levels.mean + kmer + i, mean_, lane);
      copy_four(input_.levels.stdv + kmer + i, stdv_, lane);
      copy_four(input_.levels.inverse_stdv + kmer + i, inverse_stdv_, lane);
      copy_four(input_.levels.peak + kmer + i, peak_, lane);

      const std::int32_t slot = modulo_lanes(-(std::int64_t{event} + i + 3));
      const auto means = hn::Reverse(FourTag(), hn::LoadU(FourTag(), input_.event_means.data() + event + i));
      hn::StoreU(means, FourTag(), events_.live + slot - lanes);
      hn::StoreU(means, FourTag(), events_.live + slot);
      hn::StoreU(means, FourTag(), events_.live + slot + lanes);
    }
  }

  // How many of the next bands lie inside the matrix and before the last k-mer however the band moves; a multiple of spare_lanes.
  std::int32_t inner_bands() const {
    if (first_kmer_ < 0 || last_event_ < width) return 0;
    const std::int32_t room = std::min({stretch_bands, kmer_count_ - 1 - width - first_kmer_, event_count_ - 1 - last_event_});
    return room < spare_lanes ? 0 : room - room % spare_lanes;
  }

  // The arithmetic that is exact for the next `band_count` inner bands, from the two bands before them and the events that they meet.
  Arithmetic arithmetic_of_bands(std::int32_t band_count) const {
    if (!narrow_.possible) return Arithmetic::wide;
    const FloatTag tag;
    const Float no_score = hn::Set(tag, impossible);
    Float lowest = hn::Set(tag, -impossible);
    Float highest = no_score;
    for (std::int32_t lane = 0; lane < lanes; lane += vector_lanes) {
      for (const auto& scores : scores_) {
        const Float score = hn::Load(tag, scores + lane);
        highest = hn::Max(highest, score);
        lowest = hn::Min(lowest, hn::IfThenElse(hn::Eq(score, no_score), lowest, score));
      }
    }
    Float lowest_event = hn::Set(tag, -impossible);
    Float highest_event = no_score;
    const std::int32_t last_event = last_event_ + band_count;
    for (std::int32_t event = last_event_ - width + 1; event <= last_event; event += vector_lanes) {
      const Float means = hn::LoadU(tag, input_.event_means.data() + std::min(event, last_event - vector_lanes + 1));
      lowest_event = hn::Min(lowest_event, means);
      highest_event = hn::Max(highest_event, means);
    }
    const float emission =
        lowest_emission(hn::GetLane(hn::MinOfLanes(tag, lowest_event)), hn::GetLane(hn::MaxOfLanes(tag, highest_event)), input_.ranges);
    return admissible_arithmetic(narrow_, hn::GetLane(hn::MinOfLanes(tag, lowest)), hn::GetLane(hn::MaxOfLanes(tag, highest)), emission, band_count);
  }

  template <Arithmetic arithmetic>
  void fill_inner_bands(std::int64_t band, std::int32_t band_count) {
    const std::int64_t end = band + band_count;
    while (band < end) {
      load_spare_lanes();
      for (const std::int64_t reloaded = band + spare_lanes; band < reloaded; ++band) {
        move_band(band);
        const bool exact = fill_narrow_band<arithmetic>(band);
        if constexpr (arithmetic == Arithmetic::checked) {
          if (!exact) {
            fill_wide_band(band, 0, width);
            ++counts_.repeated;
          }
        }
        turn_bands();
      }
    }
  }

  // The Suzuki-Kasahara rule: towards the end of the band with the better score. Without branches: the direction cannot be predicted. A guided band
  // moves as its guide says.
  HWY_INLINE std::int32_t direction(std::int64_t band) const {
    if constexpr (is_guided) return moves_right(input_.guide, band) ? 1 : 0;
    const std::int32_t past_last = first_lane_ + width - 1;
    const float lower_left = scores_ago_[first_lane_];
    const float upper_right = scores_ago_[past_last >= lanes ? past_last - lanes : past_last];
    const auto neither = static_cast<std::int32_t>(lower_left == impossible) & static_cast<std::int32_t>(upper_right == impossible);
    return static_cast<std::int32_t>(lower_left < upper_right) | (neither & static_cast<std::int32_t>(band & 1));
  }
  HWY_INLINE void move_band(std::int64_t band) {
    const std::int32_t moves_right = direction(band);
    first_kmer_ += moves_right;
    last_event_ += 1 - moves_right;
    first_lane_ += moves_right;
    first_lane_ = first_lane_ == lanes ? 0 : first_lane_;
    event_slot_ = event_slot_ == 0 ? lanes - 1 : event_slot_ - 1;
  }

  HWY_INLINE void turn_bands() {
    std::swap(scores_ago_, scores_now_);
    float* const oldest = shifted_two_ago_;
    shifted_two_ago_ = shifted_ago_;
    shifted_ago_ = shifted_now_;
    shifted_now_ = oldest;
  }

  std::uint8_t* trace_row(std::int64_t band) const {
    return reinterpret_cast<std::uint8_t*>(input_.traces) + band * static_cast<std::int64_t>(bytes_per_band_trace);
  }

  // Single precision. With `checked`, false when a cell may have been rounded wrongly: narrow_arithmetic.hpp, 1. needs 4 |x| <= |result| unless the
  // cell is taken from the left by a margin (4) that no rounding reaches.
  template <Arithmetic arithmetic>
  HWY_INLINE bool fill_narrow_band(std::int64_t band) {
    const FloatTag tag;
    const Float stay = hn::Set(tag, narrow_.stay);
    const Float step = hn::Set(tag, narrow_.step);
    const Float skip = hn::Set(tag, narrow_.skip);
    const Float half = hn::Set(tag, 0.5F);
    const Float four = hn::Set(tag, 4.0F);
    const Float margin = hn::Set(tag, -12.0F);
    const Float left_margin = hn::Set(tag, narrow_.skip - 4.0F);
    const float* HWY_RESTRICT events = of_unknown_origin(events_.live + event_slot_);
    const float* HWY_RESTRICT ceiling = of_unknown_origin(band_ceiling<width, lanes>.values + (lanes - first_lane_));
    const float* HWY_RESTRICT scores_ago = scores_ago_;
    const float* HWY_RESTRICT shifted_ago = shifted_ago_;
    const float* HWY_RESTRICT shifted_two_ago = shifted_two_ago_;
    float* HWY_RESTRICT scores_now = scores_now_;
    float* HWY_RESTRICT shifted_now = shifted_now_;
    std::uint8_t* HWY_RESTRICT up_row = trace_row(band);
    std::uint8_t* HWY_RESTRICT left_row = up_row + bytes_per_band_trace / 2;

    auto exact = hn::Eq(half, half);
    Float first = half;
    Float before = half;
#pragma GCC unroll 26
    for (std::int32_t lane = 0; lane < lanes; lane += vector_lanes) {
      const Float distance = hn::Sub(hn::LoadU(tag, events + lane), hn::Load(tag, mean_.live + lane));
      const Float deviation = divide_exactly(distance, hn::Load(tag, stdv_.live + lane), hn::Load(tag, inverse_stdv_.live + lane));
      const Float emission = hn::NegMulAdd(half, hn::Mul(deviation, deviation), hn::Load(tag, peak_.live + lane));
      const Float shifted_left = hn::Load(tag, shifted_ago + lane);
      const Float diagonal = hn::Add(hn::Load(tag, shifted_two_ago + lane), add_round_to_odd(emission, step));
      const Float up = hn::Add(hn::Load(tag, scores_ago + lane), add_round_to_odd(emission, stay));
      const Float left = hn::Add(shifted_left, skip);
      const Float with_emission = hn::Max(diagonal, up);
      const Float score = hn::Min(hn::Max(with_emission, left), hn::LoadU(tag, ceiling + lane));
      store_lane_bits(hn::Ge(up, diagonal), lane, up_row);
      store_lane_bits(hn::Ge(left, with_emission), lane, left_row);
      if constexpr (arithmetic == Arithmetic::checked) {
        const Float bound = hn::Max(hn::MulAdd(four, emission, margin), hn::Add(shifted_left, left_margin));
        exact = hn::And(exact, hn::Le(with_emission, bound));
      }
      hn::Store(score, tag, scores_now + lane);
      if (lane == 0) {
        first = score;
      } else {
        hn::Store(shift_one_lane(score, before), tag, shifted_now + lane);
      }
      before = score;
    }
    hn::Store(shift_one_lane(first, before), tag, shifted_now);
    return hn::AllTrue(tag, exact);
  }

  // Double precision as the method is written, for any input. Only the cells at offsets [begin, end) exist.
  HWY_NOINLINE void fill_wide_band(std::int64_t band, std::int32_t begin, std::int32_t end) {
    const FloatTag tag;
    const IntTag int_tag;
    const Double stay = hn::Set(DoubleTag(), input_.log_probability.stay);
    const Double step = hn::Set(DoubleTag(), input_.log_probability.step);
    const Double skip = hn::Set(DoubleTag(), input_.log_probability.skip);
    const auto begin_offset = hn::Set(int_tag, begin);
    const auto last_offset = hn::Set(int_tag, end - 1);
    std::uint8_t* const up_row = trace_row(band);
    std::uint8_t* const left_row = up_row + bytes_per_band_trace / 2;
    Float before = hn::Set(tag, impossible);
    for (std::int32_t lane = 0; lane < lanes; lane += vector_lanes) {
      const Float distance = hn::Sub(hn::LoadU(tag, events_.live + event_slot_ + lane), hn::Load(tag, mean_.live + lane));
      const Float deviation = hn::Div(distance, hn::Load(tag, stdv_.live + lane));
      const Float emission = hn::Add(hn::Load(tag, peak_.live + lane), hn::Mul(hn::Mul(hn::Set(tag, -0.5F), deviation), deviation));
      const Double upper_emission = upper_half(emission);
      const Double lower_emission = lower_half(emission);
      const Float diagonal_score = hn::Load(tag, shifted_two_ago_ + lane);
      const Float up_score = hn::Load(tag, scores_ago_ + lane);
      const Float left_score = hn::Load(tag, shifted_ago_ + lane);
      const Float diagonal = round_halves(hn::Add(hn::Add(upper_half(diagonal_score), step), upper_emission),
                                          hn::Add(hn::Add(lower_half(diagonal_score), step), lower_emission));
      const Float up =
          round_halves(hn::Add(hn::Add(upper_half(up_score), stay), upper_emission), hn::Add(hn::Add(lower_half(up_score), stay), lower_emission));
      const Float left = round_halves(hn::Add(upper_half(left_score), skip), hn::Add(lower_half(left_score), skip));
      const Float with_emission = hn::IfThenElse(hn::Gt(up, diagonal), up, diagonal);
      const Float best = hn::IfThenElse(hn::Gt(left, with_emission), left, with_emission);
      store_lane_bits(hn::Eq(with_emission, up), lane, up_row);
      store_lane_bits(hn::Eq(best, left), lane, left_row);

      const auto unwrapped = hn::Iota(int_tag, lane - first_lane_);
      const auto offset = hn::Add(unwrapped, hn::And(hn::ShiftRight<31>(unwrapped), hn::Set(int_tag, lanes)));
      const auto missing = hn::Or(hn::Lt(offset, begin_offset), hn::Gt(offset, last_offset));
      const Float score = hn::IfThenElse(hn::RebindMask(tag, missing), hn::Set(tag, impossible), best);
      hn::Store(score, tag, scores_now_ + lane);
      hn::Store(shift_one_lane(score, before), tag, shifted_now_ + lane);
      before = score;
    }
    shifted_now_[0] = scores_now_[lanes - 1];
  }

  // A band that may reach over an edge of the matrix: trimmed events before the first k-mer, end cells at the last one.
  void fill_edge_band(std::int64_t band) {
    const std::int32_t begin = std::max({0, -first_kmer_, last_event_ - (event_count_ - 1)});
    const std::int32_t end = std::min({width, kmer_count_ - first_kmer_, last_event_ + 1});
    fill_wide_band(band, begin, end);

    const std::int32_t trim_offset = -1 - first_kmer_;
    if (trim_offset >= 0 && trim_offset < width) {
      const std::int32_t event = last_event_ - trim_offset;
      if (event >= 0 && event < event_count_) {
        scores_now_[lanes - 1] = static_cast<float>(input_.log_probability.trim * static_cast<double>(event + 1));
        shifted_now_[0] = scores_now_[lanes - 1];
      }
    }

    const std::int32_t last_kmer_offset = kmer_count_ - 1 - first_kmer_;
    if (last_kmer_offset < begin || last_kmer_offset >= end) return;
    const std::int32_t event = last_event_ - last_kmer_offset;
    const double score = scores_now_[modulo_lanes(std::int64_t{kmer_count_} - 1)];
    const auto trimmed = static_cast<float>(score + static_cast<double>(event_count_ - event) * input_.log_probability.trim);
    if (trimmed > best_end_score_) {
      best_end_score_ = trimmed;
      best_end_event_ = event;
    }
  }

  const BandFillInput& input_;
  const std::int32_t event_count_;
  const std::int32_t kmer_count_;
  const NarrowTransitions narrow_;

  LaneColumn<lanes> mean_, stdv_, inverse_stdv_, peak_;
  EventColumn<lanes> events_;
  alignas(64) float scores_[2][lanes];
  alignas(64) float shifted_[3][lanes];  // scores, every lane holding the one before it

  // Of band b when it is being filled: bands b - 1, b - 2 and b.
  float* scores_ago_ = scores_[0];
  float* scores_now_ = scores_[1];
  float* shifted_ago_ = shifted_[0];
  float* shifted_two_ago_ = shifted_[1];
  float* shifted_now_ = shifted_[2];

  // The lower left cell of the band, at first that of band 1.
  std::int32_t first_kmer_ = -1 - width / 2;
  std::int32_t last_event_ = width / 2;
  std::int32_t first_lane_ = 0;
  std::int32_t event_slot_ = 1;  // 2 - band, modulo lanes

  float best_end_score_ = impossible;
  std::int32_t best_end_event_ = -1;
  BandCounts counts_;
};

std::optional<BandFillResult> FillBands(const BandFillInput& input) {
  if (!input.guide.empty()) return BandFiller<GuidedBand>(input).fill();
  return BandFiller<AdaptiveBand>(input).fill();
}

#endif  // HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

}  // namespace sluice::abea::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::abea {

HWY_EXPORT(FillBands);

std::optional<BandFillResult> fill_bands(const BandFillInput& input) { return HWY_DYNAMIC_DISPATCH(FillBands)(input); }

}  // namespace sluice::abea
#endif  // HWY_ONCE
