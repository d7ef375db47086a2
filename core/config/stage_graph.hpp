// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Who reads from whom: default inputs, detours around disabled stages, and what vanishes with them.

#include <sluice/abi.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/diagnostic.hpp"

namespace sluice {

struct GraphStage {
  std::string name;
  Location where;
  sluice_stage_kind kind = 0;  // 0: unknown type; taken for a map, so that one mistake is reported once
  bool same_rows = false;      // a regroup whose rows are of the type of those that it reads
  bool enabled = true;
  std::optional<std::vector<std::pair<std::string, Location>>> inputs;  // as written
};

struct StageGraph {
  std::vector<std::uint8_t> present;             // per stage: it takes part in the run
  std::vector<std::vector<std::size_t>> inputs;  // per stage: present stages, without repeats
  bool whole = false;                            // every written input was found and there is no cycle
};

// A stage without written inputs reads from the last stage before it in the file that gives rows. The consumers of a disabled map, and
// of a disabled regroup of the same rows, read from its inputs; of any other disabled stage they get nothing. A stage that loses all its inputs
// vanishes, and so does one whose consumers have all vanished.
StageGraph connect_stages(const std::vector<GraphStage>& stages, Diagnostics& diagnostics);

// An order in which every node comes after those it points to; nullopt and `cycle` (a, b, ..., a) if there is none.
std::optional<std::vector<std::size_t>> dependency_order(const std::vector<std::vector<std::size_t>>& edges, std::vector<std::size_t>& cycle);

}  // namespace sluice
