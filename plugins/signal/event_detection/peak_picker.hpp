// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The peak picker of the event detector: turns the t-statistics of a short and a long window into event boundaries.

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "event_detection/events.hpp"

namespace sluice::event_detection {

// One bit per position of a block, position i in bit i % 64 of word i / 64; one word more than the positions fill.
using PositionBits = const std::uint64_t*;

// The t-statistics of consecutive positions [begin, end) and what is known of them in advance. Arrays start at `begin`;
// t_short has a valid element before its first, unless begin is 0.
struct StatisticBlock {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  const float* t_short = nullptr;
  const float* t_long = nullptr;
  PositionBits above_short = nullptr;  // t_short > threshold_short
  PositionBits above_long = nullptr;   // t_long > threshold_long
  PositionBits rises = nullptr;        // t_short is larger than at the position before; anything at position 0
  PositionBits summits = nullptr;      // above_short, rises, and does not rise at the next position; anything at 0 and end - 1
  // With L = settling_time(window_short): none of the next L values is larger, one of them is lower by more than
  // peak_height. Anything at the last L positions.
  PositionBits settles = nullptr;
};

// A peak can be reported this many positions after its maximum, not before.
constexpr std::int32_t settling_time(std::uint32_t window) { return static_cast<std::int32_t>(window / 2) + 1; }

// scrappie's two detectors walk the positions together, the short one first at each position. A detector follows the
// falling statistic to its minimum, enters a peak once it has risen by more than peak_height, follows it to its maximum
// and reports the position of the maximum once the statistic fell by more than peak_height and half a window has
// passed. While the short detector is in a peak above its threshold it resets and masks the long one.
//
// The walk here visits the same states with less work, from these facts:
//  - only the short detector acts on the long one, never the reverse, so the short one can run ahead;
//  - a peak of the short detector that is below its threshold can only end by exceeding it: one jump to the next set bit;
//  - the long detector's state is thrown away by the next short peak above threshold, and it can report nothing unless a
//    statistic exceeds its threshold before that: on real R9.4 DNA it is walked over 0.06 % of the positions;
//  - a descent or a climb without a turn needs only its last position, which bits tell. 91 % of the boundaries of real R9.4
//    DNA are plain: a descent, a rise by more than peak_height within two steps, and a summit from which the statistic
//    settles, or the next one. They take searches in words of bits and hardly a mispredicted branch. (Walking by positions
//    cost 75 cycles a boundary and half of the detector's time.)
// They also show that reported positions strictly ascend, whatever the statistics: the original neither sorts nor checks.
class PeakPicker {
 public:
  explicit PeakPicker(const DetectorParams& params) : params_(params) {}

  // Feeds the next block; blocks follow each other without a gap, the first begins at 0. Writes the boundaries found,
  // at most one per position, and returns the end of what it wrote.
  [[gnu::always_inline]] std::int32_t* advance(const StatisticBlock& block, std::int32_t* boundaries) {
    // Position 0 is never looked at: both detectors start out masked up to and including it.
    std::int32_t i = block.begin == 0 ? 1 : block.begin;
    const std::int32_t end = block.end;
    const float height = params_.peak_height;
    const std::int32_t settling = settling_time(params_.window_short);
    const float* const t = block.t_short - block.begin;

    while (i < end) {
      if (phase_ == Phase::falling) {
        float lowest = peak_value_;
        for (; i < end; ++i) {
          lowest = t[i] < lowest ? t[i] : lowest;
          if (t[i] - lowest > height) break;
        }
        peak_value_ = lowest;
        if (i == end) break;
        phase_ = Phase::low_peak;
        entered_ = i;
      }
      if (phase_ == Phase::low_peak) {
        i = next_set(block.above_short, i, block);
        if (i == end) break;
        // At the position where it enters the peak, the short detector does not yet suppress the long one.
        boundaries = run_long_until(i + (i == entered_ ? 1 : 0), block, boundaries);
        phase_ = Phase::high_peak;
        fell_ = false;
        peak_value_ = t[i];
        peak_position_ = i++;
      }
      float highest = peak_value_;
      std::int32_t position = peak_position_;
      bool fell = fell_;
      for (; i < end; ++i) {
        const bool higher = t[i] > highest;
        position = higher ? i : position;
        highest = higher ? t[i] : highest;
        fell |= highest - t[i] > height;
        if (fell && i - position >= settling) break;
      }
      peak_value_ = highest;
      peak_position_ = position;
      fell_ = fell;
      if (i == end) break;
      *boundaries++ = position;
      restart_long(position, i);
      i = follow_plain_peaks(i + 1, block, boundaries);
    }
    // What is left of the long detector's stretch has to be walked while its statistics exist.
    if (phase_ != Phase::high_peak) boundaries = walk_long_until(end, block, boundaries);
    return boundaries;
  }

