// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "chaining/chaining.hpp"

#include <algorithm>
#include <vector>

#include "chaining/anchor_sort.hpp"
#include "chaining/chain_walk.hpp"
#include "chaining/long_join_search.hpp"
#include "chaining/predecessor_search.hpp"
#include "chaining/recurrences.hpp"

namespace sluice::chaining {

struct ChainingWorkspace::Parts {
  std::vector<std::int32_t> score, predecessor, stamps;
  PredecessorSearchScratch search;
  JoinSearchScratch join_search;
  TreeScratch trees;
  ChainWalkScratch walk;
  struct Anchor {
    std::uint64_t x, y;
  };
  std::vector<Anchor> sorted;
  std::vector<std::uint64_t> chained_x, chained_y;
};
namespace {

// A read with more anchors than this (64 MiB, if nothing were freed) gives the memory of each step back before the next one.
constexpr std::size_t large_read = 400'000;

template <class... Memory>
void free_if_large(std::size_t anchors, Memory&... memory) {
  if (anchors > large_read) ((memory = Memory()), ...);
}

}  // namespace

ChainingWorkspace::ChainingWorkspace() : parts_(std::make_unique<Parts>()) {}
ChainingWorkspace::~ChainingWorkspace() = default;
ChainingWorkspace::ChainingWorkspace(ChainingWorkspace&&) noexcept = default;
ChainingWorkspace& ChainingWorkspace::operator=(ChainingWorkspace&&) noexcept = default;

bool skips_are_unlimited(const ChainingParameters& parameters, std::int32_t window) { return parameters.max_chain_skip >= window; }

AnchorFault check_anchors(Anchors anchors, std::int64_t read_length) {
  if (anchors.x.size() != anchors.y.size()) return AnchorFault::different_lengths;
  if (anchors.size() > static_cast<std::size_t>(INT32_MAX)) return AnchorFault::too_many;
  if (read_length < 0 || read_length > highest_position) return anchors.size() == 0 ? AnchorFault::none : AnchorFault::outside_read;
  bool sorted = true, inside = true;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    sorted &= before <= anchors.x[i];
    before = anchors.x[i];
    inside &= (anchors.x[i] & 0xffffffffU) <= static_cast<std::uint64_t>(highest_position);
    inside &= (anchors.y[i] & 0xffffffffU) < static_cast<std::uint64_t>(read_length);
  }
  return !sorted ? AnchorFault::unsorted : !inside ? AnchorFault::outside_read : AnchorFault::none;
}

namespace {

PredecessorTable table_of(ChainingWorkspace::Parts& parts, std::size_t anchors) {
  if (parts.score.size() < anchors) {
    parts.score.resize(anchors);
    parts.predecessor.resize(anchors);
  }
  return {std::span(parts.score).first(anchors), std::span(parts.predecessor).first(anchors)};
}

// One run of anchors after the other: chains never leave a target and strand.
void join(Anchors anchors, const ChainingParameters& parameters, std::int32_t band, ChainingWorkspace::Parts& parts, PredecessorTable table) {
  const JoinLimits limits = join_limits(parameters, band);
  for (std::size_t first = 0; first < anchors.size();) {
    std::size_t last = first + 1;
    while (last < anchors.size() && anchors.x[last] >> 32 == anchors.x[first] >> 32) ++last;
    if (skips_are_unlimited(parameters, parameters.rmq_size_cap)) {
      search_joins(anchors, first, last, parameters, limits, parts.join_search, table);
    } else {
      scan_joins(anchors, first, last, parameters, limits, parts.trees, table);
      free_if_large(last - first, parts.trees);
    }
    first = last;
  }
}

bool wants_long_join(const Chains& chains, std::int32_t read_length, const ChainingParameters& parameters) {
  if (chains.score.empty()) return false;
  const auto last = static_cast<std::size_t>(chains.anchor_count[0]) - 1;
  return wants_long_join(parameters, chains.score.size(), chains.anchor_y[0], chains.anchor_y[last], read_length);
}

Anchors sort_chained_anchors(const Chains& chains, ChainingWorkspace::Parts& parts) {
  const std::size_t n = chains.anchor_x.size();
  parts.sorted.resize(n);
  parts.chained_x.resize(n);
  parts.chained_y.resize(n);
  for (std::size_t i = 0; i < n; ++i) parts.sorted[i] = {chains.anchor_x[i], chains.anchor_y[i]};
  sort_records(std::span(parts.sorted), [](const ChainingWorkspace::Parts::Anchor& anchor) { return anchor.x; });
  for (std::size_t i = 0; i < n; ++i) {
    parts.chained_x[i] = parts.sorted[i].x;
    parts.chained_y[i] = parts.sorted[i].y;
  }
  free_if_large(n, parts.sorted);
  return {parts.chained_x, parts.chained_y};
}

Chains walk_and_join(Anchors anchors, std::int32_t read_length, const ChainingParameters& parameters, ChainingWorkspace::Parts& parts, ChainRoom room,
                     PredecessorTable table) {
  const std::int32_t max_drop = parameters.splice ? INT32_MAX : parameters.bw;
  Chains chains = walk_chains(anchors, table, {parameters.min_chain_score, parameters.min_cnt, max_drop, parameters.ties}, parts.walk, room);
  if (wants_long_join(chains, read_length, parameters)) {
    free_if_large(anchors.size(), parts.walk);
    const Anchors chained = sort_chained_anchors(chains, parts);
    table = table_of(parts, chained.size());
    join(chained, parameters, parameters.bw_long, parts, table);
    free_if_large(anchors.size(), parts.join_search);
    chains = walk_chains(chained, table, {parameters.min_chain_score, parameters.min_cnt, parameters.bw_long, parameters.ties}, parts.walk, room);
  }
  return chains;
}

}  // namespace

Chains chain_anchors(Anchors anchors, std::int32_t read_length, const ChainingParameters& parameters, ChainingWorkspace& workspace, ChainRoom room,
                     AnchorScores scores) {
  ChainingWorkspace::Parts& parts = workspace.parts();
  const PredecessorTable table = table_of(parts, anchors.size());
  if (parameters.engine == Engine::range_minimum) {
    join(anchors, parameters, parameters.bw, parts, table);
  } else if (skips_are_unlimited(parameters, parameters.max_chain_iter) && !parameters.splice) {
    search_predecessors(anchors, parameters, parts.search, table);
  } else {
    scan_predecessors(anchors, parameters, parts.stamps, table);
  }
  free_if_large(anchors.size(), parts.search, parts.join_search, parts.stamps);
  if (!scores.score.empty()) std::copy(table.score.begin(), table.score.end(), scores.score.begin());
  if (!scores.predecessor.empty()) std::copy(table.predecessor.begin(), table.predecessor.end(), scores.predecessor.begin());
  return walk_and_join(anchors, read_length, parameters, parts, room, table);
}

Chains chains_from_scores(Anchors anchors, std::int32_t read_length, const ChainingParameters& parameters, ChainingWorkspace& workspace,
                          ChainRoom room, AnchorScores scores) {
  return walk_and_join(anchors, read_length, parameters, workspace.parts(), room, {scores.score, scores.predecessor});
}

// Of a small read all steps' memory is kept; of a large one there is that of the step that needs most, the second search.
std::size_t chaining_workspace_bytes(std::size_t anchors) { return anchors * (anchors > large_read ? 115 : 160); }

}  // namespace sluice::chaining
