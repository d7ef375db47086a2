// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/graph_layout.hpp"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

constexpr double room_between = 24, bend_width = 6;
constexpr int sweeps = 12;

// A box, or where a long line crosses a layer.
struct Knot {
  double width = 0, middle = 0;
  std::vector<std::size_t> above, below;  // what it is joined with in the layers next to it, as often as the line pulls
};

class Layers {
 public:
  Layers(std::vector<DrawnBox>& boxes, std::vector<DrawnLine>& lines) : boxes_(boxes), lines_(lines) {}

  double lay_out() {
    find_layers();
    make_knots();
    for (int sweep = 0; sweep < sweeps; ++sweep) order(sweep % 2 == 0);
    for (int sweep = 0; sweep < sweeps; ++sweep) move(sweep % 2 == 0);
    return take_over();
  }

 private:
  void find_layers() {
    // Each round settles at least one more box of every path.
    for (std::size_t round = 0; round < boxes_.size(); ++round)
      for (const DrawnLine& line : lines_) boxes_[line.to].layer = std::max(boxes_[line.to].layer, boxes_[line.from].layer + 1);
    for (std::size_t round = 0; round < boxes_.size(); ++round)
      for (std::size_t i = 0; i < boxes_.size(); ++i) {
        if (!boxes_[i].sinks_down) continue;
        std::size_t first_use = 0;
        for (const DrawnLine& line : lines_)
          if (line.from == i) first_use = first_use == 0 ? boxes_[line.to].layer : std::min(first_use, boxes_[line.to].layer);
        if (first_use > 0) boxes_[i].layer = first_use - 1;
      }
  }

  std::size_t add_knot(std::size_t layer, double width) {
    layers_.resize(std::max(layers_.size(), layer + 1));
    layers_[layer].push_back(knots_.size());
    knots_.push_back({width, 0, {}, {}});
    return knots_.size() - 1;
  }

  void make_knots() {
    for (const DrawnBox& box : boxes_) add_knot(box.layer, box.width);
    for (const DrawnLine& line : lines_) {
      std::size_t last = line.from;
      std::vector<std::size_t>& bends = bends_.emplace_back();
      const auto join = [&](std::size_t next) {
        knots_[last].below.insert(knots_[last].below.end(), static_cast<std::size_t>(line.pull), next);
        knots_[next].above.insert(knots_[next].above.end(), static_cast<std::size_t>(line.pull), last);
        last = next;
      };
      for (std::size_t layer = boxes_[line.from].layer + 1; layer < boxes_[line.to].layer; ++layer) {
        bends.push_back(add_knot(layer, bend_width));
        join(bends.back());
      }
      join(line.to);
    }
    for (std::vector<std::size_t>& layer : layers_)
      for (std::size_t i = 0; i < layer.size(); ++i) knots_[layer[i]].middle = static_cast<double>(i);
  }

  double mean_of(const std::vector<std::size_t>& neighbours, double otherwise) const {
    if (neighbours.empty()) return otherwise;
    return std::accumulate(neighbours.begin(), neighbours.end(), 0.0, [&](double sum, std::size_t i) { return sum + knots_[i].middle; }) /
           static_cast<double>(neighbours.size());
  }

  template <class Visit>
  void visit_layers(bool downwards, Visit&& visit) {
    for (std::size_t i = 0; i < layers_.size(); ++i) visit(layers_[downwards ? i : layers_.size() - 1 - i]);
  }

  // Each knot goes where the middle of its neighbours is: fewer lines cross. `middle` is the rank in the layer here.
  void order(bool downwards) {
    visit_layers(downwards, [&](std::vector<std::size_t>& layer) {
      std::vector<double> wish(knots_.size());
      for (const std::size_t i : layer) wish[i] = mean_of(downwards ? knots_[i].above : knots_[i].below, knots_[i].middle);
      std::stable_sort(layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
      for (std::size_t i = 0; i < layer.size(); ++i) knots_[layer[i]].middle = static_cast<double>(i);
    });
  }

  // The same with real widths and an order that stands: the least squares of the distances to the wishes, by pooling neighbours that would overlap.
  void move(bool downwards) {
    visit_layers(downwards, [&](const std::vector<std::size_t>& layer) {
      struct Pool {
        double sum;
        std::size_t count;
        double mean() const { return sum / static_cast<double>(count); }
      };
      std::vector<Pool> pools;
      std::vector<double> offsets;
      double offset = 0;
      for (std::size_t k = 0; k < layer.size(); ++k) {
        const Knot& knot = knots_[layer[k]];
        if (k > 0) offset += (knots_[layer[k - 1]].width + knot.width) / 2 + room_between;
        offsets.push_back(offset);
        pools.push_back({mean_of(downwards ? knot.above : knot.below, mean_of(downwards ? knot.below : knot.above, 0)) - offset, 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
          const Pool last = pools.back();
          pools.pop_back();
          pools.back().sum += last.sum;
          pools.back().count += last.count;
        }
      }
      std::size_t k = 0;
      for (const Pool& pool : pools)
        for (std::size_t n = 0; n < pool.count; ++n, ++k) knots_[layer[k]].middle = pool.mean() + offsets[k];
    });
  }

  double take_over() {
    double left = 0, right = 0;
    for (const Knot& knot : knots_) {
      left = std::min(left, knot.middle - knot.width / 2);
      right = std::max(right, knot.middle + knot.width / 2);
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) boxes_[i].middle = knots_[i].middle - left;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      for (const std::size_t bend : bends_[i]) lines_[i].bends.push_back(knots_[bend].middle - left);
    return right - left;
  }

  std::vector<DrawnBox>& boxes_;
  std::vector<DrawnLine>& lines_;
  std::vector<Knot> knots_;  // the boxes, in their order, then bends
  std::vector<std::vector<std::size_t>> layers_, bends_;
};

}  // namespace

double lay_out(std::vector<DrawnBox>& boxes, std::vector<DrawnLine>& lines) { return Layers(boxes, lines).lay_out(); }

}  // namespace sluice
