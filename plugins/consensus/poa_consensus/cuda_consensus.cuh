// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The consensus of a graph by one warp: heaviest_bundle.hpp's and columns.hpp's.

#include "poa_consensus/cuda_order.cuh"

namespace sluice::poa_consensus::cuda {

// Where a consensus goes.
struct ConsensusText {
  char* bases;
  std::int32_t* coverage;  // may be null
  std::int32_t* support;   // may be null
  std::uint32_t capacity;
};

// In-edges of a node as the consensus sees them.
struct HeaviestEdges {
  std::int32_t weight = -1;
  std::uint32_t edges = 0;       // those with that weight, a bit each
  std::uint32_t tail = no_node;  // rank of the tail of the only one
};

__device__ inline HeaviestEdges heaviest_edges(const Graph& g, std::uint32_t node) {
  HeaviestEdges heaviest;
  for (std::uint32_t k = 0; k < g.in_count()[node]; ++k) {
    const std::int32_t weight = g.in_weight()[in_edge_place(g, node, k)];
    if (weight < heaviest.weight) continue;
    if (weight > heaviest.weight) heaviest.edges = 0;
    heaviest.weight = weight;
    heaviest.edges |= 1U << k;
  }
  if (count_bits(heaviest.edges) == 1)
    heaviest.tail = g.rank()[g.in_tail()[in_edge_place(g, node, static_cast<std::uint32_t>(lowest_bit(heaviest.edges)))]];
  return heaviest;
}

// Scores a node from its in-edges, one after the other. Tails without a score are passed over if `scored_only`.
enum class Tails { all, scored };
__device__ inline void score_node(const Graph& g, std::int32_t* score, std::uint32_t node, Tails tails) {
  std::int32_t heaviest = -1;
  std::uint32_t from = no_node;
  for (std::uint32_t k = 0; k < g.in_count()[node]; ++k) {
    const std::uint32_t tail = g.rank()[g.in_tail()[in_edge_place(g, node, k)]];
    const std::int32_t weight = g.in_weight()[in_edge_place(g, node, k)];
    if (tails == Tails::scored && score[tail] == -1) continue;
    if (heaviest < weight || (heaviest == weight && score[from] <= score[tail])) {
      heaviest = weight;
      from = tail;
    }
  }
  const std::uint32_t rank = g.rank()[node];
  score[rank] = from == no_node ? heaviest : heaviest + score[from];
  g.heaviest_tail()[rank] = static_cast<std::uint16_t>(from);
}

// The best path ended at a node that is not a sink: all that comes behind it in graph.hpp's order is scored again, as if the heads of its edges could
// be reached from it only. By one lane. Returns a node, or no_node: no edge behind it weighs anything.
__device__ inline std::uint32_t complete_path(const Graph& g, std::int32_t* score, std::uint32_t ended) {
  for (std::uint32_t place = g.ordered_rank()[ended] + 1U; place < g.nodes; ++place) {
    const std::uint32_t node = g.ordered_node()[place];
    bool is_head = false;
    for (std::uint32_t k = 0; k < g.in_count()[node]; ++k) is_head = is_head || g.in_tail()[in_edge_place(g, node, k)] == ended;
    if (!is_head) continue;
    for (std::uint32_t k = 0; k < g.in_count()[node]; ++k)
      if (g.in_tail()[in_edge_place(g, node, k)] != ended) score[g.rank()[g.in_tail()[in_edge_place(g, node, k)]]] = -1;
  }
  std::int32_t most = 0;
  std::uint32_t best = no_node;
  for (std::uint32_t place = g.ordered_rank()[ended] + 1U; place < g.nodes; ++place) {
    const std::uint32_t node = g.ordered_node()[place];
    score_node(g, score, node, Tails::scored);
    if (score[g.rank()[node]] > most) {
      most = score[g.rank()[node]];
      best = node;
    }
  }
  return best;
}

// Needs the rows of the whole graph. `shared`: memory of `shared_words` words.
__device__ inline Outcome heaviest_bundle(const Graph& graph, std::uint32_t* shared, std::uint32_t shared_words, const ConsensusText& text,
                                          std::uint32_t& length) {
  const Graph g = with_new_addresses(graph);
  const auto lane = static_cast<std::uint32_t>(lane_id());
  const std::uint32_t chunks = (g.nodes + warp_lanes - 1) / warp_lanes;
  std::int32_t* const score = g.nodes + chunks <= shared_words ? reinterpret_cast<std::int32_t*>(shared) + chunks : g.score();
  std::int32_t most = -2;
  for (std::uint32_t begin = 0; begin < g.nodes; begin += warp_lanes) {
    const std::uint32_t rank = begin + lane;
    const std::uint32_t node = rank < g.nodes ? g.node_at()[rank] : no_node;
    HeaviestEdges own;
    if (node != no_node) own = heaviest_edges(g, node);
    const std::uint32_t undecided = lanes_with(count_bits(own.edges) > 1);
    const auto nodes = static_cast<int>(min(g.nodes - begin, static_cast<std::uint32_t>(warp_lanes)));
    for (int turn = 0; turn < nodes; ++turn) {
      if ((undecided >> turn & 1) != 0) {
        if (static_cast<int>(lane) == turn) score_node(g, score, node, Tails::all);
      } else if (static_cast<int>(lane) == turn) {
        score[rank] = own.tail == no_node ? own.weight : own.weight + score[own.tail];
        g.heaviest_tail()[rank] = static_cast<std::uint16_t>(own.tail);
      }
      synchronize_warp();
    }
    if (node != no_node) most = max(most, score[rank]);
  }
  most = highest_of_warp(most);
  std::uint32_t best = no_node, candidates = 0;
  for (std::uint32_t begin = 0; begin < g.nodes; begin += warp_lanes) {
    const std::uint32_t rank = begin + lane;
    const std::uint32_t with_most = lanes_with(rank < g.nodes && score[rank] == most);
    if (with_most != 0 && candidates == 0) best = g.node_at()[begin + static_cast<std::uint32_t>(lowest_bit(with_most))];
    candidates += static_cast<std::uint32_t>(count_bits(with_most));
  }
  const auto is_sink = [&](std::uint32_t node) { return (g.row()[g.row_of()[node]].x & row_is_sink) != 0; };
  if (candidates > 1 || !is_sink(best)) {
    find_order(g);
    if (lane == 0) {
      for (std::uint32_t rank = 0; rank < g.nodes; ++rank) {
        const std::uint32_t node = g.node_at()[rank];
        if (score[rank] == most && g.ordered_rank()[node] < g.ordered_rank()[best]) best = node;
      }
      while (!is_sink(best)) {
        const std::uint32_t longer = complete_path(g, score, best);
        if (longer == no_node) break;
        best = longer;
      }
    }
    synchronize_warp();
    best = broadcast(best, 0);
  }

  // The path's ranks, a bit each, from its end; then its letters.
  std::uint32_t* const on_path = shared;
  const bool has_room = chunks <= shared_words;
  if (!has_room) return Outcome::too_many_nodes;
  std::uint32_t at = g.rank()[best];
  length = 0;
  for (std::uint32_t chunk = chunks; chunk-- > 0;) {
    const std::uint32_t begin = chunk * warp_lanes;
    std::uint32_t bits = 0;
    if (at != no_node && at >= begin) {
      const std::uint32_t own_tail = begin + lane < g.nodes ? g.heaviest_tail()[begin + lane] : no_node;
      while (at != no_node && at >= begin) {
        bits |= 1U << (at - begin);
        at = broadcast(own_tail, static_cast<int>(at - begin));
      }
    }
    synchronize_warp();
    if (lane == 0) on_path[chunk] = bits;
    length += static_cast<std::uint32_t>(count_bits(bits));
  }
  synchronize_warp();
  if (length > text.capacity) return Outcome::too_long_consensus;
  std::uint32_t written = 0;
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const std::uint32_t bits = on_path[chunk];
    if ((bits >> lane & 1) != 0) {
      const std::uint32_t place = written + static_cast<std::uint32_t>(count_bits(bits & lanes_before(static_cast<int>(lane))));
      const std::uint32_t node = g.node_at()[chunk * warp_lanes + lane];
      text.bases[place] = letter_of(g.letter()[node]);
      if (text.support != nullptr) text.support[place] = static_cast<std::int32_t>(g.sequences()[node]);
      if (text.coverage != nullptr) {
        std::int32_t coverage = g.coverage()[node];
        for (std::uint32_t other = g.next_aligned()[node]; other != node; other = g.next_aligned()[other]) coverage += g.coverage()[other];
        text.coverage[place] = coverage;
      }
    }
    written += static_cast<std::uint32_t>(count_bits(bits));
  }
  return Outcome::done;
}

