// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The partial order graph of a window in the memory of one warp: the same graph as graph.hpp's, node numbers and the order of in-edges included, in
// another topological order.
//
// Neither the scores nor the paths of an alignment depend on which topological order the rows have, except where two sinks are equally good. So the
// order is kept by insertion: a node that joins a column comes behind the column's nodes, other new nodes come behind the sequence's node before
// them. Columns stay together and every edge leads from a column to a later one. All of this is done by 32 lanes at once: the shift of a node is the
// number of new nodes before it. The order of graph.hpp (a depth-first search) is made only where something depends on it (cuda_order.cuh).

#include "poa_consensus/cuda.hpp"
#include "poa_consensus/cuda_warp.cuh"

namespace sluice::poa_consensus::cuda {

constexpr std::uint32_t no_node = 0xFFFF;
constexpr int in_edges_at_hand = 7;  // of a node
constexpr int in_edge_places = 8;    // of a node; the last one says in which block the further in-edges are
constexpr int in_edges_of_block = most_in_edges - in_edges_at_hand;
constexpr int predecessors_of_row = 7;
constexpr std::uint32_t letter_of_joins = 7;
constexpr std::uint32_t letter_mask = 7;
constexpr std::uint8_t on_template = 0x80;  // beside a letter: sequence 0 goes through the node

// Bits of the first half-word of a row. The others are the predecessors' rows, in the order of the node's in-edges; row 0 lies before all nodes.
constexpr std::uint32_t row_predecessors_shift = 4;  // below it the letter
constexpr std::uint32_t row_count_mask = 7;
constexpr std::uint32_t row_is_sink = 1U << 8;
constexpr std::uint32_t row_is_wanted_later = 1U << 9;  // by a row that is farther away than the ring is long
constexpr std::uint32_t row_follows = 1U << 10;         // its only predecessor is the row before it
constexpr std::uint32_t row_joins = 1U << 11;           // it has no letter: see list_rows()
static_assert(predecessors_of_row <= static_cast<int>(row_count_mask) && in_edges_at_hand < in_edge_places);

// Arrays of a graph, by falling alignment.
enum Member : int {
  member_row,
  member_directions,
  member_kept,
  member_in_tail,
  member_in_weight,
  member_score,
  member_sequences,
  member_coverage,
  member_blocks_taken,
  member_next_aligned,
  member_aligned_from,
  member_rank,
  member_row_of,
  member_ordered_rank,
  member_node_at,
  member_ordered_node,
  member_stack,
  member_row_node,
  member_kept_place,
  member_heaviest_tail,
  member_marks,
  member_letter,
  member_in_count,
  member_state,
  member_cursor,
  members_of_graph,
};

// The graph in the memory of one warp. Node ids, ranks and rows are below 65,535. Arrays are found by their places, which are the same for all warps
// of a launch and so lie in constant memory: as pointers they would take 48 registers.
struct Graph {
  std::byte* memory;
  const std::uint32_t* place;
  std::uint32_t nodes;
  std::uint32_t rows;
  std::uint32_t node_capacity;
  std::uint32_t kept_capacity;  // rows that are wanted later
  // Blocks of further in-edges. Of 1,000 windows of 200 letters and 24 sequences 8 have a node with more than seven, and hardly one has two.
  __host__ __device__ std::uint32_t blocks() const { return node_capacity / 32 + 4; }

