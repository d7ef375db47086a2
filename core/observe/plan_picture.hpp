// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The plan as a picture: stages from top to bottom, and what passes between them.

#include <string>

#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

// An SVG element for a page: its colours are the page's, by the classes plan-source, plan-map, plan-regroup, plan-sink, plan-edge and plan-text.
// Edges say how many rows went along.
std::string plan_svg(const Plan& plan, const RunStatistics& statistics);

}  // namespace sluice
