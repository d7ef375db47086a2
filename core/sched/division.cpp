// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/division.hpp"

#include <algorithm>

namespace sluice {

double DivisionSide::finish(double work, double largest_row, double share) const {
  const double alone = cost.seconds(work, largest_row) + transfer * share;
  return std::max((backlog + alone) / speedup(sharing, calls), alone);
}

std::optional<Division> balanced_division(const RowOrder& rows, const DivisionSide& cpu, const DivisionSide& device, std::size_t least) {
  const double whole = rows.largest_work(rows.rows());
  std::optional<Division> best;
  if (whole <= 0) return best;
  for (std::size_t k = std::max<std::size_t>(least, 1); k < rows.rows(); ++k) {
    const double share = rows.largest_work(k) / whole;
    const double on_cpu = cpu.finish(rows.largest_work(k), rows.row_behind(0), share);
    const double seconds = std::max(on_cpu, device.finish(rows.other_work(k), rows.row_behind(k), 1.0 - share));
    if (!best || seconds < best->seconds) best = Division{k, seconds};
    // The CPU's time only grows with k.
    if (on_cpu > best->seconds) break;
  }
  return best;
}

std::optional<Division> tail_division(const RowOrder& rows, const DivisionSide& cpu, const DivisionSide& device, std::size_t least) {
  std::optional<Division> best;
  for (std::size_t k = std::max<std::size_t>(least, 1); k < rows.rows(); ++k) {
    const double work = rows.largest_work(k);
    const double held_up = device.cost.per_largest_row * (rows.row_behind(0) - rows.row_behind(k)) / speedup(device.sharing, device.calls);
    const double on_cpu =
        (cpu.cost.constant + cpu.cost.per_work * work + cpu.cost.per_largest_row * rows.row_behind(0)) / speedup(cpu.sharing, cpu.calls);
    const double on_device = device.cost.per_work * work / speedup(device.sharing, device.calls);
    const double saved = held_up - std::max(on_cpu - on_device, 0.0);
    if (!best || saved > best->seconds) best = Division{k, saved};
  }
  return best;
}

}  // namespace sluice
