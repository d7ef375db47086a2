// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The walk over a chunk with the definition's statistics, for reads whose sums are exact. Everything also compiles for the host.

#include "event_detection/cuda_fast_walk.hpp"

namespace sluice::event_detection::cuda {

// Both detectors over one chunk. If its read began before it, the state it begins in is guessed: the walk begins warm_up_samples earlier with a fresh
// detector. Any two walks agree from the first boundary on that both report at the same position, which takes a few boundaries. Every guess is
// compared with how the chunk before ended.
template <int W, class Sink>
class ChunkWalk {
 public:
  __host__ __device__ ChunkWalk(const Frame& frame, const Sink& sink, std::int64_t slot, const Chunk& chunk)
      : frame_(frame),
        sink_(sink),
        slot_(slot),
        chunk_(chunk),
        height_(frame.params.peak_height),
        threshold_(frame.params.threshold_short),
        settling_(frame.settling()),
        origin_(static_cast<std::int32_t>(chunk.read.begin & 31)),
        own_(static_cast<std::int32_t>(chunk.begin - chunk.read.begin)) {}

  __host__ __device__ void run() {
    const Read& read = chunk_.read;
    const auto end = static_cast<std::int32_t>(chunk_.end - read.begin);
    std::int32_t k = max(0, own_ - frame_.division.warm_up_samples);
    // Position 0 is never looked at: both detectors start out masked up to and including it.
    state_ = {FLT_MAX, -1, k == 0 ? 1 : k, 0};
    word_ = (own_ + origin_) / 32;
    ShortStatistic<W> statistic;
    FastStatistic<W> fast_statistic;
    Read scaled = read;
    scaled.unit *= FastStatistic<W>::scale;
    const std::int16_t* const samples = frame_.signals.samples + read.begin;
    std::int32_t least = INT_MAX;
    std::int32_t greatest = INT_MIN;
    for (std::int32_t i = max(0, k - FastStatistic<W>::samples_before_first); i < end; ++i) {
      least = min(least, static_cast<std::int32_t>(samples[i]));
      greatest = max(greatest, static_cast<std::int32_t>(samples[i]));
    }
    // Picoamperes ascend or descend with the raw samples.
    const float a = picoamps_of(static_cast<float>(least), read);
    const float b = picoamps_of(static_cast<float>(greatest), read);
    const float smallest = fminf(a, b);
    const float largest = fmaxf(a, b);
    // NaN does not occur: the sum and the unit are finite, and the unit is not 0.
    if (!(smallest >= least_picoamps) || !(largest <= most_picoamps)) {
      sink_.defer(chunk_.row, slot_);
      return;
    }
    // The fast statistic of the first positions depends on more samples than the exact one is fed before them.
    for (std::int32_t i = max(0, k - FastStatistic<W>::samples_before_first); i < k; ++i)
      fast_statistic.push(picoamps_of(static_cast<float>(samples[i]), scaled));
    for (; k < end; ++k) {
      if (k == own_ && k > 0) {
        sink_.guessed(slot_, exported());
        low_ = 0;
        high_ = 0;
        longest_wait_ = 0;
      }
      if (k + origin_ >= 32 * (word_ + 1)) move_to_word((k + origin_) / 32);
      const std::int32_t raw = samples[k];
      auto value = statistic.push(picoamps_of(static_cast<float>(raw), read));
      float fast = fast_statistic.push(picoamps_of(static_cast<float>(raw), scaled)).t;
      const std::int32_t position = k + 1 - W;
      if (position < W) {
        value = zero();
        fast = 0.0F;
      }
      if (position >= 1) advance(value, fast, position);
    }
    if (end == read.length) {
      // No window fits after these positions.
      for (std::int32_t position = max(1, end + 1 - W); position < end; ++position) advance(zero(), 0.0F, position);
      if (end - state_.first >= settling_ && flagged_ > state_.first && !sink_.append({chunk_.row, slot_, state_.first, end, ChunkWalker::exact}))
        longest_wait_ = too_long_a_wait;
    } else {
      sink_.ended(slot_, exported());
    }
    move_to_word((end - 1 + origin_) / 32 + 2);
    if (longest_wait_ >= too_long_a_wait) {
      sink_.lose(chunk_.row);
      return;
    }
    sink_.extend(chunk_.row, smallest, largest, static_cast<double>(end - own_) * static_cast<double>(largest * largest), longest_wait_ > 0);
  }

