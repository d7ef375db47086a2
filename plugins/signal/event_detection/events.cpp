// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Bit-identity rests on this: every value is defined as a sequence of IEEE f32 and f64 operations (README.md), and each
// shortcut below yields the same bits for a stated reason. Compile with -ffp-contract=off.
#include "event_detection/events.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "event_detection/detector_buffers.hpp"
#include "event_detection/peak_picker.hpp"

// AVX-512, AVX2, SSE4, plain code: SSSE3 and the Ice Lake subset would add compile time only. Targets whose vectors have
// no fixed size cannot hold vectors in classes, as is done below.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "event_detection/events.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef SLUICE_EVENT_DETECTION_ONCE_PER_FILE
#define SLUICE_EVENT_DETECTION_ONCE_PER_FILE
namespace sluice::event_detection {
namespace {

// Extremes of the magnitudes of some samples.
struct SampleRange {
  float largest = 0.0F;
  float smallest_nonzero = std::numeric_limits<float>::infinity();
  bool all_in_range = true;
};

// Scalar forms, for the ends of arrays that do not fill a vector.
inline float sample_picoamps(float picoamps, const SampleUnit&) { return picoamps; }
inline float sample_picoamps(std::int16_t raw, const SampleUnit& unit) { return (static_cast<float>(raw) + unit.offset) * unit.unit; }

inline void extend(SampleRange& range, float picoamps) {
  const float magnitude = std::fabs(picoamps);
  range.all_in_range = range.all_in_range && magnitude <= max_picoamps;
  range.largest = std::max(range.largest, magnitude);
  if (magnitude != 0.0F) range.smallest_nonzero = std::min(range.smallest_nonzero, magnitude);
}

// The value of the last bit of a positive f32: x is a multiple of it.
inline double last_place(float x) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23U);
  return std::ldexp(1.0, std::max(exponent, 1) - 127 - 23);
}

// The largest power of two that a sum, which is zero or far from the ends of f64's range, is a multiple of.
inline double granularity(double sum) {
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52U;
  const std::uint64_t mantissa = (bits & (hidden_bit - 1)) | hidden_bit;
  if (sum == 0.0) return std::numeric_limits<double>::infinity();
  const int exponent = static_cast<int>((bits >> 52U) & 0x7FFU);
  return std::ldexp(1.0, exponent - 1023 - 52 + std::countr_zero(mantissa));
}

// Whether adding `count` values to `sum` is free of rounding in any order. All partial sums are multiples of one
// power of two and none reaches 2^53 times that, so f64 holds each of them exactly.
inline bool sums_are_exact(double sum, std::size_t count, float largest, float smallest_nonzero) {
  constexpr double rounding_of_this_bound = 1.0 + 0x1p-50;
  const double bound = (std::fabs(sum) + static_cast<double>(count) * largest) * rounding_of_this_bound;
  return bound <= 0x1p53 * std::min(granularity(sum), last_place(smallest_nonzero));
}

}  // namespace
}  // namespace sluice::event_detection
#endif  // SLUICE_EVENT_DETECTION_ONCE_PER_FILE

