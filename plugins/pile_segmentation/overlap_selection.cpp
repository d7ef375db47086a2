// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "pile_segmentation/overlap_selection.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace sluice::pile_segmentation {

void select_overlaps(std::int32_t template_length, std::int32_t max_depth, std::vector<PileOverlap>& overlaps) {
  constexpr std::int32_t stretch = 500;
  if (overlaps.size() <= static_cast<std::size_t>(max_depth)) return;
  std::vector<std::int32_t> depth(static_cast<std::size_t>(template_length / stretch) + 1, 0);
  std::vector<std::size_t> order(overlaps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const PileOverlap &first = overlaps[a], &second = overlaps[b];
    if (first.matches != second.matches) return first.matches > second.matches;
    return first.template_end - first.template_begin > second.template_end - second.template_begin;
  });
  std::vector<char> is_kept(overlaps.size(), 0);
  for (const std::size_t i : order) {
    const std::int32_t first = overlaps[i].template_begin / stretch, last = std::max(overlaps[i].template_end - 1, overlaps[i].template_begin) / stretch;
    const auto begin = depth.begin() + first, end = depth.begin() + last + 1;
    if (*std::min_element(begin, end) >= max_depth) continue;
    is_kept[i] = 1;
    std::for_each(begin, end, [](std::int32_t& value) { ++value; });
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < overlaps.size(); ++i)
    if (is_kept[i] != 0) overlaps[kept++] = overlaps[i];
  overlaps.resize(kept);
}

}  // namespace sluice::pile_segmentation
