// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/failure.hpp>
#include <string>

#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {

bool levels_are_valid(std::span<const std::int16_t> levels) {
  std::int16_t lowest = 0, highest = 0;
  for (const std::int16_t level : levels) {
    lowest = std::min(lowest, level);
    highest = std::max(highest, level);
  }
  return lowest >= -squiggle_limit && highest <= squiggle_limit;
}

void Reference::add_target(std::span<const std::int16_t> forward_level, std::span<const std::int16_t> reverse_level) {
  add_levels(forward_level);
  add_levels(reverse_level);
  add_target_sizes(forward_level.size(), reverse_level.size());
}

void Reference::add_target_sizes(std::size_t forward_columns, std::size_t reverse_columns) {
  add_segment(Strand::forward, forward_columns);
  add_segment(Strand::reverse, reverse_columns);
  ++targets_;
}

void Reference::add_segment(Strand strand, std::size_t columns) {
  if (columns > 0) segments_.push_back({targets_, strand, this->columns(), static_cast<std::int64_t>(columns)});
}

void Reference::add_levels(std::span<const std::int16_t> level) {
  if (!levels_are_valid(level))
    throw Failure::input("target " + std::to_string(targets_) + " of the squiggle reference has a level outside +-" + std::to_string(squiggle_limit),
                         "use the resource squiggle_reference of this version");
  levels_.insert(levels_.end(), level.begin(), level.end());
}

const Segment& Reference::segment_of(std::int64_t column) const {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), column, [](std::int64_t value, const Segment& segment) { return value < segment.begin; });
  return *(after - 1);
}

Place place_of(const Reference& reference, std::int64_t first_column, std::int64_t last_column) {
  if (last_column < 0) return {};
  const Segment& segment = reference.segment_of(last_column);
  const std::int64_t first = first_column - segment.begin, end = last_column - segment.begin + 1;
  const Strand ascending = reference.first_end() == FirstEnd::five_prime ? Strand::forward : Strand::reverse;
  if (segment.strand == ascending) return {segment.target, segment.strand, first, end};
  return {segment.target, segment.strand, segment.size - end, segment.size - first};
}

}  // namespace sluice::sdtw