HWY_BEFORE_NAMESPACE();
namespace sluice::event_detection {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using F64 = hn::CappedTag<double, 8>;
using F32Half = hn::Rebind<float, F64>;  // as many lanes as F64

// Plain code has one lane of either type, and then nothing to join.
HWY_INLINE hn::Vec<F32> join(hn::Vec<F32Half> upper, hn::Vec<F32Half> lower) {
#if HWY_TARGET == HWY_SCALAR
  static_cast<void>(upper);
  return lower;
#else
  return hn::Combine(F32(), upper, lower);
#endif
}

HWY_INLINE hn::Vec<F32> load_picoamps(const float* samples, hn::Vec<F32>, hn::Vec<F32>) { return hn::LoadU(F32(), samples); }

HWY_INLINE hn::Vec<F32> load_picoamps(const std::int16_t* samples, hn::Vec<F32> offset, hn::Vec<F32> unit) {
  const hn::Rebind<std::int16_t, F32> d16;
  const hn::RebindToSigned<F32> d32;
  const auto raw = hn::ConvertTo(F32(), hn::PromoteTo(d32, hn::LoadU(d16, samples)));
  return hn::Mul(hn::Add(raw, offset), unit);
}

// Converts samples to pA; `picoamps` gets whole vectors, zeros past the end, and has vector_slack more elements.
template <class Sample>
SampleRange convert(const Sample* HWY_RESTRICT samples, std::size_t count, const SampleUnit& unit, float* HWY_RESTRICT picoamps) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, unit.offset);
  const auto scale = hn::Set(d, unit.unit);
  const auto limit = hn::Set(d, max_picoamps);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto zero = hn::Zero(d);
  auto largest = zero;
  auto smallest = infinity;
  auto in_range = hn::Eq(zero, zero);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = load_picoamps(samples + i, offset, scale);
    hn::StoreU(x, d, picoamps + i);
    const auto magnitude = hn::Abs(x);
    in_range = hn::And(in_range, hn::Le(magnitude, limit));
    largest = hn::Max(largest, magnitude);
    smallest = hn::Min(smallest, hn::IfThenElse(hn::Eq(magnitude, zero), infinity, magnitude));
  }
  SampleRange range;
  range.all_in_range = hn::AllTrue(d, in_range);
  range.largest = hn::GetLane(hn::MaxOfLanes(d, largest));
  range.smallest_nonzero = hn::GetLane(hn::MinOfLanes(d, smallest));
  for (; i < count; ++i) {
    picoamps[i] = sample_picoamps(samples[i], unit);
    extend(range, picoamps[i]);
  }
  std::fill_n(picoamps + count, vector_slack, 0.0F);
  return range;
}

// Sums of the lanes of a vector up to each lane, and of all lanes in every lane.
class LaneScan {
 public:
  LaneScan() {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(F64()));
    HWY_ALIGN std::int64_t source[max_lanes];
    HWY_ALIGN std::int64_t valid[max_lanes];
    for (std::size_t step = 0; step < max_steps; ++step) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const std::int64_t from = lane - (std::int64_t{1} << step);
        source[lane] = std::max<std::int64_t>(from, 0);
        valid[lane] = from >= 0 ? -1 : 0;
      }
      source_[step] = hn::Load(I64(), source);
      valid_[step] = hn::Load(I64(), valid);
    }
    last_ = hn::Set(I64(), lanes - 1);
  }

  HWY_INLINE hn::Vec<F64> scan(hn::Vec<F64> v) const {
    const F64 d;
    if (hn::MaxLanes(d) > 1) v = step(v, 0);
    if (hn::MaxLanes(d) > 2) v = step(v, 1);
    if (hn::MaxLanes(d) > 4) v = step(v, 2);
    return v;
  }
  HWY_INLINE hn::Vec<F64> last(hn::Vec<F64> v) const { return hn::TableLookupLanes(v, hn::IndicesFromVec(F64(), last_)); }

 private:
  using I64 = hn::RebindToSigned<F64>;
  static constexpr std::size_t max_steps = 3;
  static constexpr std::size_t max_lanes = 8;

  HWY_INLINE hn::Vec<F64> step(hn::Vec<F64> v, std::size_t step) const {
    const F64 d;
    const auto shifted = hn::TableLookupLanes(v, hn::IndicesFromVec(d, source_[step]));
    return hn::Add(v, hn::IfThenElseZero(hn::MaskFromVec(hn::BitCast(d, valid_[step])), shifted));
  }

  hn::Vec<I64> source_[max_steps];
  hn::Vec<I64> valid_[max_steps];
  hn::Vec<I64> last_;
};

// Continues the prefix sums: sum[0] is given, sum[i + 1] = sum[i] + x[i]; square_sum likewise with x[i] * x[i], the
// product rounded to f32. Where no addition rounds, the order of additions is free and whole vectors are summed.
void extend_prefix_sums(const float* HWY_RESTRICT picoamps, std::size_t count, const SampleRange& range, const LaneScan& lane_scan,
                        double* HWY_RESTRICT sum, double* HWY_RESTRICT square_sum) {
  const float smallest_square = range.smallest_nonzero * range.smallest_nonzero;
  const float largest_square = range.largest * range.largest;
  const bool exact =
      sums_are_exact(sum[0], count, range.largest, range.smallest_nonzero) && sums_are_exact(square_sum[0], count, largest_square, smallest_square);
  if (!exact) {
    double s = sum[0];
    double q = square_sum[0];
    for (std::size_t i = 0; i < count; ++i) {
      const float x = picoamps[i];
      s += x;
      q += x * x;
      sum[i + 1] = s;
      square_sum[i + 1] = q;
    }
    return;
  }
  const F64 d;
  const F32Half d32;
  const std::size_t lanes = hn::Lanes(d);
  auto s = hn::Set(d, sum[0]);
  auto q = hn::Set(d, square_sum[0]);
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto x = hn::LoadU(d32, picoamps + i);
    const auto sum_scan = lane_scan.scan(hn::PromoteTo(d, x));
    const auto square_scan = lane_scan.scan(hn::PromoteTo(d, hn::Mul(x, x)));
    hn::StoreU(hn::Add(s, sum_scan), d, sum + i + 1);
    hn::StoreU(hn::Add(q, square_scan), d, square_sum + i + 1);
    s = hn::Add(s, lane_scan.last(sum_scan));
    q = hn::Add(q, lane_scan.last(square_scan));
  }
}

