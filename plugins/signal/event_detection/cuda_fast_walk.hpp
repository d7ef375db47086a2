// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The walk that nearly every chunk takes: half the operations of the exact one, because it compares statistics that err by less than 2^-21 and
// notices every comparison that this error could turn. A chunk with such a comparison is left to the exact walk. Everything also compiles for the
// host.
//
// Samples are scaled by 2^7, which changes no rounding: x is a multiple of 2^-11 and its rounded square an integer for samples from 2^12 (32 pA) on.
// Below 2^15 (256 pA) the squares of a window, their mean and the squares of the means fit 32 bits, and the differences of the definition,
//   Q - W M + W (R - N)   (see ShortStatistic for the letters),
// are exact modulo 2^32. The result, W v, is positive and below 2^31, so nothing is lost. Then t = |difference of the means| / sqrt(v / W) is
// W |difference| / sqrt(W v): the kernel drops the factor W and compares with thresholds divided by it.
//
// The error: the definition rounds v, v / W, the root and the quotient (3.1 * 2^-24 of t); here W v is rounded (2^-24 of t, where v is at least
// 2^-11 pA^2), the inverse root errs by 2^-22.4 and the product by 2^-24. Together less than 2^-21.

#include "event_detection/cuda_batch.hpp"

namespace sluice::event_detection::cuda {

// f32 to the nearest integer; any integer where x is none of [0, 2^32).
__host__ __device__ __forceinline__ std::uint32_t to_integer(float x) {
#ifdef __CUDA_ARCH__
  return __float2uint_rn(x);
#else
  return x >= 0.0F && x < 0x1p32F ? static_cast<std::uint32_t>(x) : 0U;
#endif
}

__host__ __device__ __forceinline__ float saturated(float x) {
#ifdef __CUDA_ARCH__
  return __saturatef(x);
#else
  return x > 0.0F ? std::min(x, 1.0F) : 0.0F;
#endif
}

template <int W>
class FastStatistic {
 public:
  static constexpr float scale = 0x1p7F;
  static constexpr float least_sample = 0x1p12F;                             // 32 pA
  static constexpr float past_largest_sample = W == 3 ? 0x1p15F : 24576.0F;  // 256 or 192 pA: W squares fit 32 bits
  static constexpr float least_variance = W * 0x1p3F;                        // times W; v = 2^-11 pA^2
  static constexpr int samples_before_first = 2 * W - 1;                     // pushed before a value is right

  struct Value {
    float t;             // over W
    float variance;      // times W, scaled by 2^14
    float square_after;  // scaled by 2^14
  };

  __host__ __device__ __forceinline__ Value push(float x) {
    const float squared = x * x;
    const std::uint32_t p = to_integer(squared);
    const double wide = widen_positive(x);
    double sum;
    std::uint32_t square_sum;
    if constexpr (W == 3) {
      sum = wide + pair_;
      pair_ = wide + x_[0];
      x_[0] = wide;
      square_sum = p + p_[0] + p_[1];
    } else {
      sum_ += wide - x_[W - 1];
      sum = sum_;
      square_sum_ += p - p_[W - 1];
      square_sum = square_sum_;
      for (int n = W - 1; n > 0; --n) x_[n] = x_[n - 1];
      x_[0] = wide;
    }
    for (int n = W - 1; n > 0; --n) p_[n] = p_[n - 1];
    p_[0] = p;

    const float mean_after = divide_by<W>(static_cast<float>(sum));
    const float square_mean_after = divide_by<W>(static_cast<float>(square_sum));
    Value value;
    value.square_after = mean_after * mean_after;
    const float excess = square_mean_after - value.square_after;
    value.variance = fmaf(static_cast<float>(W), excess, static_cast<float>(static_cast<std::int32_t>(difference_[W - 1])));
    value.t = fabsf(mean_after - mean_[W - 1]) * approximate_inverse_root(value.variance);

    for (int n = W - 1; n > 0; --n) mean_[n] = mean_[n - 1];
    for (int n = W - 1; n > 0; --n) difference_[n] = difference_[n - 1];
    mean_[0] = static_cast<float>(sum * (1.0 / static_cast<double>(W)));
    difference_[0] = square_sum - W * to_integer(mean_[0] * mean_[0]);
    return value;
  }

 private:
  double x_[W == 3 ? 1 : W] = {}, pair_ = 0.0, sum_ = 0.0;
  std::uint32_t p_[W] = {}, difference_[W] = {}, square_sum_ = 0;
  float mean_[W] = {};
};

// Thresholds for the fast walk, over the window.
struct FastLimits {
  float height, threshold, long_possible_above;
  float slack;  // see FastPicker::advance

