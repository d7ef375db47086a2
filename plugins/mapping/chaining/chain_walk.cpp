// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "chaining/chain_walk.hpp"

#include <algorithm>
#include <functional>

#include "chaining/anchor_sort.hpp"

namespace sluice::chaining {
namespace {

// Where the chain that ends at `end` begins: at the anchor after the returned one (-1: at its very first). The walk goes on while the score may still
// rise, up to an anchor of an earlier chain.
std::int32_t chain_stop(std::int32_t end, PredecessorTable table, std::span<const std::uint8_t> used, std::int32_t max_drop) {
  const std::int32_t* const score = table.score.data();
  const std::int32_t* const predecessor = table.predecessor.data();
  std::int32_t best = 0;
  std::int32_t stop = end;
  std::int32_t at = end;
  do {
    at = predecessor[at];
    const std::int32_t s = at < 0 ? score[end] : score[end] - score[at];
    if (s > best) {
      best = s;
      stop = at;
    } else if (static_cast<std::int64_t>(best) - s > max_drop) {
      break;
    }
  } while (at >= 0 && used[static_cast<std::size_t>(at)] == 0);
  return stop;
}

// Takes the chain that ends at `end` if it is one.
void take_chain(std::int32_t end, Anchors anchors, PredecessorTable table, ChainLimits limits, ChainWalkScratch& scratch) {
  const std::int32_t stop = chain_stop(end, table, scratch.used, limits.max_drop);
  const std::size_t first_member = scratch.members.size();
  for (std::int32_t i = end; i != stop; i = table.predecessor[static_cast<std::size_t>(i)]) {
    scratch.members.push_back(i);
    scratch.used[static_cast<std::size_t>(i)] = 1;
  }
  const std::size_t count = scratch.members.size() - first_member;
  const std::int32_t end_score = table.score[static_cast<std::size_t>(end)];
  const std::int32_t chain_score = stop < 0 ? end_score : end_score - table.score[static_cast<std::size_t>(stop)];
  if (chain_score < limits.min_chain_score || count == 0 || static_cast<std::int64_t>(count) < limits.min_cnt) {
    scratch.members.resize(first_member);
    return;
  }
  scratch.order.push_back({anchors.x[static_cast<std::size_t>(scratch.members.back())], static_cast<std::uint32_t>(scratch.scores.size())});
  scratch.scores.push_back(static_cast<std::uint64_t>(chain_score) << 32 | count);
  scratch.ends_at.push_back(scratch.members.size());
}

void take_chains_of_ends(Anchors anchors, PredecessorTable table, ChainLimits limits, ChainWalkScratch& scratch) {
  for (auto end = scratch.ends.rbegin(); end != scratch.ends.rend(); ++end) {
    const auto last = static_cast<std::int32_t>(*end & 0xffffffff);
    if (scratch.used[static_cast<std::size_t>(last)] == 0) take_chain(last, anchors, table, limits, scratch);
  }
}

// One chain has nearly all anchors of most reads, and ends that it has used need no place among the others. True: all chains are taken. False: no end
// is better than all others, or many are left, or some of those with equal scores: only the sort of all ends tells their order.
bool take_best_chain_first(Anchors anchors, PredecessorTable table, ChainLimits limits, ChainWalkScratch& scratch) {
  constexpr std::size_t few_ends = 64;
  const auto score_of = [](std::uint64_t end) { return end >> 32; };
  const std::uint64_t best = *std::ranges::max_element(scratch.ends);
  if (std::ranges::count(scratch.ends, score_of(best), score_of) > 1) return false;
  take_chain(static_cast<std::int32_t>(best & 0xffffffff), anchors, table, limits, scratch);
  std::vector<std::uint64_t>& left = scratch.ends_left;
  left.clear();
  for (const std::uint64_t end : scratch.ends) {
    if (scratch.used[end & 0xffffffff] != 0) continue;
    if (left.size() == few_ends) return false;
    left.push_back(end);
  }
  std::ranges::sort(left);
  if (std::ranges::adjacent_find(left, std::ranges::equal_to(), score_of) != left.end()) return false;
  scratch.ends.assign(left.begin(), left.end());
  take_chains_of_ends(anchors, table, limits, scratch);
  return true;
}

}  // namespace

Chains walk_chains(Anchors anchors, PredecessorTable table, ChainLimits limits, ChainWalkScratch& scratch, ChainRoom room) {
  const std::size_t n = anchors.size();
  scratch.ends.clear();
  scratch.used.assign(n, 0);
  scratch.members.clear();
  scratch.scores.clear();
  scratch.ends_at.clear();
  scratch.order.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (table.score[i] >= limits.min_chain_score) scratch.ends.push_back(static_cast<std::uint64_t>(table.score[i]) << 32 | i);
  if (!scratch.ends.empty() && !take_best_chain_first(anchors, table, limits, scratch)) {
    if (limits.ties == Ties::minimap2)
      sort_records(std::span(scratch.ends), [](std::uint64_t end) { return end >> 32; });
    else
      std::ranges::sort(scratch.ends);
    take_chains_of_ends(anchors, table, limits, scratch);
  }
  if (limits.ties == Ties::minimap2)
    sort_records(std::span(scratch.order), [](const ChainWalkScratch::ChainStart& start) { return start.first_x; });
  else
    std::stable_sort(scratch.order.begin(), scratch.order.end(), [](const auto& a, const auto& b) { return a.first_x < b.first_x; });

  std::size_t chain = 0, to = 0;
  for (const auto& start : scratch.order) {
    const std::uint64_t of_chain = scratch.scores[start.chain];
    const auto count = static_cast<std::size_t>(of_chain & 0xffffffff);
    room.score[chain] = static_cast<std::int32_t>(of_chain >> 32);
    room.anchor_count[chain++] = static_cast<std::int32_t>(count);
    const std::size_t end = scratch.ends_at[start.chain];
    for (std::size_t m = 1; m <= count; ++m, ++to) {
      const auto anchor = static_cast<std::size_t>(scratch.members[end - m]);
      room.anchor_x[to] = anchors.x[anchor];
      room.anchor_y[to] = anchors.y[anchor];
    }
  }
  return {room.score.first(chain), room.anchor_count.first(chain), room.anchor_x.first(to), room.anchor_y.first(to)};
}

}  // namespace sluice::chaining