// Division by an integer below 2^20. With fused multiply-add, the quotient by the rounded reciprocal is corrected
// once (Markstein): the result errs by less than 2^-22 of the last place before its rounding, while the quotient of a
// number and an integer w lies on, or at least 1 / (2w) of the last place from, a point where rounding changes, and never
// on one half way; so it is the correctly rounded quotient, what IEEE division gives. Underflow does no harm: the
// remainder is a multiple of the smallest subnormal number. Replaces 16 cycles per vector by 2.
template <class D>
class Divisor {
 public:
  using T = hn::TFromD<D>;
  explicit Divisor(std::uint32_t window) : divisor_(hn::Set(D(), static_cast<T>(window))), reciprocal_(hn::Set(D(), T{1} / static_cast<T>(window))) {}

  HWY_INLINE hn::Vec<D> divide(hn::Vec<D> dividend) const {
#if HWY_NATIVE_FMA
    const auto quotient = hn::Mul(dividend, reciprocal_);
    const auto remainder = hn::NegMulAdd(divisor_, quotient, dividend);
    return hn::MulAdd(remainder, reciprocal_, quotient);
#else
    return hn::Div(dividend, divisor_);
#endif
  }

 private:
  hn::Vec<D> divisor_;
  hn::Vec<D> reciprocal_;
};

// Means and squares of the windows before and after F64-many positions, rounded where the definition rounds.
struct WindowPair {
  hn::Vec<F32Half> mean_before;
  hn::Vec<F32Half> mean_after;
  hn::Vec<F32Half> variance;  // sum of both windows' variances
};

struct WindowDivisors {
  explicit WindowDivisors(std::uint32_t window) : f64(window), f32_half(window), f32(window) {}
  Divisor<F64> f64;
  Divisor<F32Half> f32_half;
  Divisor<F32> f32;
};

HWY_INLINE WindowPair compare_windows(const double* HWY_RESTRICT sum, const double* HWY_RESTRICT square_sum, std::ptrdiff_t window,
                                      const WindowDivisors& divisors) {
  const F64 d;
  const F32Half d32;
  const auto sum_here = hn::LoadU(d, sum);
  const auto square_here = hn::LoadU(d, square_sum);
  const auto sum_before = hn::Sub(sum_here, hn::LoadU(d, sum - window));
  const auto square_before = hn::Sub(square_here, hn::LoadU(d, square_sum - window));
  const auto sum_after = hn::DemoteTo(d32, hn::Sub(hn::LoadU(d, sum + window), sum_here));
  const auto square_after = hn::DemoteTo(d32, hn::Sub(hn::LoadU(d, square_sum + window), square_here));

  const auto mean_before = hn::DemoteTo(d32, divisors.f64.divide(sum_before));
  const auto mean_after = divisors.f32_half.divide(sum_after);
  auto variance = divisors.f64.divide(square_before);
  variance = hn::Sub(variance, hn::PromoteTo(d, hn::Mul(mean_before, mean_before)));
  variance = hn::Add(variance, hn::PromoteTo(d, divisors.f32_half.divide(square_after)));
  variance = hn::Sub(variance, hn::PromoteTo(d, hn::Mul(mean_after, mean_after)));
  return {mean_before, mean_after, hn::DemoteTo(d32, variance)};
}

