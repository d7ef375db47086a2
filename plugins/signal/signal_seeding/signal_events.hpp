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
#include <cstdlib>
#include <span>
#include <vector>

namespace sluice::signal_seeding {

// A level that is kept up while what follows is like it.
class MergingEvent {
 public:
  explicit MergingEvent(std::int32_t least_difference) : least_difference_(least_difference) {}
  bool empty() const { return weight_ == 0; }
  // Mean of what has been added, rounded towards zero.
  std::int32_t level() const { return level_; }
  bool takes(std::int32_t level) const { return !empty() && std::abs(level - level_) < least_difference_; }
  void add(std::int32_t level, std::int32_t weight) {
    sum_ += std::int64_t{level} * weight;
    weight_ += weight;
    level_ = static_cast<std::int32_t>(sum_ / weight_);
  }
  // Forgets what it was.
  void clear() { weight_ = 0; }
  void begin(std::int32_t level, std::int32_t weight) {
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

// Cuts signal that comes in pieces. Where it is cut into pieces makes no difference to any event.
class SignalEvents {
 public:
  explicit SignalEvents(const SegmentationParameters& parameters) : parameters_(parameters), event_(parameters.least_difference) {}
  void restart();
  // Appends the levels of the events that end within the samples so far. The last two cuts' worth of samples wait for what follows.
  void take(std::span<const std::int16_t> samples, std::vector<std::int16_t>& levels);

 private:
  float statistic(std::size_t border) const;
  void cut(std::size_t border, std::vector<std::int16_t>& levels);

  SegmentationParameters parameters_;
  std::vector<std::int16_t> samples_;  // from the window before the last cut on
  std::vector<float> statistic_;       // of the borders before these samples, as far as both windows are there
  std::size_t segment_ = 0;            // where the segment after the last cut begins in samples_
  std::size_t looked_at_ = 0;          // borders before this one have been decided on
  MergingEvent event_;                 // that has not ended
};

}  // namespace sluice::signal_seeding
