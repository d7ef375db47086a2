// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/plan_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "plan/plan_edges.hpp"

namespace sluice {

std::string plan_dot(const Plan& plan) {
  const PlanEdges graph = edges_of(plan);
  // Names hold letters, digits, '_' and '-' only; quotes are enough.
  std::string text = "digraph \"" + plan.pipeline.name + "\" {\n  rankdir=LR;\n  node [shape=box];\n";
  auto out = std::back_inserter(text);
  for (const PlanNode& node : graph.nodes)
    fmt::format_to(out, "  \"{}\" [label=\"{}\\n{}\"{}];\n", node.id(), node.stage->name, node.stage->entry.descriptor->id,
                   node.is_resource ? ", shape=cylinder" : "");
  for (const PlanEdge& edge : graph.edges) {
    const std::string attributes = edge.kind == PlanEdge::Kind::resource   ? "style=dashed"
                                   : edge.kind == PlanEdge::Kind::feedback ? "label=\"feedback\", style=dotted, constraint=false"
                                                                           : fmt::format("label=\"{}\"", fmt::join(edge.columns, "\\n"));
    fmt::format_to(out, "  \"{}\" -> \"{}\" [{}];\n", graph.nodes[edge.from].id(), graph.nodes[edge.to].id(), attributes);
  }
  return text + "}\n";
}

std::string plan_mermaid(const Plan& plan) {
  const PlanEdges graph = edges_of(plan);
  std::string text = "flowchart TD\n";
  auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlanNode& node = graph.nodes[i];
    fmt::format_to(out, "  n{}{}\"{}<br/>{}\"{}\n", i, node.is_resource ? "[(" : "[", node.stage->name, node.stage->entry.descriptor->id,
                   node.is_resource ? ")]" : "]");
  }
  for (const PlanEdge& edge : graph.edges)
    fmt::format_to(out, "  n{} {} n{}\n", edge.from,
                   edge.kind == PlanEdge::Kind::resource   ? "-.->"
                   : edge.kind == PlanEdge::Kind::feedback ? "-. feedback .->"
                                                           : "-->",
                   edge.to);
  return text;
}

}  // namespace sluice
