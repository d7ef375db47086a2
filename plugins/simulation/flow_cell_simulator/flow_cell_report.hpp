// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a flow cell has done, as counters of the run's report.

#include <cstdint>
#include <optional>
#include <sluice/call.hpp>
#include <sluice/read_until_conditions.hpp>
#include <string>

#include "flow_cell_simulator/flow_cell_model.hpp"
#include "flow_cell_simulator/sequencing_model.hpp"

namespace sluice::flow_cell_simulator {

class FlowCellReport {
 public:
  struct Conditions {
    std::int32_t channels = 0;
    double capture_seconds = 0, ejection_seconds = 0, bases_per_second = 0;
    double target_bases = 0, coverage = 0, cost_per_hour = 0;  // for the model of sequencing time; target_bases 0: none
    bool has_labels = false;                                   // which reads are targets is known
  };
  // `conditions`: none where all channels do the same. All must outlive this.
  FlowCellReport(const Call& call, const Conditions& flow_cell, const FlowCellModel& model, const std::optional<ReadUntilConditionsView>& conditions)
      : call_(call), cell_(flow_cell), model_(model), conditions_(conditions) {}

  void write(double now, std::uint64_t rounds_behind) const;

 private:
  std::size_t conditions() const { return conditions_ ? static_cast<std::size_t>(conditions_->size()) : 1; }
  // Seconds of wanted strands that the same channels would have sequenced in the same time, if they had let every strand pass.
  double without_read_until(const FlowCellCounts& c, std::int32_t channels, double now) const;
  // What labels tell of the channels of a condition, whose name goes before each counter's.
  void write_targets(const std::string& before, Wanted wanted, const FlowCellCounts& c, std::int32_t channels, double now) const;
  void write_conditions(double now) const;
  Wanted wanted(std::size_t condition) const;
  // What this run has shown. Without labels the accepted strands stand for the targets.
  SequencingConditions observed(const FlowCellCounts& c, std::int32_t channels) const;

  const Call& call_;
  const Conditions& cell_;
  const FlowCellModel& model_;
  const std::optional<ReadUntilConditionsView>& conditions_;
};

}  // namespace sluice::flow_cell_simulator
