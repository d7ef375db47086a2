// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A partial order graph of sequences: Lee, Grasso, Sharlow 2002, with the conventions of spoa 4.0.8 (Vaser et al. 2017), so that node numbers, the
// order of edges and the topological order are spoa's.
//
// A node is a letter. An edge joins the nodes of two neighbouring letters of a sequence; its weight is the sum of the letters' weights over all
// sequences that use it. Nodes that stand for different letters of one column are "aligned" to each other. Everything lies in flat arrays that
// clear() keeps.

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::poa_consensus {

// One step of an alignment: a node, a position of the sequence, or both; -1: a gap on that side.
struct AlignedPair {
  std::int32_t node;
  std::int32_t position;
  bool operator==(const AlignedPair&) const = default;
};

// Part of a graph that a sequence is aligned to: the nodes with ids from `first` on that lead to `last`.
struct NodeRange {
  std::int32_t first = 0;
  std::int32_t last = -1;  // -1: the whole graph
};

// The nodes of a graph, or of a part of it, in spoa's topological order: the rows 1, 2, ... of an alignment matrix. Row 0 lies before all nodes.
struct GraphRows {
  std::vector<std::int32_t> node;               // of row i + 1
  std::vector<std::uint8_t> code;               // of its letter
  std::vector<std::int32_t> predecessor_begin;  // places in `predecessor`, and their end
  std::vector<std::int32_t> predecessor;        // rows, in the order of the node's in-edges; 0 alone: the node has none
  std::vector<std::uint8_t> is_sink;            // 1: the node has no out-edges
  std::int32_t count() const { return static_cast<std::int32_t>(node.size()); }
  std::span<const std::int32_t> predecessors(std::int32_t row) const {
    const auto i = static_cast<std::size_t>(row - 1);
    return {predecessor.data() + predecessor_begin[i], static_cast<std::size_t>(predecessor_begin[i + 1] - predecessor_begin[i])};
  }
};

// The same nodes in some topological order that is at hand without a search; valid until the graph changes. Predecessors are read from the nodes.
struct KeptRows {
  std::span<const std::int32_t> node;         // of row i + 1
  std::span<const std::int32_t> row_of_node;  // 0: not one of these nodes
  NodeRange range;
  std::int32_t count() const { return static_cast<std::int32_t>(node.size()); }
  bool is_part() const { return range.last >= 0; }
};

class PartialOrderGraph {
 public:
  static constexpr std::int32_t none = -1;

  struct Node {
    std::int32_t first_in_edge = none;  // in the order in which they were made
    std::int32_t first_aligned = none;  // place in the list of aligned nodes
    std::int32_t out_edges = 0;
    std::int32_t sequences = 0;  // that go through it
    std::int32_t coverage = 0;   // the same without sequences of one letter, as spoa counts
    std::int32_t column = 0;     // the first node of those that it is aligned to; itself if it is that
    std::uint8_t code = 0;
  };
  struct Edge {
    std::int32_t tail;
    std::int32_t next;  // in-edge of the same head
    std::int64_t weight;
  };
  struct Aligned {
    std::int32_t node;
    std::int32_t next;
  };

  void clear();

  // Merges a sequence into the graph along its alignment (empty: as a chain of its own). `qualities` are Phred + 33, the weights of the letters;
  // empty: every letter weighs 1. An empty sequence only counts.
  void add(std::span<const AlignedPair> alignment, std::string_view sequence, std::string_view qualities);

  // The rows of the whole graph or of a part. The part is that of spoa's Subgraph: nodes that are reached from `last` backwards over edges and
  // sideways over aligned nodes, without ids below `first`.
  void list_rows(NodeRange range, GraphRows& rows);
  KeptRows kept_rows(NodeRange range);
  // Of these kept rows the one whose node comes first in spoa's order.
  std::int32_t earliest(const KeptRows& rows, std::span<const std::int32_t> candidates);

  // Puts the nodes into spoa's topological order; aligned nodes stand side by side in it.
  std::span<const std::int32_t> rank();
  // As rank() left it; valid until the next add().
  std::span<const std::int32_t> ranked() const { return ranked_; }

  std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
  const Node& node(std::int32_t id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const Edge& edge(std::int32_t id) const { return edges_[static_cast<std::size_t>(id)]; }
  const Aligned& aligned(std::int32_t place) const { return aligned_[static_cast<std::size_t>(place)]; }

  // A letter is stored as its place in this list.
  std::span<const char> letters() const { return letters_; }
  char letter(std::int32_t id) const { return letters_[node(id).code]; }

  std::int32_t sequence_count() const { return static_cast<std::int32_t>(path_begin_.size()) - 1; }
  // The nodes of a sequence's letters.
  std::span<const std::int32_t> path(std::int32_t sequence) const {
    const auto i = static_cast<std::size_t>(sequence);
    return {path_.data() + path_begin_[i], path_begin_[i + 1] - path_begin_[i]};
  }

  std::size_t bytes() const;

 private:
  std::int32_t add_node(std::uint8_t code);
  void add_edge(std::int32_t tail, std::int32_t head, std::int64_t weight);
  void append_aligned(std::int32_t node, std::int32_t other);
  std::int32_t add_aligned_node(std::int32_t node, std::uint8_t code);
  void insert_into_order(std::span<const std::int32_t> path, std::int32_t first_new);
  void sort(std::span<const std::uint8_t> is_selected, std::vector<std::int32_t>& order);
  void select(NodeRange range);
  std::uint8_t code_of(char letter) {
    const std::int16_t code = code_of_letter_[static_cast<unsigned char>(letter)];
    return code >= 0 ? static_cast<std::uint8_t>(code) : new_code(letter);
  }
  std::uint8_t new_code(char letter);

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Aligned> aligned_;
  // A topological order in which aligned nodes stand side by side, and each node's row in it. New nodes are put in behind the nodes that they follow
  // on their path; that is much cheaper than the search for spoa's order, and alignments need that one only to choose between equally good ends.
  std::vector<std::int32_t> order_, row_in_order_;
  std::vector<std::int32_t> ranked_;
  std::vector<std::int32_t> path_;
  std::vector<std::size_t> path_begin_ = {0};
  std::vector<char> letters_;
  std::array<std::int16_t, 256> code_of_letter_ = no_codes();

  // Scratch of the functions above.
  struct Insertion {
    std::int32_t after, node;
  };
  std::vector<Insertion> insertions_;
  std::vector<std::uint8_t> state_, is_selected_;
  std::vector<std::int32_t> stack_, part_, ranked_part_, row_of_node_;

  static constexpr std::array<std::int16_t, 256> no_codes() {
    std::array<std::int16_t, 256> codes{};
    codes.fill(-1);
    return codes;
  }
};

}  // namespace sluice::poa_consensus
