// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Anchors of reads that never were, of the kinds that are hard to chain; and the chaining of one read.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "chaining/chaining.hpp"

namespace sluice::chaining {

struct MadeUpRead {
  std::int32_t length = 0;
  std::vector<std::uint64_t> x, y;
  Anchors anchors() const { return {x, y}; }
};

struct AnchorKind {
  int count;                       // of anchors
  int targets;                     // and twice as many strands
  std::int32_t read_length;        // bases
  std::int32_t chains;             // stretches of anchors along a diagonal; the others lie anywhere
  std::int32_t period;             // positions are multiples of it: tandem repeats, and many equal costs
  std::int32_t longest_span;       // spans are 15 .. this
  std::int32_t longest_step = 60;  // from an anchor of a stretch to the next, bases: up to a span, it adjoins
};

inline MadeUpRead make_up_anchors(const AnchorKind& kind, std::mt19937& random) {
  const auto below = [&](std::int32_t n) { return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(n)); };
  struct Stretch {
    std::int32_t target, query;
    std::uint64_t lane;
  };
  const auto somewhere = [&]() -> Stretch {
    return {below(3 * kind.read_length), below(kind.read_length),
            static_cast<std::uint64_t>(below(2)) << 63 | static_cast<std::uint64_t>(below(kind.targets)) << 32};
  };
  std::vector<Stretch> stretches(static_cast<std::size_t>(kind.chains) + 1);
  std::generate(stretches.begin(), stretches.end(), somewhere);
  struct Anchor {
    std::uint64_t x, y;
  };
  std::vector<Anchor> anchors;
  for (int i = 0; i < kind.count; ++i) {
    Stretch at = somewhere();
    if (kind.chains > 0 && below(4) > 0) {
      Stretch& stretch = stretches[static_cast<std::size_t>(below(kind.chains))];
      const std::int32_t step = 1 + below(kind.longest_step);
      stretch.target += step + (below(5) == 0 ? below(30) : 0);
      stretch.query += step;
      if (stretch.query >= kind.read_length) stretch = somewhere();
      at = stretch;
    }
    const std::int32_t target = at.target / kind.period * kind.period, query = at.query / kind.period * kind.period;
    const auto span = static_cast<std::uint64_t>(15 + below(kind.longest_span - 14));
    anchors.push_back({at.lane | static_cast<std::uint64_t>(target), span << 32 | static_cast<std::uint64_t>(query)});
  }
  std::stable_sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) { return a.x < b.x; });
  MadeUpRead read;
  read.length = kind.read_length;
  for (const Anchor& anchor : anchors) {
    read.x.push_back(anchor.x);
    read.y.push_back(anchor.y);
  }
  return read;
}

inline const std::vector<AnchorKind>& anchor_kinds() {
  static const std::vector<AnchorKind> kinds = {
      {0, 1, 100, 0, 1, 15},         {1, 1, 100, 0, 1, 15},         {70, 3, 500, 2, 1, 15},    {400, 1, 3000, 4, 1, 15},
      {2000, 1, 6000, 12, 1, 15},    {1500, 40, 4000, 60, 1, 15},   {900, 1, 400, 3, 10, 15},  {1200, 1, 900, 6, 31, 15},
      {1500, 2, 3000, 9, 1, 180},    {1200, 1, 60000, 5, 1, 15},    {2500, 1, 300, 20, 1, 15}, {1500, 1, 9000, 1, 1, 15, 15},
      {1200, 2, 4000, 2, 1, 40, 20}, {1500, 1, 2000, 2, 5, 15, 12},
  };
  return kinds;
}

struct FoundChains {
  std::vector<std::int32_t> score, anchor_count, anchor_score, predecessor;
  std::vector<std::uint64_t> x, y;
  bool operator==(const FoundChains&) const = default;
};

inline FoundChains find_chains(const MadeUpRead& read, const ChainingParameters& parameters, ChainingWorkspace& workspace) {
  const std::size_t n = read.x.size();
  std::vector<std::int32_t> score(n), count(n);
  std::vector<std::uint64_t> x(n), y(n);
  FoundChains found;
  found.anchor_score.resize(n);
  found.predecessor.resize(n);
  const Chains chains =
      chain_anchors(read.anchors(), read.length, parameters, workspace, {score, count, x, y}, {found.anchor_score, found.predecessor});
  found.score.assign(chains.score.begin(), chains.score.end());
  found.anchor_count.assign(chains.anchor_count.begin(), chains.anchor_count.end());
  found.x.assign(chains.anchor_x.begin(), chains.anchor_x.end());
  found.y.assign(chains.anchor_y.begin(), chains.anchor_y.end());
  return found;
}

}  // namespace sluice::chaining