// t-statistics of `count` positions; sum[i] is the prefix sum at position i. Whole vectors are written.
void t_statistics(const double* HWY_RESTRICT sum, const double* HWY_RESTRICT square_sum, std::size_t count, std::uint32_t window,
                  float* HWY_RESTRICT t) {
  const F32 d;
  const std::size_t half = hn::Lanes(F64());
  const auto w = static_cast<std::ptrdiff_t>(window);
  const WindowDivisors divisors(window);
  const auto least_variance = hn::Set(d, std::numeric_limits<float>::min());
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const WindowPair lower = compare_windows(sum + i, square_sum + i, w, divisors);
    const WindowPair upper = compare_windows(sum + i + half, square_sum + i + half, w, divisors);
    const auto before = join(upper.mean_before, lower.mean_before);
    const auto after = join(upper.mean_after, lower.mean_after);
    const auto variance = hn::Max(join(upper.variance, lower.variance), least_variance);
    const auto difference = hn::Abs(hn::Sub(after, before));
    hn::StoreU(hn::Div(difference, hn::Sqrt(divisors.f32.divide(variance))), d, t + i);
  }
}

// The statistic is zero where a window would reach over an end of the signal.
void clear_ends(std::int64_t begin, std::int64_t end, std::int64_t signal_samples, std::uint32_t window, float* t) {
  const std::int64_t first = std::min<std::int64_t>(window, end);
  const std::int64_t past_last = std::max<std::int64_t>(signal_samples - window + 1, std::max(first, begin));
  for (std::int64_t i = begin; i < first; ++i) t[i - begin] = 0.0F;
  for (std::int64_t i = past_last; i < end; ++i) t[i - begin] = 0.0F;
}

// One bit per position: test(i) gives the mask for the positions from i on. Calls test beyond count, up to whole words.
template <class Test>
HWY_INLINE void mark_positions(std::size_t count, const Test& test, std::uint64_t* HWY_RESTRICT words) {
  const F32 d;
  for (std::size_t word = 0; word * 64 < count; ++word) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
      std::uint8_t mask[8] = {};
      hn::StoreMaskBits(d, test(word * 64 + i), mask);
      std::uint64_t lane_bits = 0;
      std::memcpy(&lane_bits, mask, sizeof(lane_bits));
      bits |= lane_bits << i;
    }
    words[word] = bits;
  }
}

void mark_above(const float* HWY_RESTRICT t, std::size_t count, float threshold, std::uint64_t* HWY_RESTRICT words) {
  const F32 d;
  const auto limit = hn::Set(d, threshold);
  mark_positions(
      count, [&](std::size_t i) HWY_ATTR { return hn::Gt(hn::LoadU(d, t + i), limit); }, words);
}

// Reads words one past the block's of `rises`.
void mark_summits(const std::uint64_t* HWY_RESTRICT above, const std::uint64_t* HWY_RESTRICT rises, std::size_t count,
                  std::uint64_t* HWY_RESTRICT words) {
  for (std::size_t word = 0; word * 64 < count; ++word) {
    words[word] = above[word] & rises[word] & ~(rises[word] >> 1U | rises[word + 1] << 63U);
  }
}

void mark_rises(const float* HWY_RESTRICT t, std::size_t count, std::uint64_t* HWY_RESTRICT words) {
  const F32 d;
  const float* const before = t - 1;
  mark_positions(
      count, [&](std::size_t i) HWY_ATTR { return hn::Gt(hn::LoadU(d, t + i), hn::LoadU(d, before + i)); }, words);
}

void mark_settles(const float* HWY_RESTRICT t, std::size_t count, std::int32_t settling, float peak_height, std::uint64_t* HWY_RESTRICT words) {
  const F32 d;
  const auto height = hn::Set(d, peak_height);
  const auto settles = [&](std::size_t i) HWY_ATTR {
    const auto here = hn::LoadU(d, t + i);
    auto highest = hn::LoadU(d, t + i + 1);
    auto lowest = highest;
    for (std::int32_t ahead = 2; ahead <= settling; ++ahead) {
      const auto next = hn::LoadU(d, t + i + ahead);
      highest = hn::Max(highest, next);
      lowest = hn::Min(lowest, next);
    }
    return hn::And(hn::Le(highest, here), hn::Gt(hn::Sub(here, lowest), height));
  };
  mark_positions(count, settles, words);
}

