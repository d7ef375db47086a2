// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/signal_events.hpp"

#include <algorithm>
#include <sluice/squiggle_reference.hpp>

namespace sluice::signal_seeding {

void SignalEvents::restart() {
  samples_.clear();
  statistic_.clear();
  segment_ = looked_at_ = 0;
  event_.clear();
}

void SignalEvents::take(std::span<const std::int16_t> samples, std::vector<std::int16_t>& levels) {
  // No normalisation gives more; what somebody else gives must not overflow the sums.
  constexpr auto limit = static_cast<std::int16_t>(squiggle_sample_limit);
  for (const std::int16_t sample : samples) samples_.push_back(std::clamp(sample, static_cast<std::int16_t>(-limit), limit));
  const auto window = static_cast<std::size_t>(parameters_.window);
  while (statistic_.size() + window <= samples_.size()) {
    const std::size_t border = statistic_.size();
    statistic_.push_back(border < window ? 0.0F : border_statistic(&samples_[border - window], parameters_.window, parameters_.noise));
  }
  // A border is the best of those less than a window away, of equal ones the first.
  for (; looked_at_ + window <= statistic_.size(); ++looked_at_) {
    const float here = statistic_[looked_at_];
    if (here < parameters_.least_statistic) continue;
    const std::size_t first = looked_at_ + 1 > window ? looked_at_ + 1 - window : 0;
    const auto at = statistic_.begin();
    const auto begin = at + static_cast<std::ptrdiff_t>(first), border = at + static_cast<std::ptrdiff_t>(looked_at_);
    if (std::any_of(begin, border, [&](float other) { return other >= here; })) continue;
    if (std::any_of(border + 1, border + static_cast<std::ptrdiff_t>(window), [&](float other) { return other > here; })) continue;
    cut(looked_at_, levels);
  }
  // What no later border looks at is forgotten, in large pieces.
  constexpr std::size_t piece = 4096;
  const std::size_t needed = std::min(segment_, looked_at_ > 2 * window ? looked_at_ - 2 * window : 0);
  if (needed < piece) return;
  samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(needed));
  statistic_.erase(statistic_.begin(), statistic_.begin() + static_cast<std::ptrdiff_t>(needed));
  segment_ -= needed;
  looked_at_ -= needed;
}

void SignalEvents::cut(std::size_t border, std::vector<std::int16_t>& levels) {
  std::int64_t sum = 0;
  for (std::size_t i = segment_; i < border; ++i) sum += samples_[i];
  const auto count = static_cast<std::int32_t>(border - segment_);
  segment_ = border;
  if (count == 0) return;
  const std::int32_t level = mean_level(sum, count);
  if (event_.takes(level)) return event_.add(level, count);
  if (!event_.empty()) levels.push_back(static_cast<std::int16_t>(event_.level()));
  event_.begin(level, count);
}

}  // namespace sluice::signal_seeding