  template <int W>
  static FastLimits of(const DetectorParams& p, float long_possible_above) {
    return {p.peak_height / W, p.threshold_short / W, long_possible_above / W, p.peak_height / W * 0x1p-19F};
  }
};

// The peak picker on approximate statistics, in groups of 8 samples. Positions are counted from `reach` before the group's first sample; so those of
// the samples that a group is fed are compile-time constants.
template <int W>
class FastPicker {
 public:
  static constexpr int reach = W == 3 ? 24 : 32;  // marks of the positions [-reach, 32 - reach) of a group are kept
  static constexpr std::int32_t never = INT_MIN / 2, suppressed = INT_MAX / 2;

  __host__ __device__ FastPicker() : first_(reach + 1 - W) {}

  // The statistic at the position W - 1 before sample n of the group.
  __host__ __device__ __forceinline__ void advance(const typename FastStatistic<W>::Value& at, int n, const FastLimits& limits) {
    const std::int32_t position = n + 1 - W + reach;
    const float t = at.t;
    // Two statistics, each wrong by 2^-21 of itself, compared where they differ by 0 or by the height: this bounds what can be turned, with the
    // roundings of differences and of the thresholds, twice over.
    const float doubt = fmaf(t, 0x1p-19F, limits.slack);
    const float rise = t - value_;
    const float progress = direction_ * rise;
    const float reversal = progress + limits.height;
    const float excess = t - limits.threshold;
    const float doubt_squared = doubt * doubt;
    // Sums of what is not negative, as predicates are scarce.
    doubts_ += saturated(fmaf(-reversal, reversal, doubt_squared));
    doubts_ += saturated(fmaf(-excess, excess, doubt_squared));
    doubts_ += saturated(FastStatistic<W>::least_variance - at.variance);
    const bool on = progress > 0.0F;
    const bool back = reversal < 0.0F;
    const bool enter = !in_peak_ & back;
    const bool take = on | enter;
    value_ = take ? t : value_;
    peak_ = take ? position : peak_;
    const bool high = in_peak_ & (value_ > limits.threshold);
    // Equal statistics are common, as windows may hold the same samples in another order. They matter only for the maximum of a peak that may be
    // reported: a descent's minimum stays what it is, and a low peak's maximum moves when it rises above the threshold.
    if (high) doubts_ += saturated(fmaf(-progress, progress, doubt_squared));
    fell_ = fell_ | (high & back);
    in_peak_ = in_peak_ | back;

    // See ChunkWalk: the short detector suppresses the long one, to which positions [first_, position) were left.
    const bool left_to_long = high & (flagged_ > first_);
    stretch_first_ = left_to_long ? first_ : stretch_first_;
    stretch_stop_ = left_to_long ? position : stretch_stop_;
    first_ = high ? suppressed : first_;
    const bool may_exceed = (!in_peak_ & (t > limits.long_possible_above)) | (at.variance < at.square_after * (W * least_certain_variance));
    flagged_ = may_exceed ? position : flagged_;

    const bool report = fell_ & (peak_ < position - W / 2);
    const std::uint32_t bit = 1U << (peak_ & 31);
    marks_ |= report ? bit : 0U;
    first_ = report ? max(peak_ + W + 1, position) : first_;
    value_ = report ? t : value_;
    in_peak_ = in_peak_ & !report;
    fell_ = fell_ & !report;
    direction_ = in_peak_ ? 1.0F : -1.0F;
  }

  // After a group: its first 8 positions get final and leave.
  __host__ __device__ __forceinline__ std::uint32_t end_group(const FastLimits& limits) {
    const std::uint32_t leaving = marks_ & 0xFFU;
    marks_ >>= 8;
    peak_ -= 8;
    first_ -= 8;
    flagged_ -= 8;
    doubts_ = too_old(limits) ? 1.0F : doubts_;
    return leaving;
  }

  // Forgets what the warm-up found, but for the state.
  __host__ __device__ void begin_chunk(const FastLimits& limits) {
    marks_ = 0;
    doubts_ = too_old(limits) | !(value_ >= 0.0F) ? 1.0F : 0.0F;
    stretch_stop_ = never;
  }

  // A stretch of the last group that may belong to the long detector, in the group's positions before end_group. There is at most one in 8 positions,
  // as the short detector takes longer from one peak to the next.
  __host__ __device__ bool take_stretch(std::int32_t& first, std::int32_t& stop) {
    if (stretch_stop_ == never) return false;
    first = stretch_first_;
    stop = stretch_stop_;
    stretch_stop_ = never;
    return true;
  }

  __host__ __device__ PickerState state(std::int64_t group_position) const {
    const auto to_read = [&](std::int32_t position) { return static_cast<std::int32_t>(group_position + position - reach); };
    return {value_, in_peak_ ? to_read(peak_) : -1, first_ > suppressed / 2 ? INT_MAX : to_read(first_), fell_ ? 1 : 0};
  }
  __host__ __device__ bool doubtful() const { return !(doubts_ == 0.0F); }
  __host__ __device__ std::uint32_t marks() const { return marks_; }