// Sums over all samples before `position`, from the last checkpoint before it.
template <class Sample>
void resum(const Sample* samples, const SampleUnit& unit, const BoundarySums& checkpoints, std::int32_t position, double& sum, double& square_sum) {
  const auto after = std::upper_bound(checkpoints.position.begin(), checkpoints.position.end(), position);
  const auto index = static_cast<std::size_t>(after - checkpoints.position.begin()) - 1;
  sum = checkpoints.sum[index];
  square_sum = checkpoints.square_sum[index];
  for (std::int32_t i = checkpoints.position[index]; i < position; ++i) {
    const float x = sample_picoamps(samples[i], unit);
    sum += x;
    square_sum += x * x;
  }
}

// Level of each event from the sums at its two ends, all in f32 after the differences.
void event_levels(const BoundarySums& ends, std::size_t count, EventTable& events) {
  const F32 d;
  const F64 d64;
  const F32Half d32;
  const hn::RebindToSigned<F32> di;
  const std::size_t half = hn::Lanes(d64);
  const std::int32_t* const position = ends.position.data();
  const auto difference = [&](const double* prefix) HWY_ATTR {
    const auto lower = hn::DemoteTo(d32, hn::Sub(hn::LoadU(d64, prefix + 1), hn::LoadU(d64, prefix)));
    const auto upper = hn::DemoteTo(d32, hn::Sub(hn::LoadU(d64, prefix + half + 1), hn::LoadU(d64, prefix + half)));
    return join(upper, lower);
  };
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto start = hn::LoadU(di, position + i);
    const auto samples = hn::Sub(hn::LoadU(di, position + i + 1), start);
    const auto length = hn::ConvertTo(d, samples);
    const auto mean = hn::Div(difference(ends.sum.data() + i), length);
    const auto variance = hn::Sub(hn::Div(difference(ends.square_sum.data() + i), length), hn::Mul(mean, mean));
    hn::StoreU(start, di, events.start_sample.data() + i);
    hn::StoreU(samples, di, events.length_samples.data() + i);
    hn::StoreU(mean, d, events.mean.data() + i);
    hn::StoreU(hn::Sqrt(hn::Max(variance, hn::Zero(d))), d, events.stdv.data() + i);
  }
  for (; i < count; ++i) {
    events.start_sample[i] = position[i];
    events.length_samples[i] = position[i + 1] - position[i];
    const auto length = static_cast<float>(events.length_samples[i]);
    const float mean = static_cast<float>(ends.sum[i + 1] - ends.sum[i]) / length;
    const float mean_square = static_cast<float>(ends.square_sum[i + 1] - ends.square_sum[i]) / length;
    const float variance = mean_square - mean * mean;
    events.mean[i] = mean;
    events.stdv[i] = std::sqrt(variance > 0.0F ? variance : 0.0F);
  }
}