 private:
  __host__ __device__ static typename ShortStatistic<W>::Value zero() { return {0.0F, true, false}; }

  // The state as the fast walk has it.
  __host__ __device__ PickerState exported() const { return {fast_value_, state_.peak, state_.first, state_.fell}; }

  // One position. Without branches, but for rare cases: the lanes of a warp are in different phases.
  __host__ __device__ __forceinline__ void advance(const typename ShortStatistic<W>::Value& value, float fast, std::int32_t position) {
    float t = value.t;
    if (!value.certain) [[unlikely]]
      t = statistic_at(frame_.signals.samples, chunk_.read, position, W);
    const bool in_peak = state_.peak >= 0;
    const float rise = t - state_.value;
    const bool up = rise > (in_peak ? 0.0F : height_);
    const bool down = !in_peak & (rise < 0.0F);
    state_.value = up | down ? t : state_.value;
    fast_value_ = up | down ? fast : fast_value_;
    state_.peak = up ? position : state_.peak;
    const bool high = in_peak & (state_.value > threshold_);
    state_.fell = high & (rise < -height_) ? 1 : state_.fell;

    // The short detector suppresses the long one, to which positions [state_.first, position) were left. It needs one of them to start from, one to
    // enter a peak, and window_long / 2 + 1 more. While warming up, nothing is reported.
    if (high & (position - state_.first >= settling_) & (flagged_ > state_.first) & (position > own_ - W)) [[unlikely]] {
      longest_wait_ = max(longest_wait_, sink_.append({chunk_.row, slot_, state_.first, position, ChunkWalker::exact}) ? 0 : too_long_a_wait);
    }
    state_.first = high ? INT_MAX : state_.first;
    const bool may_exceed = ((state_.peak < 0) & (t > frame_.long_possible_above)) | value.variance_small;
    flagged_ = may_exceed ? position : flagged_;

    // A report. Marks lie in the present word or the one before it.
    const std::int32_t age = position - state_.peak;
    const bool report = high & (state_.fell != 0) & (age > W / 2);
    const std::int32_t local = state_.peak + origin_;
    const std::uint32_t bit = report ? 1U << (local & 31) : 0U;
    const bool before = local < 32 * word_;
    low_ |= before ? bit : 0U;
    high_ |= before ? 0U : bit;
    longest_wait_ = report ? max(longest_wait_, age) : longest_wait_;
    state_.first = report ? max(state_.peak + W + 1, position) : state_.first;
    state_.value = report ? t : state_.value;
    fast_value_ = report ? fast : fast_value_;
    state_.peak = report ? -1 : state_.peak;
    state_.fell = report ? 0 : state_.fell;
  }

  // Marks of the words before the present one, and it.
  __host__ __device__ void move_to_word(std::int32_t word) {
    while (word_ < word) {
      store(word_ - 1, low_);
      low_ = high_;
      high_ = 0;
      ++word_;
    }
  }

  // Words that no other chunk writes are stored, even if empty, as the fast walk may have stored something else; to others, marks are added.
  __host__ __device__ void store(std::int32_t word, std::uint32_t marks) const {
    const std::int64_t batch_word = chunk_.read.begin / 32 + word;
    if (batch_word * 32 >= chunk_.begin && batch_word * 32 + 64 <= chunk_.end) {
      sink_.store(batch_word, marks);
    } else if (marks != 0) {
      sink_.add(batch_word, marks);
    }
  }

  static constexpr std::int32_t too_long_a_wait = 34 - W;  // the mark might lie before the two words that are kept

  const Frame& frame_;
  const Sink& sink_;
  const std::int64_t slot_;
  const Chunk& chunk_;
  const float height_, threshold_;
  const std::int32_t settling_;
  const std::int32_t origin_;  // the read's first sample in its word of marks
  const std::int32_t own_;     // of the read's positions, the first of the chunk

  PickerState state_{};
  float fast_value_ = FLT_MAX;
  std::int32_t flagged_ = -1;         // the last position where the long statistic may exceed its threshold, besides those in a low peak
  std::int32_t longest_wait_ = 0;     // positions between a peak's maximum and its report; 0 without a report
  std::uint32_t low_ = 0, high_ = 0;  // marks of word_ - 1 and word_ of the read, counted from the word it begins in
  std::int32_t word_ = 0;
};

}  // namespace sluice::event_detection::cuda
