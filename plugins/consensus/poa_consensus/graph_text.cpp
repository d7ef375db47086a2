// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/graph_text.hpp"

#include <algorithm>

namespace sluice::poa_consensus {
namespace {

std::size_t place(std::int32_t id) { return static_cast<std::size_t>(id); }

// Out-edges, which the graph does not keep: of each node in the order in which they were made.
struct OutEdge {
  std::int32_t tail, edge, head;
};
std::vector<OutEdge> out_edges(const PartialOrderGraph& graph) {
  std::vector<OutEdge> edges;
  for (std::int32_t head = 0; head < graph.node_count(); ++head)
    for (std::int32_t e = graph.node(head).first_in_edge; e >= 0; e = graph.edge(e).next) edges.push_back({graph.edge(e).tail, e, head});
  std::sort(edges.begin(), edges.end(), [](const OutEdge& a, const OutEdge& b) { return a.tail != b.tail ? a.tail < b.tail : a.edge < b.edge; });
  return edges;
}

// Place of each node on the consensus, -1: it is not there.
std::vector<std::int32_t> places_on(std::span<const std::int32_t> consensus, std::int32_t nodes) {
  std::vector<std::int32_t> places(place(nodes), -1);
  for (std::size_t i = 0; i < consensus.size(); ++i) places[place(consensus[i])] = static_cast<std::int32_t>(i);
  return places;
}

// Calls node(id) and, behind it, edge(out-edge) for each of its out-edges.
template <class OfNode, class OfEdge, class Behind>
void for_each_node(const PartialOrderGraph& graph, OfNode&& of_node, OfEdge&& of_edge, Behind&& behind) {
  const std::vector<OutEdge> edges = out_edges(graph);
  auto next = edges.begin();
  for (std::int32_t id = 0; id < graph.node_count(); ++id) {
    of_node(id);
    for (; next != edges.end() && next->tail == id; ++next) of_edge(*next);
    behind(id);
  }
}

void append_path(std::string_view window, std::string_view name, std::span<const std::int32_t> nodes, bool is_reversed, std::string& text) {
  if (nodes.empty()) return;
  text.append("P\t").append(window).append("/").append(name).append("\t");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int32_t id = nodes[is_reversed ? nodes.size() - 1 - i : i];
    text.append(i == 0 ? "" : ",").append(window).append(":").append(std::to_string(id + 1)).append(is_reversed ? "-" : "+");
  }
  text.append("\t*\n");
}

std::string gfa_name(std::string_view name) {
  std::string result(name);
  for (char& letter : result)
    if (letter < '!' || letter > '~' || letter == ',') letter = '_';
  if (result.starts_with('*') || result.starts_with('=')) result.front() = '_';
  return result;
}

}  // namespace

void append_gfa(const PartialOrderGraph& graph, const GraphLabels& labels, Overlaps overlaps, std::string& text) {
  const std::string window = gfa_name(labels.window);
  const std::vector<std::int32_t> on_consensus = places_on(labels.consensus, graph.node_count());
  const auto is_on = [&](std::int32_t id) { return on_consensus[place(id)] >= 0; };
  const auto segment = [&](std::int32_t id) { text.append(window).append(":").append(std::to_string(id + 1)); };
  for_each_node(
      graph,
      [&](std::int32_t id) {
        text.append("S\t");
        segment(id);
        text.append("\t").append(1, graph.letter(id)).append(is_on(id) ? "\tic:Z:true\n" : "\n");
      },
      [&](const OutEdge& edge) {
        text.append("L\t");
        segment(edge.tail);
        text.append("\t+\t");
        segment(edge.head);
        text.append(overlaps == Overlaps::spoa ? "\t+\tOM" : "\t+\t0M").append("\tew:f:").append(std::to_string(graph.edge(edge.edge).weight));
        text.append(is_on(edge.tail) && is_on(edge.head) ? "\tic:Z:true\n" : "\n");
      },
      [](std::int32_t) {});
  const std::int32_t guides = labels.first == Template::is_guide ? 1 : 0;
  for (std::int32_t i = guides; i < graph.sequence_count(); ++i)
    append_path(window, std::to_string(labels.sequence[place(i - guides)]), graph.path(i),
                !labels.is_reversed.empty() && labels.is_reversed[place(i)] != 0, text);
  append_path(window, "consensus", labels.consensus, false, text);
}

void append_dot(const PartialOrderGraph& graph, const GraphLabels& labels, std::string& text) {
  const std::vector<std::int32_t> on_consensus = places_on(labels.consensus, graph.node_count());
  const auto number = [&](std::int32_t id) -> std::string& { return text.append(std::to_string(id)); };
  text.append("digraph \"");
  for (const char letter : labels.window) text.append(letter == '"' || letter == '\\' ? "\\" : "").append(1, letter);
  text.append("\" {\n  graph [rankdir = LR]\n");
  for_each_node(
      graph,
      [&](std::int32_t id) {
        text.append("  ");
        number(id).append("[label = \"");
        number(id).append(" - ").append(1, graph.letter(id)).append("\"");
        text.append(on_consensus[place(id)] >= 0 ? ", style = filled, fillcolor = goldenrod1]\n" : "]\n");
      },
      [&](const OutEdge& edge) {
        text.append("  ");
        number(edge.tail).append(" -> ");
        number(edge.head).append(" [label = \"").append(std::to_string(graph.edge(edge.edge).weight)).append("\"");
        text.append(on_consensus[place(edge.tail)] + 1 == on_consensus[place(edge.head)] ? ", color = goldenrod1]\n" : "]\n");
      },
      [&](std::int32_t id) {
        for (std::int32_t a = graph.node(id).first_aligned; a >= 0; a = graph.aligned(a).next) {
          if (graph.aligned(a).node <= id) continue;
          text.append("  ");
          number(id).append(" -> ");
          number(graph.aligned(a).node).append(" [style = dotted, arrowhead = none]\n");
        }
      });
  text.append("}\n");
}

}  // namespace sluice::poa_consensus
