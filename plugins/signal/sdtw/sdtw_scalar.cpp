// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <limits>

#include "sdtw/sdtw.hpp"

namespace sluice::sdtw {
namespace {

struct Cell {
  std::int64_t score;
  std::int64_t first;
};

constexpr Cell unreachable{std::numeric_limits<std::int64_t>::max() / 2, -1};

// The better of two predecessors: the lower score; of equal ones the path that begins later, which is the shorter one.
constexpr Cell better(Cell a, Cell b) { return a.score != b.score ? (a.score < b.score ? a : b) : (a.first > b.first ? a : b); }

}  // namespace

ScalarRows::ScalarRows(const Reference& reference, Method method)
    : reference_(&reference),
      method_(method),
      score_(static_cast<std::size_t>(reference.columns())),
      first_(static_cast<std::size_t>(reference.columns())) {}

void ScalarRows::advance(std::span<const std::int16_t> query) {
  const std::span<const std::int16_t> levels = reference_->levels();
  for (const std::int16_t level : query) {
    for (const Segment& segment : reference_->segments()) {
      Cell diagonal = unreachable, left = unreachable;
      const auto begin = static_cast<std::size_t>(segment.begin), end = begin + static_cast<std::size_t>(segment.size);
      for (std::size_t j = begin; j < end; ++j) {
        const std::int64_t distance = std::abs(std::int64_t{level} - levels[j]);
        const std::int64_t cost = method_.cost == Cost::manhattan ? distance : distance * distance;
        const Cell above = empty_ ? Cell{0, static_cast<std::int64_t>(j)} : Cell{score_[j], first_[j]};
        Cell best = empty_ ? above : better(above, diagonal);
        if (method_.deletions == ReferenceDeletions::allowed) best = better(best, left);
        diagonal = above;
        left = {best.score + cost, best.first};
        score_[j] = left.score;
        first_[j] = left.first;
      }
    }
    empty_ = false;
  }
}

Hit ScalarRows::best() const {
  if (empty_ || score_.empty()) return {};
  const auto lowest = std::min_element(score_.begin(), score_.end());
  return {*lowest, lowest - score_.begin()};
}

std::int64_t ScalarRows::first_column(std::int64_t column) const { return column < 0 ? -1 : first_[static_cast<std::size_t>(column)]; }

}  // namespace sluice::sdtw
