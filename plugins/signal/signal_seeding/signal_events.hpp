// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Events of normalised signal, and of the levels that are expected of a reference, made alike so that runs of them can be compared.
//
// Signal is cut where the means of the samples on both sides differ by more than their noise. Then, in signal and reference by the same rule, what
// differs little from the event before is counted to it: neighbouring k-mers of about the same level can't be told apart in signal, whatever cuts it.
// Levels are in steps of 1/64 standard deviation (squiggle_sample_steps).

#include <cstddef>
#include <cstdint>
#include <sluice/host_device.hpp>
#include <span>
#include <vector>

namespace sluice::signal_seeding {

// Rounded towards zero. Most are of numbers that fit 32 bits, whose division is several times faster.
SLUICE_HOST_DEVICE constexpr std::int32_t mean_level(std::int64_t sum, std::int64_t count) {
  if (static_cast<std::int32_t>(sum) == sum && static_cast<std::int32_t>(count) == count)
    return static_cast<std::int32_t>(sum) / static_cast<std::int32_t>(count);
  return static_cast<std::int32_t>(sum / count);
}

// A level that is kept up while what follows is like it.
class MergingEvent {
 public:
  SLUICE_HOST_DEVICE explicit constexpr MergingEvent(std::int32_t least_difference) : least_difference_(least_difference) {}
  SLUICE_HOST_DEVICE constexpr bool empty() const { return weight_ == 0; }
  // Mean of what has been added, rounded towards zero.
  SLUICE_HOST_DEVICE constexpr std::int32_t level() const { return level_; }
  SLUICE_HOST_DEVICE constexpr bool takes(std::int32_t level) const {
    const std::int32_t difference = level - level_;
    return !empty() && difference < least_difference_ && -difference < least_difference_;
  }
  SLUICE_HOST_DEVICE constexpr void add(std::int32_t level, std::int32_t weight) {
    sum_ += std::int64_t{level} * weight;
    weight_ += weight;
    level_ = mean_level(sum_, weight_);
  }
  // Forgets what it was.
  SLUICE_HOST_DEVICE constexpr void clear() { weight_ = 0; }
  SLUICE_HOST_DEVICE constexpr void begin(std::int32_t level, std::int32_t weight) {
    level_ = level;
    sum_ = std::int64_t{level} * weight;
    weight_ = weight;
  }

 private:
  std::int32_t least_difference_, level_ = 0;
  std::int64_t sum_ = 0, weight_ = 0;
};

struct SegmentationParameters {
  std::int32_t window = 4;             // samples on either side of a border
  float least_statistic = 9.0F;        // of a border: squared difference of the means over the variance of that difference
  std::int32_t noise = 8;              // of a sample, least standard deviation that is believed; steps of 1/64
  std::int32_t least_difference = 22;  // of two events that follow each other; steps of 1/64
};

// Welch's statistic, squared, of the border before samples[window], with a floor under the variance: that of three samples is often none. Looks at
// 2 * window samples.
SLUICE_HOST_DEVICE constexpr float border_statistic(const std::int16_t* samples, std::int32_t window, std::int32_t noise) {
  std::int32_t before = 0, after = 0, squares = 0;
  for (std::int32_t i = 0; i < window; ++i) {
    const std::int32_t left = samples[i], right = samples[window + i];
    before += left;
    after += right;
    squares += left * left + right * right;
  }
  const std::int32_t difference = after - before;
  // Both sums of squared distances times n.
  const std::int32_t spread = window * squares - before * before - after * after, floor = 2 * window * window * noise * noise;
  return static_cast<float>(difference) * static_cast<float>(difference) * static_cast<float>(window) /
         static_cast<float>(spread > floor ? spread : floor);
}

// Cuts signal that comes in pieces. Where it is cut into pieces makes no difference to any event.
class SignalEvents {
 public:
  explicit SignalEvents(const SegmentationParameters& parameters) : parameters_(parameters), event_(parameters.least_difference) {}
  void restart();
  // Appends the levels of the events that end within the samples so far. The last two cuts' worth of samples wait for what follows.
  void take(std::span<const std::int16_t> samples, std::vector<std::int16_t>& levels);

 private:
  void cut(std::size_t border, std::vector<std::int16_t>& levels);

  SegmentationParameters parameters_;
  std::vector<std::int16_t> samples_;  // from the window before the last cut on
  std::vector<float> statistic_;       // of the borders before these samples, as far as both windows are there
  std::size_t segment_ = 0;            // where the segment after the last cut begins in samples_
  std::size_t looked_at_ = 0;          // borders before this one have been decided on
  MergingEvent event_;                 // that has not ended
};

}  // namespace sluice::signal_seeding
