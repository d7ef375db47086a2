// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plan's stages as the scheduler sees them.

#include <cstdint>
#include <vector>

#include "run/segment.hpp"
#include "sched/task.hpp"

namespace sluice {

// Per stage of the plan; a segment has its first stage's place.
std::vector<StageTraits> stage_traits(const RunContext& run, const Segments& segments);

}  // namespace sluice
