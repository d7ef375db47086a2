// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// graph.hpp's topological order: a depth-first search over in-edges and aligned nodes in the order of node numbers. What depends on it: which of two
// equally good sinks ends an alignment, which of two equally good paths is the consensus, and the order of columns. The first two are rare, so one
// lane searches.

#include "poa_consensus/cuda_graph.cuh"

namespace sluice::poa_consensus::cuda {

constexpr int most_letters = 8;
constexpr std::uint8_t state_finished = 1;
constexpr std::uint8_t state_in_column = 2;  // met as an aligned node: it comes behind the node that it was met from
constexpr std::uint8_t state_met = 4;

// The nodes that are aligned to a node, in the order of graph.hpp's list: those of the node that it was aligned with when it was made, that node, and
// later ones by number. Returns their number.
__device__ inline int list_aligned(const Graph& g, std::uint32_t node, std::uint32_t (&list)[most_letters]) {
  if (g.next_aligned()[node] == node) return 0;
  std::uint32_t column[most_letters];
  int nodes = 0;
  for (std::uint32_t at = node;;) {
    int place = nodes++;
    for (; place > 0 && column[place - 1] > at; --place) column[place] = column[place - 1];
    column[place] = at;
    at = g.next_aligned()[at];
    if (at == node || nodes == most_letters) break;
  }
  std::uint32_t line[most_letters];  // from the node back to the column's first
  int generations = 0;
  for (std::uint32_t at = node; at != no_node && generations < most_letters; at = g.aligned_from()[at]) line[generations++] = at;
  int count = 0;
  for (int generation = generations - 1; generation > 0; --generation) {
    const std::uint32_t from = line[generation], made = line[generation - 1];
    for (int i = 0; i < nodes; ++i)
      if (column[i] > from && column[i] < made) list[count++] = column[i];
    list[count++] = from;
  }
  for (int i = 0; i < nodes; ++i)
    if (column[i] > node) list[count++] = column[i];
  return count;
}

// Fills ordered_node and ordered_rank with the nodes that have a row.
// The graph is passed by value: its members then stay in registers where this is called from.
__device__ __noinline__ void find_order(Graph g) {
  const auto lane = static_cast<std::uint32_t>(lane_id());
  for (std::uint32_t node = lane; node < g.nodes; node += warp_lanes) g.state()[node] = g.row_of()[node] != 0 ? 0 : state_finished;
  synchronize_warp();
  if (lane == 0) {
    std::uint32_t list[most_letters];
    std::uint32_t listed = 0;
    for (std::uint32_t root = 0; root < g.nodes; ++root) {
      if ((g.state()[root] & state_finished) != 0) continue;
      std::uint32_t depth = 0;
      g.stack()[depth++] = static_cast<std::uint16_t>(root);
      while (depth > 0) {
        const std::uint32_t top = g.stack()[depth - 1];
        const bool leads = (g.state()[top] & state_in_column) == 0;
        const int aligned = leads ? list_aligned(g, top, list) : 0;
        const std::uint32_t tails = g.in_count()[top];
        if ((g.state()[top] & state_met) == 0) {
          g.state()[top] |= state_met;
          g.cursor()[top] = static_cast<std::uint8_t>(tails + static_cast<std::uint32_t>(aligned));
          for (int i = 0; i < aligned; ++i) g.state()[list[i]] |= state_in_column;
        }
        std::uint32_t cursor = g.cursor()[top];
        std::uint32_t next = no_node;
        while (cursor > 0 && next == no_node) {
          --cursor;
          const std::uint32_t other = cursor >= tails ? list[cursor - tails] : g.in_tail()[in_edge_place(g, top, cursor)];
          if ((g.state()[other] & state_finished) == 0) next = other;
        }
        g.cursor()[top] = static_cast<std::uint8_t>(cursor);
        if (next != no_node) {
          g.stack()[depth++] = static_cast<std::uint16_t>(next);
          continue;
        }
        --depth;
        g.state()[top] |= state_finished;
        if (!leads) continue;
        for (int i = -1; i < aligned; ++i) {
          const std::uint32_t node = i < 0 ? top : list[i];
          if (g.row_of()[node] == 0) continue;
          g.ordered_rank()[node] = static_cast<std::uint16_t>(listed);
          g.ordered_node()[listed++] = static_cast<std::uint16_t>(node);
        }
      }
    }
  }
  synchronize_warp();
}

enum class OrderOfSinks { first_before, second_before, unknown };

// Which of two sinks comes first in graph.hpp's order, if that can be said without a search. A column of sinks is met when the search begins at the
// one with the smallest number, which it does in the order of numbers.
__device__ inline OrderOfSinks order_of_sinks(const Graph& g, std::uint32_t first, std::uint32_t second) {
  std::uint32_t key[2] = {first, second};
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t node = key[i];
    for (std::uint32_t at = g.next_aligned()[node]; at != node; at = g.next_aligned()[at]) {
      const std::uint32_t row = g.row_of()[at];
      if (row == 0) continue;
      if ((g.row()[row].x & row_is_sink) == 0) return OrderOfSinks::unknown;
      key[i] = min(key[i], at);
    }
  }
  // In one column the one that was met first leads, and lists the others by number: it has the smallest number.
  const bool is_before = key[0] != key[1] ? key[0] < key[1] : first < second;
  return is_before ? OrderOfSinks::first_before : OrderOfSinks::second_before;
}

// Of equally good sinks the one that comes first in graph.hpp's order: `row` and those in g.heaviest_tail().
__device__ __noinline__ std::uint32_t first_of_sinks(Graph g, std::uint32_t row, std::uint32_t others) {
  synchronize_warp();
  bool is_order_known = false;
  for (std::uint32_t i = 0; i < others; ++i) {
    const std::uint32_t other = g.heaviest_tail()[i];
    const std::uint32_t node = g.row_node()[row], other_node = g.row_node()[other];
    OrderOfSinks order = order_of_sinks(g, node, other_node);
    if (order == OrderOfSinks::unknown) {
      if (!is_order_known) find_order(g);
      is_order_known = true;
      order = g.ordered_rank()[node] < g.ordered_rank()[other_node] ? OrderOfSinks::first_before : OrderOfSinks::second_before;
    }
    if (order == OrderOfSinks::second_before) row = other;
  }
  synchronize_warp();
  return row;
}

}  // namespace sluice::poa_consensus::cuda