enum class Template : std::uint8_t { counts, is_guide };

// columns.hpp's column_majority. Needs the rows of the whole graph. `sequences`: without a guide.
__device__ inline Outcome column_majority(const Graph& graph, std::uint32_t sequences, const Majority& majority, Template first,
                                          const ConsensusText& text, std::uint32_t& length) {
  const Graph g = with_new_addresses(graph);
  const auto lane = static_cast<std::uint32_t>(lane_id());
  find_order(g);
  length = 0;
  for (std::uint32_t begin = 0; begin < g.nodes; begin += warp_lanes) {
    const std::uint32_t place = begin + lane;
    const std::uint32_t node = place < g.nodes ? g.ordered_node()[place] : no_node;
    std::uint32_t winner = no_node, letters = 0;
    bool leads = node != no_node;
    if (leads)
      for (std::uint32_t other = g.next_aligned()[node]; other != node; other = g.next_aligned()[other])
        leads = leads && g.ordered_rank()[other] > place;
    if (leads) {
      std::uint32_t most = 0, second = 0, template_node = no_node;
      winner = node;
      std::uint32_t nodes = 1;
      for (std::uint32_t other = g.next_aligned()[node]; other != node; other = g.next_aligned()[other]) ++nodes;
      for (std::uint32_t i = 0; i < nodes; ++i) {
        const std::uint32_t member = g.ordered_node()[place + i];
        std::uint32_t count = g.sequences()[member];
        if (first == Template::is_guide && (g.letter()[member] & on_template) != 0) --count;
        letters += count;
        if ((g.letter()[member] & on_template) != 0) template_node = member;
        if (count > most) {
          second = most;
          most = count;
          winner = member;
        } else {
          second = max(second, count);
        }
      }
      const std::uint32_t gaps = sequences - letters;
      const bool is_decided = most > second && most >= gaps && most >= majority.support;
      if (!is_decided && majority.undecided == UndecidedColumn::keep_template) winner = template_node;
      if (gaps > most && gaps >= majority.support) winner = no_node;
    }
    const std::uint32_t winners = lanes_with(winner != no_node);
    if (length + static_cast<std::uint32_t>(count_bits(winners)) > text.capacity) return Outcome::too_long_consensus;
    if (winner != no_node) {
      const std::uint32_t to = length + static_cast<std::uint32_t>(count_bits(winners & lanes_before(static_cast<int>(lane))));
      text.bases[to] = letter_of(g.letter()[winner]);
      if (text.coverage != nullptr) text.coverage[to] = static_cast<std::int32_t>(letters);
      const bool is_on_guide = first == Template::is_guide && (g.letter()[winner] & on_template) != 0;
      if (text.support != nullptr) text.support[to] = static_cast<std::int32_t>(g.sequences()[winner]) - (is_on_guide ? 1 : 0);
    }
    length += static_cast<std::uint32_t>(count_bits(winners));
  }
  return Outcome::done;
}

}  // namespace sluice::poa_consensus::cuda
