// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run spent its time on, in words, and what its user should look at.

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/statistics.hpp"

namespace sluice {

// The part of the run in which the device had at least one call under way, 0 to 1.
double utilisation(const DeviceStatistics& device, const RunStatistics& statistics);

// One sentence: the device or the stage that the others waited for, or the stage that took most of the processors.
std::string bottleneck(const Plan& plan, const RunStatistics& statistics);

// Sentences for the user about stages in which more than half of the rows failed or were left out, with what to check: the pipeline's advice
// (when_most_fail), or that of the most frequent reason.
std::vector<std::string> hints(const Plan& plan, const RunStatistics& statistics);

}  // namespace sluice
