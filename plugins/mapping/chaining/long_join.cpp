// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The second engine as it is written (minimap2 2.24): two balanced trees. long_join_search.cpp gives the same table faster, where no limit of skips
// makes the order in which anchors near by are met part of the answer.

#include <algorithm>

#include "chaining/reachable_tree.hpp"
#include "chaining/recurrences.hpp"

namespace sluice::chaining {

struct TreeScratch::Parts {
  ReachableTree reachable;
  OrderedAnchorTree near;
  std::vector<std::int32_t> stamps;
};

TreeScratch::TreeScratch() : parts_(std::make_unique<Parts>()) {}
TreeScratch::~TreeScratch() = default;
TreeScratch& TreeScratch::operator=(TreeScratch&&) noexcept = default;

JoinLimits join_limits(const ChainingParameters& parameters, std::int32_t band) {
  const std::int32_t distance = std::max(parameters.max_gap, band);
  std::int32_t inner = std::max(parameters.rmq_inner_dist, 0);
  if (inner >= distance) inner = parameters.release == overlap::Minimap2Release::v2_24 ? 0 : distance;
  return {distance, inner, band};
}

void scan_joins(Anchors anchors, std::size_t first, std::size_t last, const ChainingParameters& parameters, JoinLimits limits, TreeScratch& scratch,
                PredecessorTable table) {
  TreeScratch::Parts& parts = scratch.parts();
  const StepCosts costs = step_costs(parameters);
  const auto n = static_cast<std::int32_t>(last - first);
  const auto all = static_cast<std::int32_t>(anchors.size());
  const std::uint64_t* const x = anchors.x.data() + first;
  const std::uint64_t* const y = anchors.y.data() + first;
  std::int32_t* const score = table.score.data() + first;
  std::int32_t* const predecessor = table.predecessor.data() + first;
  const auto in_read = [&](std::int32_t local) { return local < 0 ? -1 : local + static_cast<std::int32_t>(first); };
  const auto in_run = [&](std::int32_t anchor) { return anchor < 0 ? -1 : anchor - static_cast<std::int32_t>(first); };

  parts.stamps.assign(last - first, -1);
  parts.reachable.begin(anchors.x.subspan(first, last - first), anchors.y.subspan(first, last - first),
                        {limits.distance, parameters.rmq_size_cap, costs, first == 0});
  parts.near.reset(parts.reachable.queries(), parts.reachable.costs());

  std::int32_t near_inserted = 0, near_start = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    parts.reachable.move_to(i, score);
    if (limits.inner_distance > 0) {
      while (near_inserted < parts.reachable.inserted()) parts.near.insert(near_inserted++);
      while (near_start < near_inserted &&
             (x[i] > x[near_start] + static_cast<std::uint64_t>(limits.inner_distance) || parts.near.size() > parameters.rmq_size_cap))
        parts.near.remove(near_start++);
    }

    const Point to = point_of(x[i], y[i]);
    std::int32_t best = to.span, chosen = -1, skipped = 0;
    const std::int32_t j = parts.reachable.lowest_cost(to.query);
    if (j != OrderedAnchorTree::none) {
      const Point from = point_of(x[j], y[j]);
      const std::int32_t query = to.query - from.query, target = to.target - from.target;
      const std::int32_t s = score[j] + join_score(to, from, costs);
      if (std::abs(target - query) <= limits.band && s > best) {
        best = s;
        chosen = j;
      }
      const bool adjoins = target == query && std::min(target, query) <= from.span;
      if (!adjoins && !parts.near.empty() && to.query > 0) {
        for (auto descent = parts.near.descend({to.query - 1, all}); descent.anchor() != OrderedAnchorTree::none; descent.next()) {
          const std::int32_t m = descent.anchor();
          const Point near = point_of(x[m], y[m]);
          if (near.query < to.query - limits.inner_distance) break;
          if (std::abs((to.target - near.target) - (to.query - near.query)) > limits.band) continue;
          const std::int32_t s_near = score[m] + join_score(to, near, costs);
          if (s_near > best) {
            best = s_near;
            chosen = m;
            if (skipped > 0) --skipped;
          } else if (parts.stamps[static_cast<std::size_t>(m)] == i) {
            if (++skipped > parameters.max_chain_skip) break;
          }
          if (predecessor[m] >= 0) parts.stamps[static_cast<std::size_t>(in_run(predecessor[m]))] = i;
        }
      }
    }
    score[i] = best;
    predecessor[i] = in_read(chosen);
  }
}

}  // namespace sluice::chaining
