// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/columns.hpp"

#include <algorithm>

namespace sluice::poa_consensus {
namespace {

// Calls body(first, nodes) for every column: its nodes stand side by side in the topological order.
template <class Body>
void for_each_column(const PartialOrderGraph& graph, Body&& body) {
  const std::span<const std::int32_t> order = graph.ranked();
  for (std::size_t i = 0; i < order.size();) {
    std::size_t nodes = 1;
    for (std::int32_t a = graph.node(order[i]).first_aligned; a >= 0; a = graph.aligned(a).next) ++nodes;
    body(order.subspan(i, nodes));
    i += nodes;
  }
}

void mark_template(const PartialOrderGraph& graph, ColumnWorkspace& workspace) {
  workspace.is_on_template.assign(static_cast<std::size_t>(graph.node_count()), 0);
  if (graph.sequence_count() == 0) return;
  for (const std::int32_t id : graph.path(0)) workspace.is_on_template[static_cast<std::size_t>(id)] = 1;
}

// Sequences through a node.
std::int32_t counted(const PartialOrderGraph& graph, Template first, const ColumnWorkspace& workspace, std::int32_t id) {
  return graph.node(id).sequences - (first == Template::counts ? 0 : workspace.is_on_template[static_cast<std::size_t>(id)]);
}

}  // namespace

NodeSupport::NodeSupport(const PartialOrderGraph& graph, Template first, ColumnWorkspace& workspace)
    : graph_(graph), has_guide_(first == Template::is_guide), is_on_guide_(workspace.is_on_template) {
  if (has_guide_) mark_template(graph, workspace);
}

void append_alignment_rows(const PartialOrderGraph& graph, Template first, ColumnWorkspace& workspace, std::string& rows) {
  workspace.column_of_node.resize(static_cast<std::size_t>(graph.node_count()));
  mark_template(graph, workspace);
  std::int32_t columns = 0;
  for_each_column(graph, [&](std::span<const std::int32_t> nodes) {
    bool is_used = false;
    for (const std::int32_t id : nodes) {
      workspace.column_of_node[static_cast<std::size_t>(id)] = columns;
      is_used = is_used || counted(graph, first, workspace, id) > 0;
    }
    if (is_used) ++columns;
  });
  for (std::int32_t sequence = first == Template::counts ? 0 : 1; sequence < graph.sequence_count(); ++sequence) {
    const std::size_t begin = rows.size();
    rows.append(static_cast<std::size_t>(columns), '-');
    for (const std::int32_t id : graph.path(sequence))
      rows[begin + static_cast<std::size_t>(workspace.column_of_node[static_cast<std::size_t>(id)])] = graph.letter(id);
    rows += '\n';
  }
}

void column_majority(const PartialOrderGraph& graph, Template first, Undecided undecided, std::int32_t support, ColumnWorkspace& workspace,
                     std::string& consensus, std::vector<std::int32_t>& path, std::vector<std::int32_t>& coverage) {
  consensus.clear();
  path.clear();
  coverage.clear();
  if (graph.sequence_count() == 0) return;
  mark_template(graph, workspace);
  const std::int32_t sequences = graph.sequence_count() - (first == Template::counts ? 0 : 1);
  for_each_column(graph, [&](std::span<const std::int32_t> nodes) {
    std::int32_t most = 0, second = 0, letters = 0, winner = nodes[0], on_template = -1;
    for (const std::int32_t id : nodes) {
      const std::int32_t count = counted(graph, first, workspace, id);
      letters += count;
      if (workspace.is_on_template[static_cast<std::size_t>(id)] != 0) on_template = id;
      if (count > most) {
        second = most;
        most = count;
        winner = id;
      } else {
        second = std::max(second, count);
      }
    }
    const std::int32_t gaps = sequences - letters;
    if (gaps > most && gaps >= support) return;
    const bool is_decided = most > second && most >= gaps && most >= support;
    if (!is_decided && undecided == Undecided::keep_template) winner = on_template;
    if (winner < 0) return;
    consensus += graph.letter(winner);
    path.push_back(winner);
    coverage.push_back(letters);
  });
}

}  // namespace sluice::poa_consensus
