// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "flow_cell_simulator/sequencing_model.hpp"

#include <algorithm>

namespace sluice::flow_cell_simulator {

SequencingEstimate estimate_sequencing(const SequencingConditions& c) {
  const double target = c.target_share, other = 1.0 - c.target_share;
  const double whole = target * c.target_read_seconds + other * c.other_read_seconds;
  // A strand that ends before its decision is not ejected.
  const auto ejected = [&](double read) { return c.decision_seconds < read ? c.decision_seconds + c.ejection_seconds : read; };
  const double with_decisions =
      target * (c.recall * c.target_read_seconds + (1.0 - c.recall) * ejected(c.target_read_seconds)) +
      other * (c.false_positive_rate * c.other_read_seconds + (1.0 - c.false_positive_rate) * ejected(c.other_read_seconds));
  const double kept = c.recall * c.target_read_seconds + (1.0 - c.recall) * std::min(c.decision_seconds, c.target_read_seconds);
  const double target_without = target * c.target_read_seconds / (c.capture_seconds + whole);
  const double target_with = target * kept / (c.capture_seconds + with_decisions);
  SequencingEstimate result;
  if (!(target_without > 0) || !(target_with > 0) || !(c.channels > 0)) return result;
  const double wanted_seconds = c.coverage * c.target_bases / c.bases_per_second / c.channels;
  result.hours_without = wanted_seconds / target_without / 3600.0;
  result.hours_with = wanted_seconds / target_with / 3600.0;
  result.cost_without = result.hours_without * c.cost_per_hour;
  result.cost_with = result.hours_with * c.cost_per_hour;
  result.enrichment = target_with / target_without;
  return result;
}

}  // namespace sluice::flow_cell_simulator
