// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/seeding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <sluice/overlap/byte_sort.hpp>

namespace sluice::signal_seeding {

namespace {

// Ascending.
void sort_anchors(std::span<Anchor> anchors) {
  std::uint64_t differing = 0;
  for (const Anchor& anchor : anchors) differing |= anchor.x ^ anchors[0].x;
  const int top = static_cast<int>(std::bit_width(differing));
  overlap::byte_sort(
      anchors, [](const Anchor& anchor) { return anchor.x; }, top == 0 ? 0 : (top - 1) / 8 * 8);
  for (auto begin = anchors.begin(); begin != anchors.end();) {
    const auto end = std::find_if(begin + 1, anchors.end(), [&](const Anchor& other) { return other.x != begin->x; });
    if (end - begin > 1) std::sort(begin, end);
    begin = end;
  }
}

}  // namespace

void ReadSeeds::restart() {
  events_.restart();
  run_.clear();
  anchors_.clear();
  events_seen_ = 0;
}

void ReadSeeds::take(std::span<const std::int16_t> samples, const SquiggleIndexView& index) {
  levels_.clear();
  events_.take(samples, levels_);
  const auto run = static_cast<std::size_t>(index.form.run);
  const std::size_t before = anchors_.size();
  for (const std::int16_t level : levels_) {
    if (run_.size() == run) run_.erase(run_.begin());
    run_.push_back(symbol_of(level, index));
    ++events_seen_;
    if (run_.size() == run) look_up_run(index);
  }
  const auto middle = anchors_.begin() + static_cast<std::ptrdiff_t>(before);
  sort_anchors(std::span(anchors_).subspan(before));
  std::inplace_merge(anchors_.begin(), middle, anchors_.end());
}

void ReadSeeds::copy_chainable(std::vector<Anchor>& to) {
  chainable_.assign(anchors_.size(), 0);
  const auto place = [](const Anchor& anchor) { return static_cast<std::int64_t>(anchor.y & 0xFFFFFFFFU); };
  for (std::size_t i = 0; i < anchors_.size(); ++i)
    for (std::size_t j = i + 1; j < anchors_.size(); ++j) {
      // Strands differ in the upper half: no two of them are that near.
      const std::uint64_t columns = anchors_[j].x - anchors_[i].x;
      if (columns > static_cast<std::uint64_t>(parameters_.most_distance)) break;
      const std::int64_t places = place(anchors_[j]) - place(anchors_[i]);
      if (columns == 0 || places <= 0 || std::abs(static_cast<std::int64_t>(columns) - places) > parameters_.most_shift) continue;
      chainable_[i] = chainable_[j] = 1;
    }
  to.clear();
  for (std::size_t i = 0; i < anchors_.size(); ++i)
    if (chainable_[i] != 0) to.push_back(anchors_[i]);
}

ReadSeeds::Symbol ReadSeeds::symbol_of(std::int32_t level, const SquiggleIndexView& index) const {
  const auto above = std::upper_bound(index.borders.begin(), index.borders.end(), level);
  const auto symbol = static_cast<std::uint8_t>(above - index.borders.begin());
  Symbol result{symbol, symbol, std::numeric_limits<std::int16_t>::max()};
  const auto consider = [&](std::int32_t distance, std::uint8_t other) {
    if (distance > parameters_.uncertainty || distance >= result.distance) return;
    result.other = other;
    result.distance = static_cast<std::int16_t>(distance);
  };
  if (above != index.borders.begin()) consider(level - *(above - 1), static_cast<std::uint8_t>(symbol - 1));
  if (above != index.borders.end()) consider(*above - level, static_cast<std::uint8_t>(symbol + 1));
  return result;
}

void ReadSeeds::look_up_run(const SquiggleIndexView& index) {
  std::uint64_t run = 0;
  // What to flip for each of the uncertain events, the nearest to a border first.
  std::array<std::pair<std::int16_t, std::uint64_t>, 64> flips;
  std::size_t uncertain = 0;
  for (std::size_t i = 0; i < run_.size(); ++i) {
    const auto shift = static_cast<unsigned>(index.form.symbol_bits) * static_cast<unsigned>(run_.size() - 1 - i);
    run |= std::uint64_t{run_[i].symbol} << shift;
    if (run_[i].other != run_[i].symbol) flips[uncertain++] = {run_[i].distance, std::uint64_t(run_[i].symbol ^ run_[i].other) << shift};
  }
  const std::size_t tried = std::min(uncertain, static_cast<std::size_t>(parameters_.most_uncertain));
  std::sort(flips.begin(), flips.begin() + static_cast<std::ptrdiff_t>(uncertain));
  // Nearly every look-up misses the cache twice: the misses of a run wait for each other no longer than they must.
  places_.clear();
  for (std::uint64_t choice = 0; choice < std::uint64_t{1} << tried; ++choice) {
    std::uint64_t other = run;
    for (std::size_t i = 0; i < tried; ++i)
      if ((choice >> i & 1U) != 0) other ^= flips[i].second;
    places_.push_back(seed_place(other, index.form));
    __builtin_prefetch(&index.bucket_begin[places_.back().bucket]);
  }
  for (const SeedPlace& place : places_) {
    const std::uint64_t first = index.begin_of(place.bucket);
    if (first == index.entry.size()) continue;
    __builtin_prefetch(&index.entry[first]);
    if (!index.entry_high.empty()) __builtin_prefetch(&index.entry_high[first]);
  }
  for (const SeedPlace& place : places_) look_up(place, index);
}

void ReadSeeds::look_up(const SeedPlace& place, const SquiggleIndexView& index) {
  const std::uint64_t first = place.check << static_cast<unsigned>(index.form.position_bits);
  const std::uint64_t after = (place.check + 1) << static_cast<unsigned>(index.form.position_bits);
  const std::uint64_t end = index.begin_of(place.bucket + 1);
  std::uint64_t from = index.begin_of(place.bucket);
  while (from < end && index.entry_at(from) < first) ++from;
  std::uint64_t to = from;
  while (to < end && index.entry_at(to) < after) {
    if (to - from >= static_cast<std::uint64_t>(parameters_.most_occurrences)) return;
    ++to;
  }
  const auto read_column = static_cast<std::uint64_t>(column_of(events_seen_, index));
  for (; from < to; ++from) {
    const auto column = static_cast<std::int64_t>(index.entry_at(from) - first);
    const auto strand = std::upper_bound(index.strand_begin.begin(), index.strand_begin.end(), column) - index.strand_begin.begin() - 1;
    anchors_.push_back(
        {static_cast<std::uint64_t>(strand) << 32U | static_cast<std::uint64_t>(column - index.strand_begin[static_cast<std::size_t>(strand)]),
         static_cast<std::uint64_t>(index.form.run) << 32U | read_column});
  }
}

}  // namespace sluice::signal_seeding
