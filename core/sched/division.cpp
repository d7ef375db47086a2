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

Spread balanced_spread(const RowOrder& rows, const std::vector<DivisionSide>& sides, std::size_t least) {
  const double whole = std::max(rows.largest_work(rows.rows()), 1e-300);
  const auto finish = [&](const DivisionSide& side, std::size_t begin, std::size_t end) {
    const double work = rows.work_between(begin, end);
    return side.finish(work, rows.row_behind(begin), work / whole);
  };
  // Each side in turn takes as many rows as it can finish in time. Who begins later has less to do, so taking fewer never helps the others.
  const auto taken_within = [&](double seconds) {
    Spread spread;
    std::size_t begin = 0;
    for (const DivisionSide& side : sides) {
      std::size_t fits = begin, too_many = rows.rows() + 1;
      while (too_many - fits > 1) {
        const std::size_t middle = fits + (too_many - fits) / 2;
        (finish(side, begin, middle) <= seconds ? fits : too_many) = middle;
      }
      begin = spread.ends.empty() ? std::max(fits, least) : fits;
      spread.ends.push_back(begin);
    }
    return spread;
  };
  double too_soon = 0, enough = finish(sides.front(), 0, rows.rows());
  Spread best{std::vector<std::size_t>(sides.size(), rows.rows()), enough};
  // Forty halvings: the time is exact to a part in 10^12.
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (too_soon + enough);
    Spread spread = taken_within(middle);
    if (spread.ends.back() == rows.rows()) {
      enough = middle;
      best = std::move(spread);
    } else {
      too_soon = middle;
    }
  }
  best.seconds = 0;
  for (std::size_t i = 0, begin = 0; i < sides.size(); begin = best.ends[i++])
    if (best.ends[i] > begin) best.seconds = std::max(best.seconds, finish(sides[i], begin, best.ends[i]));
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
