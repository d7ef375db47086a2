// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The first engine as it is written (minimap2 2.24). What it does with a limit of skips depends on the order in which predecessors are met, so this
// is what runs when there is one; without a limit predecessor_search.cpp gives the same table.

#include "chaining/recurrences.hpp"

namespace sluice::chaining {

void scan_predecessors(Anchors anchors, const ChainingParameters& parameters, std::vector<std::int32_t>& stamps, PredecessorTable table) {
  const auto n = static_cast<std::int64_t>(anchors.size());
  const StepLimits limits = step_limits(parameters);
  const StepCosts costs = step_costs(parameters);
  const auto reach = static_cast<std::uint64_t>(limits.target_gap);
  const auto x = [&](std::int64_t i) { return anchors.x[static_cast<std::size_t>(i)]; };
  const auto point = [&](std::int64_t i) { return point_of(anchors.x[static_cast<std::size_t>(i)], anchors.y[static_cast<std::size_t>(i)]); };
  std::int32_t* const score = table.score.data();
  std::int32_t* const predecessor = table.predecessor.data();
  stamps.assign(anchors.size(), -1);  // the last anchor whose search met a successor of this one

  std::int64_t start = 0;
  std::int64_t peak = -1;  // the best anchor within reach, even beyond max_chain_iter
  for (std::int64_t i = 0; i < n; ++i) {
    const Point to = point(i);
    std::int32_t best = to.span;
    std::int64_t chosen = -1;
    std::int32_t skipped = 0;
    while (start < i && (x(start) >> 32 != x(i) >> 32 || x(i) > x(start) + reach)) ++start;
    start = std::max(start, i - parameters.max_chain_iter);
    std::int64_t j = i - 1;
    for (; j >= start; --j) {
      std::int32_t s = step_score(to, point(j), limits, costs);
      if (s == no_step) continue;
      s += score[j];
      if (s > best) {
        best = s;
        chosen = j;
        if (skipped > 0) --skipped;
      } else if (stamps[static_cast<std::size_t>(j)] == i) {
        if (++skipped > parameters.max_chain_skip) break;
      }
      if (predecessor[j] >= 0) stamps[static_cast<std::size_t>(predecessor[j])] = static_cast<std::int32_t>(i);
    }
    if (peak < 0 || x(i) - x(peak) > reach) {
      peak = -1;
      for (std::int64_t m = i - 1; m >= start; --m)
        if (peak < 0 || score[m] > score[peak]) peak = m;
    }
    if (peak >= 0 && peak < j) {
      const std::int32_t s = step_score(to, point(peak), limits, costs);
      if (s != no_step && best < s + score[peak]) {
        best = s + score[peak];
        chosen = peak;
      }
    }
    score[i] = best;
    predecessor[i] = static_cast<std::int32_t>(chosen);
    if (peak < 0 || (x(i) - x(peak) <= reach && score[peak] < best)) peak = i;
  }
}

}  // namespace sluice::chaining
