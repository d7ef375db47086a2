// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// walk_chains (chain_walk.hpp) for one row by a team of threads, the same chains in the same order. Ends are taken up from the best on, as many at a
// time as there are threads; those of one group of anchors, which no chain leaves, wait for each other, others do not.

#include <cstddef>
#include <cstdint>

#include "chaining/chaining.hpp"
#include "chaining/device_claims.hpp"
#include "chaining/device_merge.hpp"
#include "chaining/device_sort.hpp"
#include "chaining/thread_team.hpp"

namespace sluice::chaining {

// Anchors of a row, with their scores, and what is made of them.
struct RowToWalk {
  const std::uint64_t* x;
  const std::uint64_t* y;
  const std::int32_t* score;
  const std::int32_t* predecessor;
  const std::uint32_t* group;  // of each anchor; a predecessor is of the same group
  std::uint32_t anchors;
  std::int32_t min_chain_score, min_cnt, max_drop;  // as ChainLimits
  Ties ties;                                        // likewise
  // Results.
  std::int32_t* chain_score;         // of each chain
  std::int32_t* chain_anchor_count;  // of each chain
  std::uint64_t* chain_anchor_x;     // of all chains, one after the other
  std::uint64_t* chain_anchor_y;
};

// Working memory of a row, an element per anchor but for `digit`, which has one more, and `parts`, which has most_sort_parts. Those of other rows lie
// behind it.
struct WalkRoom {
  std::uint32_t* end;        // anchors where a chain may end; later the chains: the places of their ends in the order of scores
  std::uint32_t* end_score;  // of `end`
  std::uint32_t* order;
  std::uint32_t* spare;
  std::uint32_t* claim;         // per anchor: 1 + the place of the end that it was claimed for; 0: none
  std::uint32_t* depth;         // per claimed anchor: how far it is from that end
  std::uint32_t* claimed;       // per place of an end: anchors of its chain, 0: no chain
  std::uint32_t* first_anchor;  // likewise; later where its anchors begin among those of all chains
  std::int32_t* claimed_score;  // likewise
  std::uint64_t* first_x;       // of each chain
  std::uint8_t* digit;
  SortPart* parts;
};

template <class Team>
struct WalkMemory {
  static constexpr std::uint32_t turns = 1024;
  union {  // one after the other
    SortMemory<Team> sort;
    struct {
      std::uint32_t turn[turns];  // who is next, by group
      ClaimWindow window[Team::most_parts];
    } claims;
  };
};

struct ChainTotals {
  std::uint32_t chains, anchors;
};

// Anchors whose score is high enough, ascending. Returns how many there are.
template <class Team>
SLUICE_HOST_DEVICE std::uint32_t list_ends(Team& team, const RowToWalk& row, const WalkRoom& room) {
  std::uint32_t ends = 0, found = 0;
  for (std::uint32_t first = 0; first < row.anchors; first += team.size()) {
    const std::uint32_t anchor = first + team.rank();
    const bool inside = anchor < row.anchors;
    const std::int32_t score = inside ? row.score[anchor] : 0;
    const bool is_end = inside && score >= row.min_chain_score;
    const std::uint32_t to = ends + team.sum_before(is_end ? 1 : 0, found);
    if (inside) room.claim[anchor] = 0;
    if (is_end) {
      room.end[to] = anchor;
      room.end_score[to] = static_cast<std::uint32_t>(score);
    }
    ends += found;
  }
  team.sync();
  return ends;
}

// By a warp, for those of its threads whose end is next.
template <class Warp>
SLUICE_HOST_DEVICE void claim_chains(Warp& warp, const RowToWalk& row, const WalkRoom& room, bool is_next, std::uint32_t place, std::uint32_t end,
                                     ClaimWindow& window) {
  const LinkedAnchors anchors{row.score, row.predecessor, room.claim, room.depth, row.max_drop};
  ChainClaimer<Warp> claimer(warp, anchors, window);
  for (;;) {
    const std::uint32_t owner = warp.first(is_next);
    if (owner == warp.size()) return;
    const ClaimedChain chain = claimer.claim(warp.from(place, owner), static_cast<std::int32_t>(warp.from(end, owner)));
    if (warp.rank() != owner) continue;
    is_next = false;
    const bool is_chain = chain.score >= row.min_chain_score && chain.anchors > 0 && static_cast<std::int64_t>(chain.anchors) >= row.min_cnt;
    room.claimed[place] = is_chain ? chain.anchors : 0;
    room.claimed_score[place] = chain.score;
    room.first_anchor[place] = chain.first;
  }
}

template <class Team, class Memory>
SLUICE_HOST_DEVICE void walk_ends(Team& team, const RowToWalk& row, const WalkRoom& room, std::uint32_t ends, Memory& memory) {
  constexpr std::uint32_t nobody = UINT32_MAX;
  auto warp = team.warp();
  for (std::uint32_t i = team.rank(); i < Memory::turns; i += team.size()) memory.claims.turn[i] = nobody;
  team.sync();
  for (std::uint32_t first = 0; first < ends; first += team.size()) {
    bool waits = first + team.rank() < ends;
    const std::uint32_t place = waits ? ends - 1 - (first + team.rank()) : 0;
    std::uint32_t end = 0;
    std::int32_t higher_before = -1;  // behind a claimed anchor that is no lower, a chain has no anchors
    std::uint32_t* turn = nullptr;
    if (waits) {
      end = room.end[room.order[place]];
      const std::int32_t before = row.predecessor[end];
      if (before >= 0 && row.score[before] >= row.score[end]) higher_before = before;
      turn = &memory.claims.turn[row.group[end] % Memory::turns];
      room.claimed[place] = 0;
    }
    for (;;) {
      if (waits && (room.claim[end] != 0 || (higher_before >= 0 && room.claim[higher_before] != 0))) waits = false;
      if (!team.any(waits)) break;
      if (waits) team.lower(turn, team.rank());
      team.sync();
      const bool is_next = waits && *turn == team.rank();
      claim_chains(warp, row, room, is_next, place, end, memory.claims.window[warp.part()]);
      if (is_next) waits = false;
      team.sync();
      if (is_next) *turn = nobody;
      team.sync();
    }
  }
}

// The chains in the order in which they were found. Returns how many there are.
template <class Team>
SLUICE_HOST_DEVICE std::uint32_t list_chains(Team& team, const RowToWalk& row, const WalkRoom& room, std::uint32_t ends) {
  std::uint32_t chains = 0, found = 0;
  team.sync();
  for (std::uint32_t first = 0; first < ends; first += team.size()) {
    const bool inside = first + team.rank() < ends;
    const std::uint32_t place = inside ? ends - 1 - (first + team.rank()) : 0;
    const bool is_chain = inside && room.claimed[place] != 0;
    const std::uint32_t to = chains + team.sum_before(is_chain ? 1 : 0, found);
    if (is_chain) {
      room.end[to] = place;
      room.first_x[to] = row.x[room.first_anchor[place]];
    }
    chains += found;
  }
  team.sync();
  return chains;
}

// Chains in the order of `room.order`. Returns how many anchors they have.
template <class Team>
SLUICE_HOST_DEVICE std::uint32_t write_chains(Team& team, const RowToWalk& row, const WalkRoom& room, std::uint32_t chains) {
  std::uint32_t anchors = 0, found = 0;
  for (std::uint32_t first = 0; first < chains; first += team.size()) {
    const std::uint32_t chain = first + team.rank();
    const bool inside = chain < chains;
    const std::uint32_t place = inside ? room.end[room.order[chain]] : 0, count = inside ? room.claimed[place] : 0;
    const std::uint32_t begin = anchors + team.sum_before(count, found);
    if (inside) {
      row.chain_score[chain] = room.claimed_score[place];
      row.chain_anchor_count[chain] = static_cast<std::int32_t>(count);
      room.first_anchor[place] = begin;
    }
    anchors += found;
  }
  team.sync();
  for (std::uint32_t anchor = team.rank(); anchor < row.anchors; anchor += team.size()) {
    if (room.claim[anchor] == 0) continue;
    const std::uint32_t place = room.claim[anchor] - 1, count = room.claimed[place];
    if (count == 0) continue;
    const std::uint32_t to = room.first_anchor[place] + count - 1 - room.depth[anchor];
    row.chain_anchor_x[to] = row.x[anchor];
    row.chain_anchor_y[to] = row.y[anchor];
  }
  team.sync();
  return anchors;
}

template <class Team, class Key, class Memory>
SLUICE_HOST_DEVICE void sort_with_ties(Team& team, Ties ties, const RecordsToSort<Key>& records, Memory& memory) {
  if (ties == Ties::place)
    merge_by_team(team, records);
  else
    sort_by_team(team, records, memory);
}

template <class Team, class Memory>
SLUICE_HOST_DEVICE ChainTotals walk_row(Team& team, const RowToWalk& row, const WalkRoom& room, Memory& memory) {
  const std::uint32_t ends = list_ends(team, row, room);
  team.lap(Phase::list_ends);
  sort_with_ties(team, row.ties, RecordsToSort<std::uint32_t>{room.end_score, ends, room.order, room.spare, room.depth, room.digit, room.parts},
                 memory.sort);
  team.lap(Phase::sort_ends);
  walk_ends(team, row, room, ends, memory);
  const std::uint32_t chains = list_chains(team, row, room, ends);
  team.lap(Phase::walk);
  sort_with_ties(team, row.ties, RecordsToSort<std::uint64_t>{room.first_x, chains, room.order, room.spare, room.end_score, room.digit, room.parts},
                 memory.sort);
  team.lap(Phase::sort_chains);
  const ChainTotals totals{chains, write_chains(team, row, room, chains)};
  team.lap(Phase::write_chains);
  return totals;
}

// The chained anchors of a row in the order of sort_records.
template <class Team, class Memory>
SLUICE_HOST_DEVICE void sort_chained(Team& team, const RowToWalk& row, std::uint32_t anchors, const WalkRoom& room, std::uint64_t* x,
                                     std::uint64_t* y, Memory& memory) {
  sort_by_team(team, RecordsToSort<std::uint64_t>{row.chain_anchor_x, anchors, room.order, room.spare, room.end_score, room.digit, room.parts},
               memory.sort);
  for (std::uint32_t place = team.rank(); place < anchors; place += team.size()) {
    x[place] = row.chain_anchor_x[room.order[place]];
    y[place] = row.chain_anchor_y[room.order[place]];
  }
  team.sync();
}

}  // namespace sluice::chaining
