// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/piece_borders.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::read_correction {

void AnchorSupport::reset(std::int32_t template_length) { change_.assign(static_cast<std::size_t>(template_length) + 2, 0); }

void AnchorSupport::add(std::span<const Anchor> anchors, std::int32_t margin) {
  for (const Anchor& anchor : anchors) {
    const std::int32_t first = anchor.template_begin + margin, last = anchor.template_end() - margin;
    if (first > last) continue;
    ++change_[static_cast<std::size_t>(first)];
    --change_[static_cast<std::size_t>(last) + 1];
  }
}

std::span<const std::int32_t> AnchorSupport::finish() {
  for (std::size_t i = 1; i < change_.size(); ++i) change_[i] += change_[i - 1];
  return {change_.data(), change_.size() - 1};
}

void choose_borders(std::span<const std::int32_t> support, std::int32_t piece_length, std::vector<std::int32_t>& borders) {
  const auto length = static_cast<std::int32_t>(support.size()) - 1;
  const std::int32_t half = piece_length / 2;
  borders.assign(1, 0);
  while (length - borders.back() > piece_length + half) {
    const std::int32_t first = borders.back() + half, last = std::min(length - half, borders.back() + piece_length + half);
    const std::int32_t middle = borders.back() + piece_length;
    std::int32_t best = first;
    for (std::int32_t place = first + 1; place <= last; ++place) {
      const std::int32_t more = support[static_cast<std::size_t>(place)] - support[static_cast<std::size_t>(best)];
      if (more > 0 || (more == 0 && std::abs(place - middle) < std::abs(best - middle))) best = place;
    }
    borders.push_back(best);
  }
  if (length > 0) borders.push_back(length);
}

}  // namespace sluice::read_correction