  template <class T>
  __device__ __forceinline__ T* at(Member member) const {
    return reinterpret_cast<T*>(memory + place[member]);
  }
  __device__ __forceinline__ uint4* row() const { return at<uint4>(member_row); }                                // of a row: its head
  __device__ __forceinline__ std::uint32_t* directions() const { return at<std::uint32_t>(member_directions); }  // of a row
  __device__ __forceinline__ std::uint32_t* kept() const { return at<std::uint32_t>(member_kept); }  // rows that are wanted later; row 0 comes first
  __device__ __forceinline__ std::uint16_t* in_tail() const { return at<std::uint16_t>(member_in_tail); }    // places as in_edge_place() has them
  __device__ __forceinline__ std::int32_t* in_weight() const { return at<std::int32_t>(member_in_weight); }  // likewise
  __device__ __forceinline__ std::int32_t* score() const {
    return at<std::int32_t>(member_score);
  }  // of a rank; where the shared memory has no room for it
  __device__ __forceinline__ std::uint32_t* blocks_taken() const { return at<std::uint32_t>(member_blocks_taken); }  // one value
  __device__ __forceinline__ std::uint16_t* next_aligned() const {
    return at<std::uint16_t>(member_next_aligned);
  }  // of a node: a circle through the nodes of a column
  __device__ __forceinline__ std::uint16_t* aligned_from() const {
    return at<std::uint16_t>(member_aligned_from);
  }  // of a node: the one that it was aligned with when it was made, or no_node
  __device__ __forceinline__ std::uint32_t* sequences() const { return at<std::uint32_t>(member_sequences); }  // through a node
  __device__ __forceinline__ std::uint32_t* coverage() const {
    return at<std::uint32_t>(member_coverage);
  }                                                                                                      // the same without sequences of one letter
  __device__ __forceinline__ std::uint16_t* rank() const { return at<std::uint16_t>(member_rank); }      // of a node
  __device__ __forceinline__ std::uint16_t* row_of() const { return at<std::uint16_t>(member_row_of); }  // of a node; 0: not among the rows
  __device__ __forceinline__ std::uint16_t* ordered_rank() const {
    return at<std::uint16_t>(member_ordered_rank);
  }                                                                                                        // of a node, in graph.hpp's order
  __device__ __forceinline__ std::uint16_t* node_at() const { return at<std::uint16_t>(member_node_at); }  // of a rank
  __device__ __forceinline__ std::uint16_t* ordered_node() const {
    return at<std::uint16_t>(member_ordered_node);
  }                                                                                                          // of a rank, in graph.hpp's order
  __device__ __forceinline__ std::uint16_t* stack() const { return at<std::uint16_t>(member_stack); }        // scratch of cuda_order.cuh
  __device__ __forceinline__ std::uint16_t* row_node() const { return at<std::uint16_t>(member_row_node); }  // of a row
  __device__ __forceinline__ std::uint16_t* kept_place() const {
    return at<std::uint16_t>(member_kept_place);
  }  // of a row: in `kept`, if it is wanted later
  __device__ __forceinline__ std::uint16_t* heaviest_tail() const {
    return at<std::uint16_t>(member_heaviest_tail);
  }  // of a rank: a rank. While rows are filled: sinks that are as good as the best
  __device__ __forceinline__ std::uint8_t* marks() const {
    return at<std::uint8_t>(member_marks);
  }  // of a row, two each: is a predecessor, is wanted later
  __device__ __forceinline__ std::uint8_t* letter() const { return at<std::uint8_t>(member_letter); }      // of a node
  __device__ __forceinline__ std::uint8_t* in_count() const { return at<std::uint8_t>(member_in_count); }  // of a node
  __device__ __forceinline__ std::uint8_t* state() const { return at<std::uint8_t>(member_state); }        // of a node, scratch of cuda_order.cuh
  __device__ __forceinline__ std::uint8_t* cursor() const { return at<std::uint8_t>(member_cursor); }      // likewise
};

// The same graph; addresses that were made of it before are not kept in registers beside those that will be.
__device__ __forceinline__ Graph with_new_addresses(Graph g) {
  g.memory = opaque(g.memory);
  return g;
}

// Bytes of an array.
inline std::uint64_t bytes_of(Member member, const Graph& g, std::uint64_t direction_bytes, std::uint64_t row_bytes) {
  const std::uint64_t nodes = g.node_capacity;
  const std::uint64_t edges = nodes * in_edge_places + static_cast<std::uint64_t>(g.blocks()) * in_edges_of_block;
  switch (member) {
    case member_row:
      return (nodes + warp_lanes) * sizeof(uint4);
    case member_directions:
      return (nodes + 1) * direction_bytes;
    case member_kept:
      return (g.kept_capacity + 1) * row_bytes;
    case member_in_tail:
      return edges * sizeof(std::uint16_t);
    case member_in_weight:
      return edges * sizeof(std::int32_t);
    case member_score:
    case member_sequences:
    case member_coverage:
      return nodes * sizeof(std::int32_t);
    case member_blocks_taken:
      return sizeof(std::uint32_t);
    case member_letter:
    case member_in_count:
    case member_state:
    case member_cursor:
      return nodes;
    default:  // 16 bits (or two times 8: marks) of each node, rank or row
      return (nodes + warp_lanes) * sizeof(std::uint16_t);
  }
}

// Calls place(member, bytes) for every array.
template <class Place>
void lay_out(const Graph& g, std::uint64_t direction_bytes, std::uint64_t row_bytes, Place&& place) {
  for (int member = 0; member < members_of_graph; ++member)
    place(static_cast<Member>(member), bytes_of(static_cast<Member>(member), g, direction_bytes, row_bytes));
}

// A sequence of a window.
struct Sequence {
  const char* bases;
  const char* qualities;  // Phred + 33, or null: every letter weighs `letter_weight`
  std::uint32_t length;
  std::int32_t letter_weight;
  bool is_template;
  std::uint16_t* nodes = nullptr;  // of its letters, if they are wanted
  __device__ std::int32_t weight(std::uint32_t i) const { return qualities == nullptr ? letter_weight : qualities[i] - 33; }
};

// 0 to 5, or no_letter.
constexpr std::uint32_t no_letter = 7;
__device__ __forceinline__ std::uint32_t letter_code(char base) {
  switch (base) {
    case 'A':
      return 0;
    case 'C':
      return 1;
    case 'G':
      return 2;
    case 'T':
      return 3;
    case 'N':
      return 4;
    case 'U':
      return 5;
    default:
      return no_letter;
  }
}
__device__ __forceinline__ char letter_of(std::uint32_t code) { return "ACGTNU??"[code & letter_mask]; }

struct ColumnOfNode {
  std::uint32_t first_rank, last_rank;
  std::uint32_t with_letter;  // the node with the letter that was asked for, or no_node
};
__device__ inline ColumnOfNode column_of(const Graph& g, std::uint32_t node, std::uint32_t letter) {
  ColumnOfNode column{0xFFFF, 0, no_node};
  std::uint32_t at = node;
  do {
    const std::uint32_t rank = g.rank()[at];
    column.first_rank = min(column.first_rank, rank);
    column.last_rank = max(column.last_rank, rank);
    if ((g.letter()[at] & letter_mask) == letter) column.with_letter = at;
    at = g.next_aligned()[at];
  } while (at != node);
  return column;
}

// Where a node's k-th in-edge is.
__device__ __forceinline__ std::uint32_t in_edge_place(const Graph& g, std::uint32_t node, std::uint32_t k) {
  const std::uint32_t first = node * in_edge_places;
  if (k < in_edges_at_hand) return first + k;
  return g.node_capacity * in_edge_places + g.in_tail()[first + in_edges_at_hand] * in_edges_of_block + (k - in_edges_at_hand);
}

// Adds an edge or its weight. False: there is no room for it.
__device__ inline bool add_in_edge(const Graph& g, std::uint32_t tail, std::uint32_t head, std::int32_t weight) {
  const std::uint32_t count = g.in_count()[head];
  std::uint16_t* const tails = g.in_tail();
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t place = in_edge_place(g, head, k);
    if (tails[place] != tail) continue;
    g.in_weight()[place] += weight;
    return true;
  }
  if (count == most_in_edges) return false;
  if (count == in_edges_at_hand) {
    const std::uint32_t block = take_ticket(g.blocks_taken());
    if (block >= g.blocks()) return false;
    tails[head * in_edge_places + in_edges_at_hand] = static_cast<std::uint16_t>(block);
  }
  const std::uint32_t place = in_edge_place(g, head, count);
  tails[place] = static_cast<std::uint16_t>(tail);
  g.in_weight()[place] = weight;
  g.in_count()[head] = static_cast<std::uint8_t>(count + 1);
  return true;
}

