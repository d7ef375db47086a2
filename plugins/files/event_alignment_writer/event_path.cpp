// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/event_path.hpp"

#include <algorithm>

namespace sluice::event_alignment_writer {

bool is_sound(const EventPath& path, std::size_t event_count, std::size_t contig_bases, std::uint32_t k) {
  const std::size_t rows = path.rows();
  if (path.position.size() != rows || path.state.size() != rows) return false;
  if (rows == 0) return true;
  if (contig_bases < k) return false;
  const auto [first_event, last_event] = std::minmax_element(path.event.begin(), path.event.end());
  const auto [first_position, last_position] = std::minmax_element(path.position.begin(), path.position.end());
  return *first_event >= 0 && static_cast<std::size_t>(*last_event) < event_count && *first_position >= 0 &&
         static_cast<std::size_t>(*last_position) <= contig_bases - k;
}

bool is_inside(const EventPath& path, const Events& events, std::size_t samples) {
  return std::all_of(path.event.begin(), path.event.end(), [&](std::int32_t event) {
    const auto e = static_cast<std::size_t>(event);
    return events.start[e] >= 0 && events.length[e] >= 0 && events.end(event) <= static_cast<std::int64_t>(samples);
  });
}

}  // namespace sluice::event_alignment_writer
