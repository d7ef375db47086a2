// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/layered_layout.hpp"

#include <algorithm>

namespace sluice {
namespace {

// A node of the graph, or the place of an edge in a layer that it passes.
struct Spot {
  std::vector<std::size_t> above;  // spots one layer higher
  double column = 0;
};

double mean_column(const Spot& spot, const std::vector<Spot>& spots) {
  double sum = 0;
  for (const std::size_t i : spot.above) sum += spots[i].column;
  return spot.above.empty() ? 0 : sum / static_cast<double>(spot.above.size());
}

}  // namespace

LayeredLayout layered_layout(const std::vector<std::vector<std::size_t>>& inputs, const std::vector<std::size_t>& topological_order) {
  LayeredLayout layout;
  layout.nodes.resize(inputs.size());
  for (const std::size_t node : topological_order)
    for (const std::size_t input : inputs[node]) layout.nodes[node].layer = std::max(layout.nodes[node].layer, layout.nodes[input].layer + 1);

  std::vector<Spot> spots(inputs.size());
  std::vector<std::vector<std::size_t>> layers;
  const auto put = [&](std::size_t spot, std::size_t layer) {
    if (layers.size() <= layer) layers.resize(layer + 1);
    layers[layer].push_back(spot);
  };
  for (const std::size_t node : topological_order) put(node, layout.nodes[node].layer);
  std::vector<std::vector<std::size_t>> spots_of_edges;
  for (const std::size_t node : topological_order)
    for (const std::size_t input : inputs[node]) {
      layout.edges.push_back({input, node, {}});
      spots_of_edges.emplace_back();
      std::size_t above = input;
      for (std::size_t layer = layout.nodes[input].layer + 1; layer < layout.nodes[node].layer; ++layer) {
        spots.push_back({{above}, 0});
        above = spots.size() - 1;
        put(above, layer);
        spots_of_edges.back().push_back(above);
      }
      spots[node].above.push_back(above);
    }

  for (std::vector<std::size_t>& layer : layers) {
    for (const std::size_t spot : layer) spots[spot].column = mean_column(spots[spot], spots);
    std::stable_sort(layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) { return spots[a].column < spots[b].column; });
    for (std::size_t i = 0; i < layer.size(); ++i) spots[layer[i]].column = static_cast<double>(i) - (static_cast<double>(layer.size()) - 1) / 2;
    layout.columns = std::max(layout.columns, static_cast<double>(layer.size()));
  }
  layout.layers = layers.size();
  for (std::size_t node = 0; node < inputs.size(); ++node) layout.nodes[node].column = spots[node].column;
  for (std::size_t edge = 0; edge < layout.edges.size(); ++edge)
    for (std::size_t k = 0; k < spots_of_edges[edge].size(); ++k)
      layout.edges[edge].by.push_back({layout.nodes[layout.edges[edge].from].layer + 1 + k, spots[spots_of_edges[edge][k]].column});
  return layout;
}

}  // namespace sluice