template <class Sample>
DetectionStatus detect(const Sample* samples, std::int64_t count, const SampleUnit& unit, const DetectorParams& params,
                       DetectorWorkspace::Buffers& buffers, EventTable& events) {
  const LaneScan lane_scan;
  const auto longest_window = static_cast<std::int64_t>(std::max(params.window_short, params.window_long));
  // Positions before the block whose prefix sums are kept; a multiple of a cache line's 8 f64.
  const std::int64_t history = (longest_window + 7) / 8 * 8;

  BoundarySums& boundaries = buffers.boundaries;
  BoundarySums& checkpoints = buffers.checkpoints;
  std::size_t boundary_count = 1;
  const auto reserve_boundaries = [&](std::size_t needed) {
    if (boundaries.position.size() >= needed) return;
    boundaries.position.resize(needed * 2);
    boundaries.sum.resize(needed * 2);
    boundaries.square_sum.resize(needed * 2);
  };
  reserve_boundaries(block_samples + 2);
  boundaries.position[0] = 0;
  boundaries.sum[0] = 0.0;
  boundaries.square_sum[0] = 0.0;
  checkpoints.position.clear();
  checkpoints.sum.clear();
  checkpoints.square_sum.clear();

  PeakPicker picker(params);
  std::int64_t known = 0;  // prefix sums are known up to this position
  buffers.sum[history] = 0.0;
  buffers.square_sum[history] = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += block_samples) {
    const std::int64_t end = std::min<std::int64_t>(begin + block_samples, count);
    const auto block_count = static_cast<std::size_t>(end - begin);
    const std::int64_t wanted = std::min(end + longest_window, count);
    double* const sum = buffers.sum.data() + history;  // index 0 is position `begin`
    double* const square_sum = buffers.square_sum.data() + history;

    if (wanted > known) {
      const auto chunk = static_cast<std::size_t>(wanted - known);
      const SampleRange range = convert(samples + known, chunk, unit, buffers.picoamps.data());
      if (!range.all_in_range) return DetectionStatus::sample_out_of_range;
      const std::int64_t local = known - begin;
      checkpoints.position.push_back(static_cast<std::int32_t>(known));
      checkpoints.sum.push_back(sum[local]);
      checkpoints.square_sum.push_back(square_sum[local]);
      extend_prefix_sums(buffers.picoamps.data(), chunk, range, lane_scan, sum + local, square_sum + local);
      known = wanted;
    }

    float* const t_short = buffers.t_short.data() + DetectorWorkspace::Buffers::statistic_front;
    float* const t_long = buffers.t_long.data() + DetectorWorkspace::Buffers::statistic_front;
    t_short[-1] = t_short[block_samples - 1];
    t_statistics(sum, square_sum, block_count, params.window_short, t_short);
    t_statistics(sum, square_sum, block_count, params.window_long, t_long);
    clear_ends(begin, end, count, params.window_short, t_short);
    clear_ends(begin, end, count, params.window_long, t_long);
    mark_above(t_short, block_count, params.threshold_short, buffers.above_short.data());
    mark_above(t_long, block_count, params.threshold_long, buffers.above_long.data());
    mark_rises(t_short, block_count, buffers.rises.data());
    mark_summits(buffers.above_short.data(), buffers.rises.data(), block_count, buffers.summits.data());
    mark_settles(t_short, block_count, settling_time(params.window_short), params.peak_height, buffers.settles.data());

    reserve_boundaries(boundary_count + block_samples + 1);
    StatisticBlock block;
    block.begin = static_cast<std::int32_t>(begin);
    block.end = static_cast<std::int32_t>(end);
    block.t_short = t_short;
    block.t_long = t_long;
    block.above_short = buffers.above_short.data();
    block.above_long = buffers.above_long.data();
    block.rises = buffers.rises.data();
    block.summits = buffers.summits.data();
    block.settles = buffers.settles.data();
    std::int32_t* const first_new = boundaries.position.data() + boundary_count;
    const std::int32_t* const past_new = picker.advance(block, first_new);
    for (const std::int32_t* position = first_new; position != past_new; ++position, ++boundary_count) {
      const std::int64_t local = *position - begin;
      if (local >= -history) {
        boundaries.sum[boundary_count] = sum[local];
        boundaries.square_sum[boundary_count] = square_sum[local];
      } else {
        resum(samples, unit, checkpoints, *position, boundaries.sum[boundary_count], boundaries.square_sum[boundary_count]);
      }
    }

    if (end < count) {
      const auto kept = static_cast<std::size_t>(history + known - end + 1);
      std::copy_n(buffers.sum.data() + block_samples, kept, buffers.sum.data());
      std::copy_n(buffers.square_sum.data() + block_samples, kept, buffers.square_sum.data());
    } else {
      boundaries.position[boundary_count] = static_cast<std::int32_t>(count);
      boundaries.sum[boundary_count] = sum[block_count];
      boundaries.square_sum[boundary_count] = square_sum[block_count];
    }
  }
  if (boundary_count == 1) return DetectionStatus::no_boundary;

  events.start_sample.resize(boundary_count);
  events.length_samples.resize(boundary_count);
  events.mean.resize(boundary_count);
  events.stdv.resize(boundary_count);
  event_levels(boundaries, boundary_count, events);
  return DetectionStatus::ok;
}

DetectionStatus detect_raw(const std::int16_t* samples, std::int64_t count, const SampleUnit& unit, const DetectorParams& params,
                           DetectorWorkspace::Buffers& buffers, EventTable& events) {
  return detect(samples, count, unit, params, buffers, events);
}