 private:
  enum class Phase : std::uint8_t {
    falling,    // no peak: following the statistic down
    low_peak,   // in a peak that has not exceeded the threshold: nothing can be reported
    high_peak,  // in a peak above the threshold: the long detector is suppressed
  };
  static constexpr std::int32_t no_position = -1;

  [[gnu::always_inline]] static bool is_set(PositionBits bits, std::int32_t bit) {
    const auto index = static_cast<std::uint32_t>(bit);
    return (bits[index / 64] >> (index % 64) & 1U) != 0;
  }

  static std::int32_t next_set(PositionBits bits, std::int32_t from, const StatisticBlock& block) {
    const std::int32_t count = block.end - block.begin;
    std::int32_t bit = from - block.begin;
    if (bit >= count) return block.end;
    std::int32_t word = bit / 64;
    std::uint64_t rest = bits[word] & (~std::uint64_t{0} << (bit % 64));
    while (rest == 0) {
      if (++word * 64 >= count) return block.end;
      rest = bits[word];
    }
    bit = word * 64 + std::countr_zero(rest);
    return bit < count ? block.begin + bit : block.end;
  }

  static constexpr std::int32_t window_bits = 57;

  // window_bits bits from `bit` on in the lowest places, and perhaps more above them.
  [[gnu::always_inline]] static std::uint64_t window_of(PositionBits bits, std::int32_t bit) {
    static_assert(std::endian::native == std::endian::little);
    const auto index = static_cast<std::uint32_t>(bit);
    std::uint64_t window = 0;
    std::memcpy(&window, reinterpret_cast<const char*>(bits) + index / 8, sizeof(window));
    return window >> (index % 8);
  }

  // Takes plain peaks, one after the other, up to the first that is not. When it is called the statistic has fallen to the
  // value before `i`, and the long detector has just been restarted. Returns where the walk by positions has to go on, in
  // phase `falling` or `low_peak`.
  [[gnu::always_inline]] std::int32_t follow_plain_peaks(std::int32_t i, const StatisticBlock& block, std::int32_t*& boundaries) {
    constexpr std::uint64_t last_bit = std::uint64_t{1} << (window_bits - 1);
    const std::int32_t begin = block.begin;
    const std::int32_t end = block.end;
    const float* const t = block.t_short - begin;
    const float height = params_.peak_height;
    const std::int32_t settling = settling_time(params_.window_short);
    const std::int32_t masked = static_cast<std::int32_t>(params_.window_short) + 1;
    const std::int32_t long_restart = masked > settling ? masked : settling;
    std::int32_t* next_boundary = boundaries;
    std::int32_t long_next = long_next_;
    phase_ = Phase::falling;
    while (true) {
      // The first summit from here on is the one that the first rise leads to, if it leads above the threshold: so it can be
      // searched for at once, and what lies before it is checked while the processor works on the next peak already. (The
      // time goes into the chain of these searches: 15 cycles each.)
      const std::uint64_t summits = window_of(block.summits, i - begin);
      std::int32_t summit = i + std::countr_zero(summits);
      // Down to before the first rise.
      i += std::countr_zero(window_of(block.rises, i - begin) | last_bit);
      if (i + 1 >= end) {
        i = i < end ? i : end;
        peak_value_ = t[i - 1];
        break;
      }
      // One or two steps up into the peak.
      const float lowest = t[i - 1];
      const std::int32_t entered = t[i] - lowest > height ? i : i + 1;
      if (!(t[entered] - lowest > height)) {
        peak_value_ = lowest;
        break;
      }
      bool settles = summits != 0 && summit + settling < end && is_set(block.settles, summit - begin);
      if (!settles && summits != 0 && summit + settling < end) {
        // The next summit may be higher and close.
        const std::uint64_t next_summits = window_of(block.summits, summit + 1 - begin);
        const std::int32_t next = summit + 1 + std::countr_zero(next_summits);
        settles =
            next_summits != 0 && next <= summit + settling && next + settling < end && t[next] > t[summit] && is_set(block.settles, next - begin);
        summit = next;
      }
      if (!settles) {
        phase_ = Phase::low_peak;
        entered_ = entered;
        i = entered;
        break;
      }
      // The long detector's stretch ends where the short one is above its threshold, in a peak already.
      const std::int32_t exceeded = entered + std::countr_zero(window_of(block.above_short, entered - begin));
      const std::int32_t stop = exceeded + (exceeded == entered ? 1 : 0);
      if (long_can_report(long_next, stop, block)) {
        long_next_ = long_next;
        next_boundary = walk_long_until(stop, block, next_boundary);
        restart_long(summit, summit + settling);
      }
      *next_boundary++ = summit;
      long_next = summit + long_restart;
      i = summit + settling + 1;
    }
    long_next_ = long_next;
    boundaries = next_boundary;
    return i;
  }

