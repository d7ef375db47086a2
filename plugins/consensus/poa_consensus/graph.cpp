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
  row_in_order_.clear();
  ranked_.clear();
  path_.clear();
  path_begin_.assign(1, 0);
  for (const char letter : letters_) code_of_letter_[static_cast<unsigned char>(letter)] = -1;
  letters_.clear();
}

std::uint8_t PartialOrderGraph::new_code(char letter) {
  const auto code = static_cast<std::uint8_t>(letters_.size());
  code_of_letter_[static_cast<unsigned char>(letter)] = code;
  letters_.push_back(letter);
  return code;
}

std::int32_t PartialOrderGraph::add_node(std::uint8_t code) {
  const std::int32_t made = node_count();
  nodes_.push_back({.column = made, .code = code});
  return made;
}

void PartialOrderGraph::add_edge(std::int32_t tail, std::int32_t head, std::int64_t weight) {
  std::int32_t last = none;
  for (std::int32_t e = nodes_[place(head)].first_in_edge; e != none; e = edges_[place(e)].next) {
    if (edges_[place(e)].tail == tail) {
      edges_[place(e)].weight += weight;
      return;
    }
    last = e;
  }
  const auto made = static_cast<std::int32_t>(edges_.size());
  edges_.push_back({tail, none, weight});
  (last == none ? nodes_[place(head)].first_in_edge : edges_[place(last)].next) = made;
  ++nodes_[place(tail)].out_edges;
}

void PartialOrderGraph::append_aligned(std::int32_t node, std::int32_t other) {
  const auto made = static_cast<std::int32_t>(aligned_.size());
  aligned_.push_back({other, none});
  std::int32_t* end = &nodes_[place(node)].first_aligned;
  while (*end != none) end = &aligned_[place(*end)].next;
  *end = made;
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
  nodes_[place(made)].column = nodes_[place(node)].column;
  return made;
}

void PartialOrderGraph::add(std::span<const AlignedPair> alignment, std::string_view sequence, std::string_view qualities) {
  const auto length = static_cast<std::int32_t>(sequence.size());
  const std::size_t begin = path_.size();
  path_.resize(begin + sequence.size());
  path_begin_.push_back(path_.size());
  if (length == 0) return;
  std::int32_t* const path = path_.data() + begin;
  const std::int32_t first_new = node_count();
  ranked_.clear();

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
  for (std::int32_t i = 1; i < length; ++i) add_edge(path[i - 1], path[i], weight(i - 1) + weight(i));
  const std::int32_t covered = length > 1 ? 1 : 0;
  for (std::int32_t i = 0; i < length; ++i) {
    ++nodes_[place(path[i])].sequences;
    nodes_[place(path[i])].coverage += covered;
  }
  insert_into_order({path, place(length)}, first_new);
}

void PartialOrderGraph::insert_into_order(std::span<const std::int32_t> path, std::int32_t first_new) {
  // The path's old columns come in this order already, because it was aligned along it. A new node goes behind the column before it, or at the end of
  // its own.
  insertions_.clear();
  std::int32_t column = none;  // the last old one that the path has reached
  const auto rows_to_end_of_column = [&] {
    if (column == none) return 0;
    std::int32_t end = row_in_order_[place(column)];
    while (place(end) < order_.size() && nodes_[place(order_[place(end)])].column == column) ++end;
    return end;
  };
  for (const std::int32_t id : path) {
    const std::int32_t of_node = nodes_[place(id)].column;
    if (of_node < first_new) column = of_node;
    if (id >= first_new) insertions_.push_back({rows_to_end_of_column(), id});
  }
  if (insertions_.empty()) return;
  std::size_t end = order_.size();
  order_.resize(end + insertions_.size());
  row_in_order_.resize(nodes_.size());
  for (std::size_t k = insertions_.size(); k-- > 0;) {
    const std::size_t begin = place(insertions_[k].after);
    std::copy_backward(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end),
                       order_.begin() + static_cast<std::ptrdiff_t>(end + k + 1));
    order_[begin + k] = insertions_[k].node;
    end = begin;
  }
  for (std::size_t i = end; i < order_.size(); ++i) row_in_order_[place(order_[i])] = static_cast<std::int32_t>(i) + 1;
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

std::span<const std::int32_t> PartialOrderGraph::rank() {
  if (ranked_.size() != nodes_.size()) sort({}, ranked_);
  return ranked_;
}

KeptRows PartialOrderGraph::kept_rows(NodeRange range) {
  if (range.last == none) return {order_, row_in_order_, range};
  select(range);
  part_.clear();
  row_of_node_.assign(nodes_.size(), 0);
  for (const std::int32_t id : order_) {
    if (is_selected_[place(id)] == 0) continue;
    part_.push_back(id);
    row_of_node_[place(id)] = static_cast<std::int32_t>(part_.size());
  }
  return {part_, row_of_node_, range};
}

std::int32_t PartialOrderGraph::earliest(const KeptRows& rows, std::span<const std::int32_t> candidates) {
  std::span<const std::int32_t> order;
  if (rows.is_part()) {
    sort(is_selected_, ranked_part_);
    order = ranked_part_;
  } else {
    order = rank();
  }
  for (const std::int32_t id : order)
    for (const std::int32_t row : candidates)
      if (rows.node[place(row - 1)] == id) return row;
  return candidates.front();
}

void PartialOrderGraph::list_rows(NodeRange range, GraphRows& rows) {
  const bool is_part = range.last != none;
  if (is_part) select(range);
  sort(is_part ? std::span<const std::uint8_t>(is_selected_) : std::span<const std::uint8_t>(), rows.node);
  const std::size_t count = rows.node.size();
  row_of_node_.assign(nodes_.size(), 0);
  for (std::size_t i = 0; i < count; ++i) row_of_node_[place(rows.node[i])] = static_cast<std::int32_t>(i) + 1;
  rows.code.resize(count);
  rows.is_sink.assign(count, 1);
  rows.predecessor_begin.assign(1, 0);
  rows.predecessor.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = nodes_[place(rows.node[i])];
    rows.code[i] = node.code;
    for (std::int32_t e = node.first_in_edge; e != none; e = edges_[place(e)].next) {
      const std::int32_t row = row_of_node_[place(edges_[place(e)].tail)];
      if (row == 0) continue;
      rows.predecessor.push_back(row);
      rows.is_sink[place(row - 1)] = 0;
    }
    if (static_cast<std::int32_t>(rows.predecessor.size()) == rows.predecessor_begin[i]) rows.predecessor.push_back(0);
    rows.predecessor_begin.push_back(static_cast<std::int32_t>(rows.predecessor.size()));
  }
}

std::size_t PartialOrderGraph::bytes() const {
  return nodes_.capacity() * (sizeof(Node) + 2 * sizeof(std::int32_t) + 2) + edges_.capacity() * sizeof(Edge) +
         aligned_.capacity() * sizeof(Aligned) + path_.capacity() * sizeof(std::int32_t);
}

}  // namespace sluice::poa_consensus
