// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_traits.hpp"

#include <algorithm>

#include "run/run_context.hpp"

namespace sluice {

std::vector<StageTraits> stage_traits(const RunContext& run, const Segments& segments) {
  const Plan& plan = run.plan;
  std::vector<StageTraits> result(plan.stages.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedStage& planned = plan.stages[i];
    const sluice_stage_descriptor& d = *planned.stage->entry.descriptor;
    StageTraits& traits = result[i];
    traits.name = planned.stage->name;
    for (const std::uint32_t k : run.implementations[i]) traits.implementations.push_back({k, d.implementations[k].device});
    if (planned.stage->device.find(':') != std::string::npos) traits.only_lane = planned.stage->device;
    traits.serial = (d.traits & (SLUICE_TRAIT_SERIAL | SLUICE_TRAIT_ORDERED)) != 0;
    traits.depth = static_cast<int>(std::find(plan.order.begin(), plan.order.end(), i) - plan.order.begin());
    traits.stream = planned.stream;
    if (planned.stage->device_max_row_work > 0) traits.max_row_work = planned.stage->device_max_row_work;
    if (segments[i] && segments[i]->stages().size() > 1) traits.name += " to " + segments[i]->last().name();
  }
  return result;
}

}  // namespace sluice
