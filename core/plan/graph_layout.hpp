// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Places for the boxes and lines of a graph without circles, in layers from top to bottom (Sugiyama, Tagawa, Toda 1981).

#include <cstddef>
#include <string>
#include <vector>

namespace sluice {

struct DrawnBox {
  double width = 0;
  bool sinks_down = false;  // stands right above the first that uses it, not as high as it can
  // What the layout finds out:
  std::size_t layer = 0;
  double middle = 0;  // x
};

struct DrawnLine {
  std::size_t from = 0, to = 0;  // boxes
  int pull = 1;                  // how hard it pulls its ends to one x
  std::vector<double> bends;     // x in each layer between the two
};

// Fills in layer, middle and bends; returns the width of the whole. The same graph always gets the same places.
double lay_out(std::vector<DrawnBox>& boxes, std::vector<DrawnLine>& lines);

}  // namespace sluice
