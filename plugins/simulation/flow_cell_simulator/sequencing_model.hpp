// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How long, and for how much money, a flow cell must run until a target is covered, with Read Until and without: expected values of a channel's
// cycle of capture, reading and ejection. The kind of model by which SquiggleFilter (Dunn et al. 2021) and DTWax (Sadasivan et al. 2023)
// translate the quality and the latency of decisions into sequencing time; the formulas are written out in the plugin's README.

namespace sluice::flow_cell_simulator {

struct SequencingConditions {
  double channels = 512;
  double capture_seconds = 1, ejection_seconds = 0.5;
  double decision_seconds = 1;                               // from the beginning of a strand until its decision has come
  double target_share = 0.01;                                // of the strands
  double target_read_seconds = 20, other_read_seconds = 20;  // time that whole strands take, on average
  double recall = 1, false_positive_rate = 0;                // shares of the target's and of other strands that are accepted
  double bases_per_second = 450;
  double target_bases = 48502;  // length of what is to be covered
  double coverage = 30;
  double cost_per_hour = 0;  // of the flow cell, in any currency
};

struct SequencingEstimate {
  double hours_without = 0, hours_with = 0;
  double cost_without = 0, cost_with = 0;
  double enrichment = 0;  // target bases per hour, with over without
};

// All zero where no target would ever be sequenced.
SequencingEstimate estimate_sequencing(const SequencingConditions& conditions);

}  // namespace sluice::flow_cell_simulator
