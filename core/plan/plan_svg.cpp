// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "plan/graph_layout.hpp"
#include "plan/plan_edges.hpp"
#include "plan/plan_graph.hpp"
#include "plan/xml_text.hpp"

namespace sluice {
namespace {

constexpr double box_height = 42, layer_height = 76, margin = 12, feedback_room = 34;
constexpr double widest_letter = 7.6;  // pixels of a letter at 13 pixels, on the safe side: nobody knows the font

constexpr const char* style = R"(<style>
.sluice-plan text { font: 13px system-ui, sans-serif; fill: var(--plan-text, #1b2530); text-anchor: middle; }
.sluice-plan .type { font-size: 11px; opacity: .7; }
.sluice-plan .label { font-size: 11px; opacity: .7; text-anchor: start; }
.sluice-plan path.rows, .sluice-plan path.resource, .sluice-plan path.feedback { fill: none; stroke: var(--plan-line, #6b7885); stroke-width: 1.4; }
.sluice-plan path.resource { stroke-dasharray: 5 4; }
.sluice-plan path.feedback { stroke-dasharray: 1.5 4; stroke-linecap: round; }
.sluice-plan .head { fill: var(--plan-line, #6b7885); }
.sluice-plan .box { stroke: var(--plan-line, #6b7885); fill: var(--plan-stage, #e8f0fa); }
.sluice-plan .box.end { fill: var(--plan-end, #e4f3e6); }
.sluice-plan .box.resource { fill: var(--plan-resource, #f7efdc); }
</style>
)";

double top_of(const DrawnBox& box) { return margin + static_cast<double>(box.layer) * layer_height; }

// Where rows begin and end stands out; what all rows share has another shape.
std::string box_svg(const PlanNode& node, const std::string& below, const DrawnBox& box) {
  const sluice_stage_descriptor& d = *node.stage->entry.descriptor;
  const double left = margin + box.middle - box.width / 2, top = top_of(box), middle = margin + box.middle;
  const char* kind = node.is_resource ? " resource" : d.kind == SLUICE_SOURCE || d.kind == SLUICE_SINK ? " end" : "";
  return fmt::format(
      "<g><title>{}</title><rect class=\"box{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text class=\"type\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
      xml_text(node.stage->name + " (" + d.id + "): " + (d.summary == nullptr ? "" : d.summary)), kind, left, top, box.width, box_height,
      node.is_resource ? 18 : 4, middle, top + 18, xml_text(node.stage->name), middle, top + 34, xml_text(below));
}

std::string line_svg(const PlanEdge& edge, const std::string& label, const DrawnLine& line, const std::vector<DrawnBox>& boxes) {
  const DrawnBox &from = boxes[line.from], &to = boxes[line.to];
  double x = margin + from.middle, y = top_of(from) + box_height;
  std::string path = fmt::format("M{:.1f} {:.1f}", x, y);
  const auto curve_to = [&](double next_x, double next_y) {
    const double half = (y + next_y) / 2;
    path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x, half, next_x, half, next_x, next_y);
    x = next_x, y = next_y;
  };
  for (std::size_t i = 0; i < line.bends.size(); ++i) {
    const double top = margin + static_cast<double>(from.layer + 1 + i) * layer_height;
    curve_to(margin + line.bends[i], top);
    y = top + box_height;
    path += fmt::format(" L{:.1f} {:.1f}", x, y);
  }
  curve_to(margin + to.middle, top_of(to) - 2);
  const bool rows = edge.kind == PlanEdge::Kind::rows;
  std::string svg = fmt::format("<path class=\"{}\" marker-end=\"url(#sluice-plan-head)\" d=\"{}\"><title>{}</title></path>\n",
                                rows ? "rows" : "resource", path, rows ? xml_text(fmt::format("{}", fmt::join(edge.columns, ", "))) : "resource");
  if (!label.empty()) svg += fmt::format("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 6, y - 8, xml_text(label));
  return svg;
}

// Against the direction of everything else: around the right side.
std::string feedback_svg(const DrawnBox& from, const DrawnBox& to, double right) {
  const double begin = top_of(from) + box_height / 2, end = top_of(to) + box_height / 2;
  return fmt::format(
      "<path class=\"feedback\" marker-end=\"url(#sluice-plan-head)\" d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\">"
      "<title>feedback</title></path>\n",
      margin + from.middle + from.width / 2, begin, right, begin, right, end, margin + to.middle + to.width / 2 + 2, end);
}

}  // namespace

std::string plan_svg(const Plan& plan) { return plan_svg(plan, PlanNotes()); }

std::string plan_svg(const Plan& plan, const PlanNotes& notes) {
  const PlanEdges graph = edges_of(plan);
  const std::size_t first_stage = plan.pipeline.resources.size();
  const auto note = [first_stage](const std::vector<std::string>& texts, std::size_t node) {
    return node >= first_stage && node - first_stage < texts.size() ? texts[node - first_stage] : std::string();
  };
  std::vector<DrawnBox> boxes;
  std::vector<std::string> below;
  for (const PlanNode& node : graph.nodes) {
    const std::string said = note(notes.below, below.size());
    below.push_back(said.empty() ? node.stage->entry.descriptor->id : said);
    const std::size_t letters = std::max(node.stage->name.size(), below.back().size());
    boxes.push_back({std::max(84.0, static_cast<double>(letters) * widest_letter + 16), node.is_resource, 0, 0});
  }
  std::vector<DrawnLine> lines;
  std::vector<const PlanEdge*> drawn;
  for (const PlanEdge& edge : graph.edges)
    if (edge.kind != PlanEdge::Kind::feedback) {
      lines.push_back({edge.from, edge.to, edge.kind == PlanEdge::Kind::rows ? 8 : 1, {}});
      drawn.push_back(&edge);
    }
  const bool feeds_back = drawn.size() < graph.edges.size();
  const double inner = lay_out(boxes, lines), width = inner + 2 * margin + (feeds_back ? feedback_room : 0);
  std::size_t last_layer = 0;
  for (const DrawnBox& box : boxes) last_layer = std::max(last_layer, box.layer);
  const double height = static_cast<double>(last_layer) * layer_height + box_height + 2 * margin;

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sluice-plan\" role=\"img\" aria-label=\"the stages of {}\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "width=\"{:.0f}\" height=\"{:.0f}\">\n{}<defs><marker id=\"sluice-plan-head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
      "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n",
      xml_text(plan.pipeline.name), width, height, width, height, style);
  for (std::size_t i = 0; i < lines.size(); ++i)
    svg += line_svg(*drawn[i], drawn[i]->kind == PlanEdge::Kind::rows ? note(notes.rows, drawn[i]->from) : "", lines[i], boxes);
  for (const PlanEdge& edge : graph.edges)
    if (edge.kind == PlanEdge::Kind::feedback) svg += feedback_svg(boxes[edge.from], boxes[edge.to], margin + inner + feedback_room);
  for (std::size_t i = 0; i < boxes.size(); ++i) svg += box_svg(graph.nodes[i], below[i], boxes[i]);
  return svg + "</svg>\n";
}

}  // namespace sluice