// Moves the nodes behind the new ones. behind[k]: the number of old nodes before the k-th new node, which never falls.
__device__ inline void insert_into_order(const Graph& g, const std::uint16_t* behind, std::uint32_t made) {
  const int lane = lane_id();
  // From the end: what is overwritten has been read.
  for (std::uint32_t chunk = (g.nodes + warp_lanes - 1) / warp_lanes; chunk-- > 0;) {
    const std::uint32_t rank = chunk * warp_lanes + static_cast<std::uint32_t>(lane);
    std::uint32_t node = no_node, shift = 0;
    if (rank < g.nodes) {
      node = g.node_at()[rank];
      std::uint32_t low = 0, high = made;
      while (low < high) {
        const std::uint32_t middle = (low + high) / 2;
        if (behind[middle] <= rank) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      shift = low;
    }
    if (lanes_with(shift != 0) == 0) break;
    if (shift != 0) {
      g.node_at()[rank + shift] = static_cast<std::uint16_t>(node);
      g.rank()[node] = static_cast<std::uint16_t>(rank + shift);
    }
    synchronize_warp();
  }
  for (std::uint32_t k = static_cast<std::uint32_t>(lane); k < made; k += warp_lanes) {
    g.node_at()[behind[k] + k] = static_cast<std::uint16_t>(g.nodes + k);
    g.rank()[g.nodes + k] = static_cast<std::uint16_t>(behind[k] + k);
  }
}

// Merges a sequence along its alignment: path[i] is the row of letter i, or 0. `behind`: scratch of as many values as the sequence has letters.
__device__ inline Outcome add_sequence(Graph& graph, const Sequence& sequence, const std::uint16_t* path, std::uint32_t first_row,
                                       std::uint16_t* behind) {
  const Graph g = with_new_addresses(graph);
  const int lane = lane_id();
  std::uint32_t made = 0;
  // New nodes before the first aligned letter come before its column.
  std::uint32_t behind_before = first_row == 0 ? 0 : column_of(g, g.row_node()[first_row], no_letter).first_rank;
  std::uint32_t tail_before = no_node;
  bool is_full = false, is_unfit = false, is_unknown = false;
  for (std::uint32_t begin = 0; begin < sequence.length; begin += warp_lanes) {
    const std::uint32_t i = begin + static_cast<std::uint32_t>(lane);
    const bool is_letter = i < sequence.length;
    const std::uint32_t row = is_letter ? path[i] : 0;
    const std::uint32_t code = is_letter ? letter_code(sequence.bases[i]) : no_letter;
    std::uint32_t aligned = no_node, node = no_node, after = 0;
    if (row != 0) {
      aligned = g.row_node()[row];
      const ColumnOfNode column = column_of(g, aligned, code);
      node = column.with_letter;
      after = column.last_rank + 1;
    }
    for (int distance = 1; distance < warp_lanes; distance *= 2) after = max(after, from_lane_before(after, distance));
    after = max(after, behind_before);
    const bool is_new = is_letter && node == no_node;
    const std::uint32_t new_lanes = lanes_with(is_new);
    const auto new_nodes = static_cast<std::uint32_t>(count_bits(new_lanes));
    if (g.nodes + made + new_nodes > g.node_capacity) return Outcome::too_many_nodes;
    if (is_new) {
      const std::uint32_t k = made + static_cast<std::uint32_t>(count_bits(new_lanes & lanes_before(lane)));
      node = g.nodes + k;
      behind[k] = static_cast<std::uint16_t>(after);
      g.letter()[node] = static_cast<std::uint8_t>(code);
      g.in_count()[node] = 0;
      g.sequences()[node] = 0;
      g.coverage()[node] = 0;
      g.aligned_from()[node] = static_cast<std::uint16_t>(aligned);
      g.next_aligned()[node] = aligned == no_node ? static_cast<std::uint16_t>(node) : g.next_aligned()[aligned];
      if (aligned != no_node) g.next_aligned()[aligned] = static_cast<std::uint16_t>(node);
    }
    made += new_nodes;
    if (is_letter && sequence.nodes != nullptr) sequence.nodes[i] = static_cast<std::uint16_t>(node);
    std::uint32_t tail = from_lane_before(node, 1);
    if (lane == 0) tail = tail_before;
    if (is_letter) {
      is_unfit = is_unfit || sequence.weight(i) < 0;
      is_unknown = is_unknown || code == no_letter;
      if (i > 0) is_full = !add_in_edge(g, tail, node, sequence.weight(i - 1) + sequence.weight(i)) || is_full;
      ++g.sequences()[node];
      if (sequence.length > 1) ++g.coverage()[node];
      if (sequence.is_template) g.letter()[node] |= on_template;
    }
    behind_before = broadcast(after, warp_lanes - 1);
    tail_before = broadcast(node, warp_lanes - 1);
  }
  synchronize_warp();
  if (lanes_with(is_unfit) != 0) return Outcome::unfit_input;
  if (lanes_with(is_unknown) != 0) return Outcome::unknown_letter;
  if (lanes_with(is_full) != 0) return Outcome::too_many_in_edges;
  insert_into_order(g, behind, made);
  graph.nodes += made;
  synchronize_warp();
  return Outcome::done;
}

// The part of the graph that a sequence is aligned to: graph.hpp's NodeRange.
struct Part {
  std::uint32_t first = 0;
  std::uint32_t last = no_node;  // no_node: all of the graph
  __device__ bool is_whole() const { return last == no_node; }
};

// Marks the nodes of the part in row_of, column by column from the end.
__device__ inline void select_part(const Graph& g, const Part& part) {
  const auto lane = static_cast<std::uint32_t>(lane_id());
  for (std::uint32_t node = lane; node < g.nodes; node += warp_lanes) g.row_of()[node] = 0;
  synchronize_warp();
  if (lane == 0) g.row_of()[part.last] = 1;
  synchronize_warp();
  for (std::uint32_t rank = column_of(g, part.last, no_letter).last_rank + 1; rank > 0;) {
    // Lanes are nodes of the column.
    const std::uint32_t last = g.node_at()[rank - 1];
    const std::uint32_t nodes = rank - column_of(g, last, no_letter).first_rank;
    const std::uint32_t node = lane < nodes ? g.node_at()[rank - 1 - lane] : no_node;
    const bool is_reached = node != no_node && g.row_of()[node] != 0;
    if (lanes_with(is_reached) != 0) {
      if (node != no_node && node >= part.first) {
        g.row_of()[node] = 1;
        for (std::uint32_t k = 0; k < g.in_count()[node]; ++k) {
          const std::uint32_t tail = g.in_tail()[in_edge_place(g, node, k)];
          if (tail >= part.first) g.row_of()[tail] = 1;
        }
      }
      synchronize_warp();
    }
    rank -= nodes;
  }
}

// In-edges of a node that come from the part, whose nodes have a row_of.
__device__ inline std::uint32_t edges_of_part(const Graph& g, const Part& part, std::uint32_t node) {
  const std::uint32_t count = g.in_count()[node];
  if (part.is_whole() || count <= predecessors_of_row) return count;
  std::uint32_t edges = 0;
  for (std::uint32_t k = 0; k < count; ++k) edges += g.row_of()[g.in_tail()[in_edge_place(g, node, k)]] != 0 ? 1 : 0;
  return edges;
}

// Joins before the row of a node with so many in-edges. The first has as many predecessors as a row can have; those behind it, and the node's row,
// have the row before them and one less.
__device__ __forceinline__ std::uint32_t joins_before(std::uint32_t edges) {
  return edges <= predecessors_of_row ? 0 : (edges - 2) / (predecessors_of_row - 1);
}
static_assert(predecessors_of_row == 7);  // (edges - 7) / 6, rounded up

struct Predecessors {
  std::uint32_t row[in_edge_places];
  std::uint32_t count;
};
// The same rows in registers whatever the place.
__device__ __forceinline__ void append(Predecessors& predecessors, std::uint32_t row) {
#pragma unroll
  for (std::uint32_t place = 0; place < predecessors_of_row; ++place)
    if (place == predecessors.count) predecessors.row[place] = row;
  ++predecessors.count;
}

// Of a row of a node with many in-edges; the node may have other rows before and behind it.
__device__ inline Predecessors some_of_many(const Graph& g, const Part& part, std::uint32_t node, std::uint32_t row, std::uint32_t ring) {
  const std::uint32_t turn = joins_before(edges_of_part(g, part, node)) - (g.row_of()[node] - row);
  const std::uint32_t end = predecessors_of_row + turn * (predecessors_of_row - 1), begin = turn == 0 ? 0 : end - (predecessors_of_row - 1);
  Predecessors predecessors{};
  if (turn > 0) {
    g.marks()[2 * (row - 1)] = 1;
    append(predecessors, row - 1);
  }
  std::uint32_t edge = 0;
  for (std::uint32_t k = 0; k < g.in_count()[node]; ++k) {
    const std::uint32_t from = g.row_of()[g.in_tail()[in_edge_place(g, node, k)]];
    if (from == 0) continue;
    if (edge >= begin && edge < end) {
      g.marks()[2 * from] = 1;
      if (row - from > ring) g.marks()[2 * from + 1] = 1;
      append(predecessors, from);
    }
    ++edge;
  }
  return predecessors;
}

// Lists the rows of a part of the graph. `ring`: rows that the alignment keeps at hand.
//
// A node with more predecessors than a row can have gets rows before its own that join some of them: scores of such a row are the highest of its
// predecessors', and its directions say whose. That is the row of a letter that fits nothing, and costs nothing to pass over.
__device__ inline Outcome list_rows(Graph& graph, const Part& part, std::uint32_t ring) {
  const Graph g = with_new_addresses(graph);
  const auto lane = static_cast<std::uint32_t>(lane_id());
  if (!part.is_whole()) select_part(g, part);
  const bool has_joins = *g.blocks_taken() != 0;
  std::uint32_t rows = 0;
  for (std::uint32_t begin = 0; begin < g.nodes; begin += warp_lanes) {
    const std::uint32_t rank = begin + lane;
    const std::uint32_t node = rank < g.nodes ? g.node_at()[rank] : no_node;
    const bool is_row = node != no_node && (part.is_whole() || g.row_of()[node] != 0);
    const std::uint32_t row_lanes = lanes_with(is_row);
    std::uint32_t row = rows + 1 + static_cast<std::uint32_t>(count_bits(row_lanes & lanes_before(static_cast<int>(lane))));
    std::uint32_t joins = 0;
    rows += static_cast<std::uint32_t>(count_bits(row_lanes));
    if (has_joins) {
      if (is_row) joins = joins_before(edges_of_part(g, part, node));
      for (std::uint32_t left = lanes_with(joins != 0); left != 0; left &= left - 1) {
        const int from = lowest_bit(left);
        const std::uint32_t of_lane = broadcast(joins, from);
        if (static_cast<int>(lane) >= from) row += of_lane;
        rows += of_lane;
      }
      if (rows > g.node_capacity) return Outcome::too_many_nodes;
    }
    if (is_row) {
      g.row_of()[node] = static_cast<std::uint16_t>(row);
      for (std::uint32_t own = row - joins; own <= row; ++own) {
        g.row_node()[own] = static_cast<std::uint16_t>(node);
        g.marks()[2 * own] = 0;
        g.marks()[2 * own + 1] = 0;
      }
    }
  }
  graph.rows = rows;
  synchronize_warp();
  for (std::uint32_t row = 1 + lane; row <= rows; row += warp_lanes) {
    const std::uint32_t node = g.row_node()[row];
    const std::uint32_t in_count = g.in_count()[node];
    std::uint32_t head = g.letter()[node] & letter_mask;
    Predecessors predecessors{};
    if (in_count <= in_edges_at_hand) {
      const uint4 tails = *reinterpret_cast<const uint4*>(g.in_tail() + node * in_edge_places);
      const std::uint32_t words[4] = {tails.x, tails.y, tails.z, tails.w};
#pragma unroll
      for (int k = 0; k < in_edges_at_hand; ++k) {
        if (k >= static_cast<int>(in_count)) continue;
        const std::uint32_t from = g.row_of()[words[k / 2] >> k % 2 * 16 & 0xFFFF];
        if (from == 0) continue;
        g.marks()[2 * from] = 1;
        if (row - from > ring) g.marks()[2 * from + 1] = 1;
#pragma unroll
        for (int place = 0; place <= k; ++place)
          if (place == static_cast<int>(predecessors.count)) predecessors.row[place] = from;
        ++predecessors.count;
      }
    } else {
      predecessors = some_of_many(g, part, node, row, ring);
      if (row != g.row_of()[node]) head = letter_of_joins | row_joins;
    }
    const std::uint32_t(&from)[in_edge_places] = predecessors.row;
    const std::uint32_t count = max(predecessors.count, 1U);
    head |= count << row_predecessors_shift;
    if (count == 1 && from[0] == row - 1) head |= row_follows;
    g.row()[row] = {head | from[0] << 16, from[1] | from[2] << 16, from[3] | from[4] << 16, from[5] | from[6] << 16};
  }
  synchronize_warp();
  if (lane == 0) g.kept_place()[0] = 0;
  std::uint32_t kept = 1;  // row 0 is
  for (std::uint32_t begin = 1; begin <= rows; begin += warp_lanes) {
    const std::uint32_t row = begin + lane;
    const std::uint32_t marks = row <= rows ? *reinterpret_cast<const std::uint16_t*>(g.marks() + 2 * row) : 1;
    const std::uint32_t kept_lanes = lanes_with((marks & 0xFF00) != 0);
    if ((marks & 0xFF00) != 0)
      g.kept_place()[row] =
          static_cast<std::uint16_t>(kept + static_cast<std::uint32_t>(count_bits(kept_lanes & lanes_before(static_cast<int>(lane)))));
    kept += static_cast<std::uint32_t>(count_bits(kept_lanes));
    const std::uint32_t head = ((marks & 0xFF) == 0 ? row_is_sink : 0) | ((marks & 0xFF00) != 0 ? row_is_wanted_later : 0);
    if (row <= rows && head != 0) g.row()[row].x |= head;
  }
  synchronize_warp();
  return kept > g.kept_capacity ? Outcome::too_many_kept_rows : Outcome::done;
}

}  // namespace sluice::poa_consensus::cuda