DetectionStatus detect_picoamps(const float* samples, std::int64_t count, const DetectorParams& params, DetectorWorkspace::Buffers& buffers,
                                EventTable& events) {
  return detect(samples, count, SampleUnit{}, params, buffers, events);
}

}  // namespace HWY_NAMESPACE
}  // namespace sluice::event_detection
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::event_detection {

HWY_EXPORT(detect_raw);
HWY_EXPORT(detect_picoamps);

namespace {

DetectionStatus unit_of(const Calibration& calibration, SampleUnit& unit) {
  unit = {calibration.offset, calibration.range / calibration.digitisation};
  const bool usable = std::isfinite(unit.offset) && std::isfinite(unit.unit) && unit.unit != 0.0F;
  return usable ? DetectionStatus::ok : DetectionStatus::bad_calibration;
}

DetectionStatus check(const DetectorParams& params, std::size_t samples) {
  const auto window_ok = [](std::uint32_t window) { return window >= 2 && window <= max_window; };
  const auto level_ok = [](float level) { return std::isfinite(level) && level >= 0.0F; };
  if (!window_ok(params.window_short) || !window_ok(params.window_long) || !level_ok(params.threshold_short) || !level_ok(params.threshold_long) ||
      !level_ok(params.peak_height)) {
    return DetectionStatus::bad_parameters;
  }
  if (samples == 0) return DetectionStatus::empty_signal;
  constexpr std::size_t longest = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - 4096;
  return samples <= longest ? DetectionStatus::ok : DetectionStatus::signal_too_long;
}

}  // namespace

std::string_view name(DetectionStatus status) {
  switch (status) {
    case DetectionStatus::ok:
      return "ok";
    case DetectionStatus::empty_signal:
      return "empty_signal";
    case DetectionStatus::no_boundary:
      return "no_boundary";
    case DetectionStatus::bad_calibration:
      return "bad_calibration";
    case DetectionStatus::bad_parameters:
      return "bad_parameters";
    case DetectionStatus::sample_out_of_range:
      return "sample_out_of_range";
    case DetectionStatus::signal_too_long:
      return "signal_too_long";
  }
  return "unknown";
}

void EventTable::clear() {
  start_sample.clear();
  length_samples.clear();
  mean.clear();
  stdv.clear();
}

std::int64_t events_before(std::span<const std::int32_t> start_samples, std::int64_t sample) {
  const auto before = std::lower_bound(start_samples.begin(), start_samples.end(), sample) - start_samples.begin();
  return std::clamp<std::int64_t>(before, 0, std::max<std::int64_t>(std::ssize(start_samples) - 1, 0));
}

void EventTable::drop_before(std::int64_t sample) {
  const std::int64_t dropped = events_before(start_sample, sample);
  const auto drop = [dropped](auto& column) { column.erase(column.begin(), column.begin() + dropped); };
  drop(start_sample);
  drop(length_samples);
  drop(mean);
  drop(stdv);
}

DetectorWorkspace::DetectorWorkspace() : buffers_(std::make_unique<Buffers>()) {}
DetectorWorkspace::~DetectorWorkspace() = default;
DetectorWorkspace::DetectorWorkspace(DetectorWorkspace&&) noexcept = default;
DetectorWorkspace& DetectorWorkspace::operator=(DetectorWorkspace&&) noexcept = default;

DetectionStatus detect_events(std::span<const std::int16_t> raw, const Calibration& calibration, const DetectorParams& params,
                              DetectorWorkspace& workspace, EventTable& events) {
  events.clear();
  SampleUnit unit;
  if (const auto status = check(params, raw.size()); status != DetectionStatus::ok) return status;
  if (const auto status = unit_of(calibration, unit); status != DetectionStatus::ok) return status;
  return HWY_DYNAMIC_DISPATCH(detect_raw)(raw.data(), static_cast<std::int64_t>(raw.size()), unit, params, workspace.buffers(), events);
}

DetectionStatus detect_events(std::span<const float> picoamps, const DetectorParams& params, DetectorWorkspace& workspace, EventTable& events) {
  events.clear();
  if (const auto status = check(params, picoamps.size()); status != DetectionStatus::ok) return status;
  return HWY_DYNAMIC_DISPATCH(detect_picoamps)(picoamps.data(), static_cast<std::int64_t>(picoamps.size()), params, workspace.buffers(), events);
}

DetectionStatus to_picoamps(std::span<const std::int16_t> raw, const Calibration& calibration, std::span<float> picoamps) {
  if (raw.size() != picoamps.size()) throw std::invalid_argument("to_picoamps: raw and picoamps differ in size");
  SampleUnit unit;
  if (const auto status = unit_of(calibration, unit); status != DetectionStatus::ok) return status;
  bool in_range = true;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    picoamps[i] = sample_picoamps(raw[i], unit);
    in_range = in_range && std::fabs(picoamps[i]) <= max_picoamps;
  }
  return in_range ? DetectionStatus::ok : DetectionStatus::sample_out_of_range;
}

}  // namespace sluice::event_detection
#endif  // HWY_ONCE
