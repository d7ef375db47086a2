// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/graph.hpp"

#include <algorithm>

namespace sluice::poa_consensus {
namespace {

std::size_t place(std::int32_t id) { return static_cast<std::size_t>(id); }

// States of a node during the search.
constexpr std::uint8_t finished = 1;
constexpr std::uint8_t in_group = 2;  // met as an aligned node: it is listed behind the node that it was met from

}  // namespace

void PartialOrderGraph::clear() {
  nodes_.clear();
  edges_.clear();
  aligned_.clear();
  order_.clear();
  path_.clear();
  path_begin_.assign(1, 0);
  for (const char letter : letters_) code_of_letter_[static_cast<unsigned char>(letter)] = -1;
  letters_.clear();
}

std::uint8_t PartialOrderGraph::code_of(char letter) {
  std::int16_t& code = code_of_letter_[static_cast<unsigned char>(letter)];
  if (code < 0) {
    code = static_cast<std::int16_t>(letters_.size());
    letters_.push_back(letter);
  }
  return static_cast<std::uint8_t>(code);
}

std::int32_t PartialOrderGraph::add_node(std::uint8_t code) {
  nodes_.push_back({.code = code});
  return node_count() - 1;
}

void PartialOrderGraph::add_edge(std::int32_t tail, std::int32_t head, std::int64_t weight) {
  Node& to = nodes_[place(head)];
  for (std::int32_t e = to.first_in_edge; e != none; e = edges_[place(e)].next) {
    if (edges_[place(e)].tail != tail) continue;
    edges_[place(e)].weight += weight;
    return;
  }
  const auto made = static_cast<std::int32_t>(edges_.size());
  edges_.push_back({tail, none, weight});
  if (to.first_in_edge == none)
    to.first_in_edge = made;
  else
    edges_[place(to.last_in_edge)].next = made;
  to.last_in_edge = made;
  ++nodes_[place(tail)].out_edges;
}

void PartialOrderGraph::append_aligned(std::int32_t node, std::int32_t other) {
  const auto made = static_cast<std::int32_t>(aligned_.size());
  aligned_.push_back({other, none});
  Node& owner = nodes_[place(node)];
  if (owner.first_aligned == none)
    owner.first_aligned = made;
  else
    aligned_[place(owner.last_aligned)].next = made;
  owner.last_aligned = made;
}

std::int32_t PartialOrderGraph::add_aligned_node(std::int32_t node, std::uint8_t code) {
  const std::int32_t made = add_node(code);
  for (std::int32_t a = nodes_[place(node)].first_aligned; a != none; a = aligned_[place(a)].next) {
    const std::int32_t other = aligned_[place(a)].node;
    append_aligned(other, made);
    append_aligned(made, other);
  }
  append_aligned(node, made);
  append_aligned(made, node);
  return made;
}

void PartialOrderGraph::add(std::span<const AlignedPair> alignment, std::string_view sequence, std::string_view qualities) {
  const auto length = static_cast<std::int32_t>(sequence.size());
  const std::size_t begin = path_.size();
  path_.resize(begin + sequence.size());
  path_begin_.push_back(path_.size());
  if (length == 0) return;
  std::int32_t* const path = path_.data() + begin;

  // The ends that are not aligned become chains before the aligned part does, so that their ids come first.
  std::int32_t first = length, last = -1;
  for (const AlignedPair& pair : alignment) {
    if (pair.position < 0) continue;
    first = std::min(first, pair.position);
    last = std::max(last, pair.position);
  }
  for (std::int32_t i = 0; i < first; ++i) path[i] = add_node(code_of(sequence[place(i)]));
  if (last >= 0)
    for (std::int32_t i = last + 1; i < length; ++i) path[i] = add_node(code_of(sequence[place(i)]));

  for (const AlignedPair& pair : alignment) {
    if (pair.position < 0) continue;
    const std::uint8_t code = code_of(sequence[place(pair.position)]);
    std::int32_t node = pair.node;
    if (node < 0) {
      node = add_node(code);
    } else if (nodes_[place(node)].code != code) {
      std::int32_t a = nodes_[place(node)].first_aligned;
      while (a != none && nodes_[place(aligned_[place(a)].node)].code != code) a = aligned_[place(a)].next;
      node = a != none ? aligned_[place(a)].node : add_aligned_node(node, code);
    }
    path[pair.position] = node;
  }

  const auto weight = [&](std::int32_t i) { return qualities.empty() ? std::int64_t{1} : std::int64_t{qualities[place(i)]} - 33; };
  // Edges of the chains were made with the chains, so they come first among a node's in-edges; a chain's inner nodes have no others.
  for (std::int32_t i = 1; i < length; ++i) add_edge(path[i - 1], path[i], weight(i - 1) + weight(i));
  for (std::int32_t i = 0; i < length; ++i) {
    ++nodes_[place(path[i])].sequences;
    if (length > 1) ++nodes_[place(path[i])].coverage;
  }
  sort({}, order_);
}

void PartialOrderGraph::sort(std::span<const std::uint8_t> is_selected, std::vector<std::int32_t>& order) {
  const std::size_t count = nodes_.size();
  order.clear();
  order.reserve(count);
  state_.assign(count, 0);
  if (!is_selected.empty())  // what is left out counts as done
    for (std::size_t i = 0; i < count; ++i) state_[i] = is_selected[i] != 0 ? std::uint8_t{0} : finished;
  const auto skipped = [&](std::int32_t id) { return !is_selected.empty() && is_selected[place(id)] == 0; };
  stack_.clear();
  for (std::int32_t root = 0; root < static_cast<std::int32_t>(count); ++root) {
    if ((state_[place(root)] & finished) != 0) continue;
    stack_.push_back(root);
    while (!stack_.empty()) {
      const std::int32_t top = stack_.back();
      const Node& node = nodes_[place(top)];
      if ((state_[place(top)] & finished) != 0) {
        stack_.pop_back();
        continue;
      }
      const std::size_t before = stack_.size();
      for (std::int32_t e = node.first_in_edge; e != none; e = edges_[place(e)].next)
        if ((state_[place(edges_[place(e)].tail)] & finished) == 0) stack_.push_back(edges_[place(e)].tail);
      const bool leads_group = (state_[place(top)] & in_group) == 0;
      if (leads_group) {
        for (std::int32_t a = node.first_aligned; a != none; a = aligned_[place(a)].next) {
          const std::int32_t other = aligned_[place(a)].node;
          if ((state_[place(other)] & finished) != 0) continue;
          stack_.push_back(other);
          state_[place(other)] |= in_group;
        }
      }
      if (stack_.size() != before) continue;
      state_[place(top)] |= finished;
      stack_.pop_back();
      if (!leads_group) continue;
      order.push_back(top);
      for (std::int32_t a = node.first_aligned; a != none; a = aligned_[place(a)].next)
        if (!skipped(aligned_[place(a)].node)) order.push_back(aligned_[place(a)].node);
    }
  }
}

void PartialOrderGraph::select(NodeRange range) {
  is_selected_.assign(nodes_.size(), 0);
  stack_.assign(1, range.last);
  while (!stack_.empty()) {
    const std::int32_t id = stack_.back();
    stack_.pop_back();
    if (id < range.first || is_selected_[place(id)] != 0) continue;
    is_selected_[place(id)] = 1;
    const Node& node = nodes_[place(id)];
    for (std::int32_t e = node.first_in_edge; e != none; e = edges_[place(e)].next) stack_.push_back(edges_[place(e)].tail);
    for (std::int32_t a = node.first_aligned; a != none; a = aligned_[place(a)].next) stack_.push_back(aligned_[place(a)].node);
  }
}

void PartialOrderGraph::list_rows(NodeRange range, GraphRows& rows) {
  const bool is_part = range.last != none;
  if (is_part) {
    select(range);
    sort(is_selected_, part_order_);
  }
  const std::vector<std::int32_t>& order = is_part ? part_order_ : order_;
  const std::size_t count = order.size();
  row_of_node_.resize(nodes_.size());
  for (std::size_t i = 0; i < count; ++i) row_of_node_[place(order[i])] = static_cast<std::int32_t>(i) + 1;
  rows.node.assign(order.begin(), order.end());
  rows.code.resize(count);
  rows.is_sink.assign(count, 1);
  rows.predecessor_begin.resize(count + 1);
  rows.predecessor.resize(edges_.size() + count);
  std::int32_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = nodes_[place(order[i])];
    rows.code[i] = node.code;
    rows.predecessor_begin[i] = at;
    for (std::int32_t e = node.first_in_edge; e != none; e = edges_[place(e)].next) {
      const std::int32_t tail = edges_[place(e)].tail;
      if (is_part && is_selected_[place(tail)] == 0) continue;
      const std::int32_t row = row_of_node_[place(tail)];
      rows.predecessor[place(at++)] = row;
      rows.is_sink[place(row - 1)] = 0;
    }
    if (at == rows.predecessor_begin[i]) rows.predecessor[place(at++)] = 0;
  }
  rows.predecessor_begin[count] = at;
  rows.predecessor.resize(place(at));
}

std::size_t PartialOrderGraph::bytes() const {
  return nodes_.capacity() * (sizeof(Node) + 2 * sizeof(std::int32_t) + 2) + edges_.capacity() * sizeof(Edge) + aligned_.capacity() * sizeof(Aligned) +
         path_.capacity() * sizeof(std::int32_t);
}

}  // namespace sluice::poa_consensus