 private:
  // A peak that may be reported, of which the place for its mark has left. Low ones may last: they move when they rise above the threshold.
  __host__ __device__ bool too_old(const FastLimits& limits) const { return in_peak_ & (peak_ < 0) & (value_ > limits.threshold); }

  float value_ = FLT_MAX, direction_ = -1.0F, doubts_ = 0.0F;
  std::int32_t peak_ = never, first_, flagged_ = never, stretch_first_ = 0, stretch_stop_ = never;
  std::uint32_t marks_ = 0;
  bool in_peak_ = false, fell_ = false;
};

// One chunk inside a read, whole and with enough of the read before it. False when it has to be walked exactly; then nothing is left behind but
// words of marks that the exact walk writes again, and stretches that its slot marks as void.
template <int W, class Sink>
__host__ __device__ bool walk_fast(const Frame& frame, const FastLimits& limits, const Sink& sink, std::int64_t slot, const Chunk& chunk) {
  constexpr int primed = (FastStatistic<W>::samples_before_first + 7) / 8 * 8;
  const int chunk_samples = frame.division.chunk_samples;
  const int warm_up = frame.division.warm_up_samples;
  Read read = chunk.read;
  read.unit *= FastStatistic<W>::scale;
  const std::int16_t* next = frame.signals.samples + (chunk.begin - warm_up - primed);
  const std::int16_t* const last = frame.signals.samples + (chunk.end - 8);
  const std::int64_t begin = chunk.begin - chunk.read.begin;  // in the read
  FastStatistic<W> statistic;
  FastPicker<W> picker;
  RawRange range;
  SampleGroup group = sink.load(next);
  const auto take_group = [&](const auto& use) {
    const SampleGroup present = group;
    next = next < last ? next + 8 : last;
    group = sink.load(next);  // of the next call
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      if (n % 2 == 0) range.extend(present.words[n / 2]);
      use(statistic.push(picoamps_of(raw_sample(present, n), read)), n);
    }
  };
  const auto advance = [&](const typename FastStatistic<W>::Value& value, int n) { picker.advance(value, n, limits); };
  for (int done = 0; done < primed; done += 8) take_group([](const auto&, int) {});
  for (int done = 0; done < warm_up; done += 8) {
    take_group(advance);
    picker.end_group(limits);
  }
  picker.begin_chunk(limits);
  sink.guessed(slot, picker.state(begin));
  std::uint32_t word = 0;
  std::uint32_t found = 0;
  std::uint32_t early = 0;
  int done = 0;
  const auto leave = [&](std::uint32_t marks) {
    word = word >> 8 | marks << 24;
    done += 8;
    if (((done - FastPicker<W>::reach) & 31) == 0) {
      found |= word;
      const int index = (done - FastPicker<W>::reach) / 32 - 1;
      if (index < 0) {
        early = word;
      } else if (index + 1 < chunk_samples / 32) {
        sink.store(chunk.begin / 32 + index, word);
      }
    }
  };
  while (done < chunk_samples) {
    take_group(advance);
    std::int32_t first;
    std::int32_t stop;
    if (picker.take_stretch(first, stop)) [[unlikely]] {
      const std::int64_t shift = begin + done - FastPicker<W>::reach;
      if (stop - first >= frame.settling()) {
        sink.append({chunk.row, slot, static_cast<std::int32_t>(first + shift), static_cast<std::int32_t>(stop + shift), ChunkWalker::fast});
      }
    }
    leave(picker.end_group(limits));
  }
  bool doubtful = picker.doubtful();
  const PickerState end = picker.state(begin + chunk_samples);
  std::uint32_t rest = picker.marks();
  for (int n = 0; n < FastPicker<W>::reach; n += 8, rest >>= 8) leave(rest & 0xFFU);

  const float a = picoamps_of(static_cast<float>(range.least()), read);
  const float b = picoamps_of(static_cast<float>(range.greatest()), read);
  const float smallest = fminf(a, b);
  const float largest = fmaxf(a, b);
  doubtful |= !(smallest >= FastStatistic<W>::least_sample) | !(largest < FastStatistic<W>::past_largest_sample);
  if (doubtful) return false;
  sink.ended(slot, end);
  if (early != 0) sink.add(chunk.begin / 32 - 1, early);
  sink.add((chunk.begin + chunk_samples) / 32 - 1, word);
  constexpr float unscaled = 1.0F / FastStatistic<W>::scale;
  sink.extend(chunk.row, smallest * unscaled, largest * unscaled, chunk_samples * static_cast<double>(largest * unscaled * (largest * unscaled)),
              found != 0);
  return true;
}

}  // namespace sluice::event_detection::cuda
