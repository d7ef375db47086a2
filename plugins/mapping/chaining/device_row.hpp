// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the scores of a row to its chains by a team of threads: what chains_from_scores does (chaining.hpp).

#include <cstdint>

#include "chaining/device_chains.hpp"
#include "chaining/device_joins.hpp"
#include "chaining/device_long_joins.hpp"

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

// More of a row are joined as short ones are.
inline constexpr std::uint32_t most_long_runs = 128;

SLUICE_HOST_DEVICE inline RowToWalk row_to_walk(const ScoredRow& row, const ChainingParameters& parameters, const RowChains& chains) {
  return {row.x,
          row.y,
          row.score,
          row.predecessor,
          row.run,
          row.anchors,
          parameters.min_chain_score,
          parameters.min_cnt,
          parameters.bw,
          parameters.ties,
          chains.score,
          chains.anchor_count,
          chains.anchor_x,
          chains.anchor_y};
}

template <class Team>
struct RowMemory {
  union {  // one after the other
    WalkMemory<Team> walk;
    struct {
      JoinTile<typename Team::Warp> tiles[Team::most_parts];
      LongRunMemory<Team> long_run;
    } join;
  };
  std::uint32_t next_run, long_runs, undecided;
  JoinRun long_run[most_long_runs];
};

// Where runs begin, ascending. Returns how many there are.
template <class Team>
SLUICE_HOST_DEVICE std::uint32_t list_runs(Team& team, const RowToJoin& row, const JoinRules& rules, std::uint32_t* runs) {
  std::uint32_t count = 0, found = 0;
  for (std::int32_t first = 0; first < row.anchors; first += static_cast<std::int32_t>(team.size())) {
    const std::int32_t anchor = first + static_cast<std::int32_t>(team.rank());
    const bool begins = anchor < row.anchors && begins_run(row.x, anchor, rules.limits.distance);
    const std::uint32_t to = count + team.sum_before(begins ? 1 : 0, found);
    if (begins) runs[to] = static_cast<std::uint32_t>(anchor);
    count += found;
  }
  team.sync();
  return count;
}

// All runs of the anchors that are to be joined: short ones each by a warp, long ones by all threads.
template <class Team>
SLUICE_HOST_DEVICE bool join_row(Team& team, const RowToJoin& row, const JoinRules& rules, std::uint32_t* runs, RowMemory<Team>& memory) {
  using Warp = typename Team::Warp;
  if (team.rank() == 0) memory.next_run = memory.long_runs = memory.undecided = 0;
  const std::uint32_t run_count = list_runs(team, row, rules, runs);
  const auto run_at = [&](std::uint32_t i) {
    return JoinRun{static_cast<std::int32_t>(runs[i]), i + 1 < run_count ? static_cast<std::int32_t>(runs[i + 1]) : row.anchors};
  };
  Warp warp = team.warp();
  JoinTile<Warp>& tile = memory.join.tiles[warp.part()];
  for (;;) {
    std::uint32_t next = 0;
    if (warp.rank() == 0) next = warp.add(&memory.next_run, 1);
    next = warp.from(next, 0);
    if (next >= run_count) break;
    const JoinRun run = run_at(next);
    std::uint32_t long_run = most_long_runs;
    if (run.last - run.first > rules.long_run_anchors) {
      if (warp.rank() == 0) long_run = warp.add(&memory.long_runs, 1);
      long_run = warp.from(long_run, 0);
    }
    if (long_run < most_long_runs) {
      if (warp.rank() == 0) memory.long_run[long_run] = run;
    } else if (!RunJoiner<Warp>(warp, row, run, rules, tile).join() && warp.rank() == 0) {
      warp.add(&memory.undecided, 1);
    }
  }
  team.sync();
  team.lap(Phase::short_joins);
  const std::uint32_t long_runs = memory.long_runs < most_long_runs ? memory.long_runs : most_long_runs;
  bool decided = memory.undecided == 0;
  for (std::uint32_t i = 0; i < long_runs && decided; ++i)
    decided = LongRunJoiner<Team>(team, warp, row, memory.long_run[i], rules, tile, memory.join.long_run).join();
  team.lap(Phase::long_joins);
  return decided;
}

// Chains that are never joined.
template <class Team>
SLUICE_HOST_DEVICE bool chain_row(Team& team, const ScoredRow& row, const RowRules& rules, const RowRoom& room, const RowChains& chains,
                                  WalkMemory<Team>& memory, ChainTotals& totals) {
  totals = walk_row(team, row_to_walk(row, rules.parameters, chains), room.walk, memory);
  return true;
}

// False: undecided; there are no chains.
template <class Team>
SLUICE_HOST_DEVICE bool chain_row(Team& team, const ScoredRow& row, const RowRules& rules, const RowRoom& room, const RowChains& chains,
                                  RowMemory<Team>& memory, ChainTotals& totals) {
  const ChainingParameters& parameters = rules.parameters;
  RowToWalk to_walk = row_to_walk(row, parameters, chains);
  totals = walk_row(team, to_walk, room.walk, memory.walk);
  if (totals.chains == 0 ||
      !wants_long_join(parameters, totals.chains, chains.anchor_y[0], chains.anchor_y[chains.anchor_count[0] - 1], row.read_length))
    return true;
  const std::uint32_t anchors = totals.anchors;
  sort_chained(team, to_walk, anchors, room.walk, room.x, room.y, memory.walk);
  team.lap(Phase::sort_anchors);
  // The columns of chains are free until the next walk, as the room of the walk is.
  const RowToJoin to_join{room.x,          room.y,          static_cast<std::int32_t>(anchors),
                          row.read_length, room.score,      room.predecessor,
                          row.run,         room.cost,       room.lowest_cost,
                          chains.score,    chains.anchor_x, chains.anchor_y,
                          room.walk.order};
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
