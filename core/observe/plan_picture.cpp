// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/plan_picture.hpp"

#include <fmt/format.h>

#include <iterator>

#include "observe/account.hpp"
#include "observe/layered_layout.hpp"
#include "observe/page_text.hpp"
#include "observe/quantity.hpp"

namespace sluice {
namespace {

constexpr double box_width = 212, box_height = 46, column_step = 232, layer_step = 74, margin = 14;
constexpr std::size_t most_letters = 22, most_small_letters = 36;

struct Point {
  double x = 0, y = 0;
};

class Picture {
 public:
  explicit Picture(const LayeredLayout& layout) : middle_(std::max(layout.columns, 1.0) * column_step / 2 + margin) {
    const double height = static_cast<double>(layout.layers) * layer_step - (layer_step - box_height) + 2 * margin;
    text_ = fmt::format(
        "<svg class=\"plan\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" "
        "aria-label=\"stages of the pipeline\">\n",
        2 * middle_, height);
  }
  // The middle of a place's upper border.
  Point top(const LayeredLayout::Place& place) const {
    return {middle_ + place.column * column_step, margin + static_cast<double>(place.layer) * layer_step};
  }
  void edge(const std::vector<Point>& points, const std::string& label) {
    auto out = std::back_inserter(text_);
    fmt::format_to(out, "<path class=\"plan-edge\" d=\"M{:.1f} {:.1f}", points.front().x, points.front().y);
    for (std::size_t i = 1; i < points.size(); ++i) {
      const Point from = points[i - 1], to = points[i];
      const double half = (from.y + to.y) / 2;
      fmt::format_to(out, " C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, half, to.x, half, to.x, to.y);
    }
    fmt::format_to(out, "\"/>\n");
    if (label.empty()) return;
    const Point end = points.back();
    fmt::format_to(out, "<text class=\"plan-label\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", end.x + 6, end.y - 7, escaped(label));
  }
  void box(Point top, const std::string& role, const std::string& name, const std::string& below, const std::string& title) {
    fmt::format_to(
        std::back_inserter(text_),
        "<g><title>{}</title><rect class=\"plan-{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"7\"/>"
        "<text class=\"plan-text\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text class=\"plan-small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        escaped(title), role, top.x - box_width / 2, top.y, box_width, box_height, top.x, top.y + 19, escaped(shortened(name, most_letters)), top.x,
        top.y + 36, escaped(shortened(below, most_small_letters)));
  }
  std::string finish() { return text_ + "</svg>\n"; }

 private:
  double middle_;
  std::string text_;
};

// "62.1 % of call time", and how much of its work devices did.
std::string what_it_took(const StageStatistics& stage, double all_busy) {
  double on_devices = 0, all = 0;
  for (const ImplementationStatistics& implementation : stage.implementations) {
    all += implementation.work;
    if (implementation.device != "cpu" && implementation.device != "writer") on_devices += implementation.work;
  }
  const std::string text = percent_text(all_busy > 0 ? stage.busy_seconds / all_busy : 0) + " of call time";
  return on_devices > 0 ? text + ", " + percent_text(on_devices / all) + " device" : text;
}

}  // namespace

std::string plan_svg(const Plan& plan, const RunStatistics& statistics) {
  std::vector<std::vector<std::size_t>> inputs;
  for (const PlannedStage& stage : plan.stages) inputs.push_back(stage.stage->inputs);
  const LayeredLayout layout = layered_layout(inputs, plan.order);
  double all_busy = 0;
  for (const StageStatistics& stage : statistics.stages) all_busy += stage.busy_seconds;

  Picture picture(layout);
  for (const LayeredLayout::Edge& edge : layout.edges) {
    const Point from = picture.top(layout.nodes[edge.from]);
    std::vector<Point> points = {{from.x, from.y + box_height}};
    for (const LayeredLayout::Place& place : edge.by) {
      const Point passes = picture.top(place);
      points.push_back(passes);
      points.push_back({passes.x, passes.y + box_height});
    }
    points.push_back(picture.top(layout.nodes[edge.to]));
    const StageStatistics* before = statistics_of(statistics, plan, edge.from);
    picture.edge(points, before == nullptr ? "" : count_text(before->rows_out));
  }
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const ResolvedStage& stage = *plan.stages[i].stage;
    const StageStatistics* s = statistics_of(statistics, plan, i);
    const std::string id = stage.entry.descriptor->id;
    picture.box(picture.top(layout.nodes[i]), s == nullptr ? "map" : s->role, stage.name, s == nullptr ? id : what_it_took(*s, all_busy),
                stage.name + " (" + id + "): " + stage.entry.descriptor->summary);
  }
  return picture.finish();
}

}  // namespace sluice
