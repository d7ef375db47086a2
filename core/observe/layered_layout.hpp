// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the nodes of a graph without cycles stand in a picture: in layers, each below all that it depends on.

#include <cstddef>
#include <utility>
#include <vector>

namespace sluice {

struct LayeredLayout {
  struct Place {
    std::size_t layer = 0;
    double column = 0;  // centred: 0 is the middle of the picture
  };
  struct Edge {
    std::size_t from = 0, to = 0;
    std::vector<Place> by;  // a place in each layer between both
  };
  std::vector<Place> nodes;
  std::vector<Edge> edges;
  std::size_t layers = 0;
  double columns = 0;  // of the widest layer
};

// inputs[i]: the nodes before i. Sugiyama's way with one sweep: layers by the longest path, places of long edges, order by the mean of what is above.
LayeredLayout layered_layout(const std::vector<std::vector<std::size_t>>& inputs, const std::vector<std::size_t>& topological_order);

}  // namespace sluice
