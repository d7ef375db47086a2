// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the scores of a row to its chains by a team of threads: what chains_from_scores does (chaining.hpp).

#include <cstdint>

#include "chaining/device_chains.hpp"
#include "chaining/device_joins.hpp"

namespace sluice::chaining {

struct RowRules {
  ChainingParameters parameters;
  JoinRules joins;
  bool can_join;  // otherwise rows whose chains are to be joined are undecided
};

struct ScoredRow {
  const std::uint64_t* x;
  const std::uint64_t* y;
  const std::int32_t* score;
  const std::int32_t* predecessor;
  std::uint32_t* run;  // of each anchor: predecessors are of the same; overwritten
  std::uint32_t anchors;
  std::int32_t read_length;
};

// Elements as many as anchors.
struct RowChains {
  std::int32_t* score;
  std::int32_t* anchor_count;
  std::uint64_t* anchor_x;
  std::uint64_t* anchor_y;
};

struct RowRoom {
  WalkRoom walk;
  std::uint64_t* x;  // of chained anchors, sorted
  std::uint64_t* y;
  std::int32_t* score;
  std::int32_t* predecessor;
  double* cost;
  double* lowest_cost;
};

template <class Team>
struct RowMemory {
  union {  // one after the other
    WalkMemory<Team> walk;
    JoinTile<typename Team::Warp> tiles[Team::most_parts];
  };
  std::uint32_t run_count, next_run, undecided;
};

// All runs of the anchors that are to be joined, each by a warp.
template <class Team>
SLUICE_HOST_DEVICE bool join_row(Team& team, const RowToJoin& row, const JoinRules& rules, std::uint32_t* runs, RowMemory<Team>& memory) {
  using Warp = typename Team::Warp;
  if (team.rank() == 0) memory.run_count = memory.next_run = memory.undecided = 0;
  team.sync();
  for (auto anchor = static_cast<std::int32_t>(team.rank()); anchor < row.anchors; anchor += static_cast<std::int32_t>(team.size()))
    if (begins_run(row.x, anchor, rules.limits.distance)) runs[team.add(&memory.run_count, 1)] = static_cast<std::uint32_t>(anchor);
  team.sync();
  Warp warp = team.warp();
  const std::uint32_t run_count = memory.run_count;
  for (;;) {
    std::uint32_t next = 0;
    if (warp.rank() == 0) next = warp.add(&memory.next_run, 1);
    next = warp.from(next, 0);
    if (next >= run_count) break;
    RunJoiner<Warp> joiner(warp, row, static_cast<std::int32_t>(runs[next]), rules, memory.tiles[warp.part()]);
    if (!joiner.join() && warp.rank() == 0) warp.add(&memory.undecided, 1);
  }
  team.sync();
  return memory.undecided == 0;
}

// False: undecided; there are no chains.
template <class Team>
SLUICE_HOST_DEVICE bool chain_row(Team& team, const ScoredRow& row, const RowRules& rules, const RowRoom& room, const RowChains& chains,
                                  RowMemory<Team>& memory, ChainTotals& totals) {
  const ChainingParameters& parameters = rules.parameters;
  RowToWalk to_walk{
      row.x,         row.y,        row.score,           row.predecessor, row.run,        row.anchors, parameters.min_chain_score, parameters.min_cnt,
      parameters.bw, chains.score, chains.anchor_count, chains.anchor_x, chains.anchor_y};
  totals = walk_row(team, to_walk, room.walk, memory.walk);
  if (totals.chains == 0 ||
      !wants_long_join(parameters, totals.chains, chains.anchor_y[0], chains.anchor_y[chains.anchor_count[0] - 1], row.read_length))
    return true;
  const std::uint32_t anchors = totals.anchors;
  sort_chained(team, to_walk, anchors, room.walk, room.x, room.y, memory.walk);
  const RowToJoin to_join{room.x,           room.y,      static_cast<std::int32_t>(anchors), room.score, room.predecessor, row.run, room.cost,
                          room.lowest_cost, chains.score};  // which is free until the next walk, as the room of the walk is
  totals = {0, 0};
  if (!rules.can_join || !join_row(team, to_join, rules.joins, room.walk.spare, memory)) return false;
  to_walk.x = room.x;
  to_walk.y = room.y;
  to_walk.score = room.score;
  to_walk.predecessor = room.predecessor;
  to_walk.anchors = anchors;
  to_walk.max_drop = parameters.bw_long;
  totals = walk_row(team, to_walk, room.walk, memory.walk);
  return true;
}

}  // namespace sluice::chaining
