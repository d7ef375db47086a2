// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A resolved pipeline checked as a whole: which columns flow along which edge, who uses each one last, what is made at all.

#include <deque>
#include <string>
#include <vector>

#include "config/pipeline.hpp"

namespace sluice {

struct PlannedColumn {
  std::string name, type;
  std::size_t giver = 0;  // the stage that made it
};

struct PlannedStage {
  PlannedStage() = default;
  PlannedStage(PlannedStage&&) = default;  // a moved deque keeps its elements where they are; a copy would leave `needs` dangling
  PlannedStage& operator=(PlannedStage&&) = default;
  // The columns that the stage reads: the descriptor's, with "*" replaced by those that a parameter names.
  sluice_port input() const { return {stage->entry.descriptor->input.row_type, needs.size(), sizeof(sluice_column_spec), needs.data()}; }

  const ResolvedStage* stage = nullptr;
  std::vector<sluice_column_spec> needs;
  std::deque<std::string> named_columns;       // texts that `needs` point into
  std::vector<std::size_t> consumers;          // indices into Plan::stages
  std::vector<std::uint8_t> wanted;            // per output column of the descriptor
  std::vector<std::uint8_t> available;         // per input column of the descriptor
  std::vector<PlannedColumn> columns;          // what a batch holds when it leaves the stage (after liveness)
  std::vector<std::vector<std::string>> kept;  // per consumer: the columns that it or a stage behind it still needs
  std::vector<std::string> hidden;             // columns that arrive and do not leave (sluice/output_columns.h)
  std::vector<std::size_t> feeds_back_to;      // sinks: sources and regroups that get what it has committed
  std::string row_type;                        // of the rows that leave it; "" for sinks
  std::size_t stream = 0;                      // stages with equal stream see the same rows and sequence numbers
  std::vector<std::uint32_t> implementations;  // offered and allowed by device=, in order of preference
};

struct Plan {
  Plan() = default;
  Plan(Plan&&) = default;  // `stages` point into `pipeline`, whose vectors stay where they are when moved
  Plan& operator=(Plan&&) = default;
  ResolvedPipeline pipeline;
  std::vector<PlannedStage> stages;  // same order and indices as pipeline.stages
  std::vector<std::size_t> order;    // topological
  double bytes_per_work = 0;         // first guess of a batch's footprint per unit of the source's work
};

// Checks columns and row types along every edge. All problems go to `diagnostics`; the plan may be run only if there is no error.
// `device` is the run's --device ("auto", "cpu", "cuda", "cuda:N"); devices: kinds that exist on this machine ("cpu" always).
Plan make_plan(ResolvedPipeline pipeline, const std::string& device, const std::vector<std::string>& devices, Diagnostics& diagnostics);

}  // namespace sluice
