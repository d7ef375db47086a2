// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a picture of a plan says after the run.

#include "plan/plan_graph.hpp"
#include "record/statistics.hpp"

namespace sluice {

// Below each stage its share of the time of all calls, and how much of its work devices did; at the lines how many rows went along.
PlanNotes plan_notes(const Plan& plan, const RunStatistics& statistics);

}  // namespace sluice