  // The short detector reported `position` when it was at `now`.
  void restart_long(std::int32_t position, std::int32_t now) {
    const std::int32_t masked_to = position + static_cast<std::int32_t>(params_.window_short);
    long_next_ = masked_to >= now ? masked_to + 1 : now;
    long_peak_value_ = std::numeric_limits<float>::max();
    long_peak_position_ = no_position;
    long_fell_ = false;
  }

  // Whether the long detector, restarted at `next`, can report anything before `stop`. That the stretch is empty is common
  // but hard to predict, hence the lack of a branch for it.
  [[gnu::always_inline]] static bool long_can_report(std::int32_t next, std::int32_t stop, const StatisticBlock& block) {
    const std::int32_t first = next < stop ? next : stop;
    const std::int32_t count = stop - first;
    const std::uint64_t above = window_of(block.above_long, first - block.begin) & ~(~std::uint64_t{0} << (count & 63));
    return above != 0 || count >= window_bits;
  }

  // The short detector resets the long one at `stop`: what it would do before matters only if it can report something.
  std::int32_t* run_long_until(std::int32_t stop, const StatisticBlock& block, std::int32_t* boundaries) {
    const bool in_high_peak = long_peak_value_ > params_.threshold_long && long_peak_position_ != no_position;
    if (!in_high_peak && !long_can_report(long_next_, stop, block)) return boundaries;
    return walk_long_until(stop, block, boundaries);
  }

  std::int32_t* walk_long_until(std::int32_t stop, const StatisticBlock& block, std::int32_t* boundaries) {
    const float* const t = block.t_long - block.begin;
    const std::int32_t settling = settling_time(params_.window_long);
    for (; long_next_ < stop; ++long_next_) {
      const float c = t[long_next_];
      if (long_peak_position_ == no_position) {
        if (c < long_peak_value_) {
          long_peak_value_ = c;
        } else if (c - long_peak_value_ > params_.peak_height) {
          long_peak_value_ = c;
          long_peak_position_ = long_next_;
        }
        continue;
      }
      if (c > long_peak_value_) {
        long_peak_value_ = c;
        long_peak_position_ = long_next_;
      }
      if (long_peak_value_ - c > params_.peak_height && long_peak_value_ > params_.threshold_long) long_fell_ = true;
      if (long_fell_ && long_next_ - long_peak_position_ >= settling) {
        *boundaries++ = long_peak_position_;
        long_peak_position_ = no_position;
        long_peak_value_ = c;
        long_fell_ = false;
      }
    }
    return boundaries;
  }

  DetectorParams params_;

  Phase phase_ = Phase::falling;
  bool fell_ = false;
  std::int32_t entered_ = no_position;  // where the present peak was entered
  std::int32_t peak_position_ = no_position;
  float peak_value_ = std::numeric_limits<float>::max();

  std::int32_t long_next_ = 1;  // the first position that the long detector has not seen
  std::int32_t long_peak_position_ = no_position;
  float long_peak_value_ = std::numeric_limits<float>::max();
  bool long_fell_ = false;
};

}  // namespace sluice::event_detection
