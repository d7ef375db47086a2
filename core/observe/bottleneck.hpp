// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run spent its time on, in words, and what its user should look at.

#include <string>
#include <vector>

#include "observe/statistics.hpp"
#include "plan/plan.hpp"

namespace sluice {

// One sentence: the stage that the others waited for, or the one that took most of the processors.
std::string bottleneck(const Plan& plan, const RunStatistics& statistics);

// Sentences for the user: stages in which more than nine rows in ten failed, with the pipeline's advice (when_most_fail) or the meaning
// of the most frequent reason.
std::vector<std::string> hints(const Plan& plan, const RunStatistics& statistics);

}  // namespace sluice
