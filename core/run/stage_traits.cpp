// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/stage_traits.hpp"

#include <algorithm>

#include "plan/plan.hpp"

namespace sluice {

std::vector<StageTraits> stage_traits(const Plan& plan, const std::vector<std::vector<std::uint32_t>>& implementations) {
  std::vector<StageTraits> result(plan.stages.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedStage& planned = plan.stages[i];
    const sluice_stage_descriptor& d = *planned.stage->entry.descriptor;
    StageTraits& traits = result[i];
    traits.name = planned.stage->name;
    for (const std::uint32_t k : implementations[i]) traits.implementations.push_back({k, d.implementations[k].device});
    if (planned.stage->device.find(':') != std::string::npos) traits.only_lane = planned.stage->device;
    if (planned.stage->device_max_row_work > 0) traits.max_row_work = planned.stage->device_max_row_work;
    traits.serial = (d.traits & (SLUICE_TRAIT_SERIAL | SLUICE_TRAIT_ORDERED)) != 0;
    traits.depth = static_cast<int>(std::find(plan.order.begin(), plan.order.end(), i) - plan.order.begin());
  }
  return result;
}

}  // namespace sluice
