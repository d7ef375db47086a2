// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where to divide a batch whose rows are ordered by size: the largest rows for the CPU, the others for devices, all at once.

#include <cstddef>
#include <optional>
#include <vector>

#include "sched/cost_model.hpp"
#include "sched/row_order.hpp"

namespace sluice {

// One side of a division: what the lane costs and what it has to do already.
struct DivisionSide {
  Cost cost;
  double sharing = 0;   // see slowdown()
  double backlog = 0;   // seconds of calls under way, each as if alone
  double calls = 1;     // side by side, the new one included
  double transfer = 0;  // seconds of copies for the whole batch
  double finish(double work, double largest_row, double share) const;
};

struct Division {
  std::size_t largest = 0;  // rows for the CPU
  double seconds = 0;       // until both sides have finished, or that the division saves (see below)
};

// Both sides have nothing else to wait for: the division that finishes first. At least `least` rows go to the CPU; both sides get rows.
std::optional<Division> balanced_division(const RowOrder& rows, const DivisionSide& cpu, const DivisionSide& device, std::size_t least);

// The same for any number of sides, of which some may get nothing.
struct Spread {
  std::vector<std::size_t> ends;  // side i gets the rows from ends[i - 1] (the first: 0) to before ends[i], counted from the largest
  double seconds = 0;             // until all sides have finished
};

// At least `least` rows go to the first side. The sides' order is kept: the first gets the largest rows. There must be a side.
Spread balanced_spread(const RowOrder& rows, const std::vector<DivisionSide>& sides, std::size_t least);

// Both sides are busy: rows that hold the device up for longer than their share of the work. `seconds` is the device time saved beyond
// that share, less what the CPU needs beyond it.
std::optional<Division> tail_division(const RowOrder& rows, const DivisionSide& cpu, const DivisionSide& device, std::size_t least);

}  // namespace sluice
