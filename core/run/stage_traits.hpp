// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plan's stages as the scheduler sees them.

#include <cstdint>
#include <vector>

#include "sched/task.hpp"

namespace sluice {

struct Plan;

// implementations: per stage those that the run may use, as indices into the descriptor's.
std::vector<StageTraits> stage_traits(const Plan& plan, const std::vector<std::vector<std::uint32_t>>& implementations);

}  // namespace sluice
