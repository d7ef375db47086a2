// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The last lines of a run: what came out, what was lost and why, how long it took.

#include <string>
#include <vector>

#include "run/run.hpp"

namespace sluice {

// "'paf': 0 of 3,000 reads mapped" and the like for every sink that has produced nothing, separated by semicolons; "" if there is none.
std::string emptiness_text(const RunResult& result, const Plan& plan);

// A few lines without newlines, for standard error. What a user has to look at is in hints() (bottleneck.hpp) and is said whatever else is not.
std::vector<std::string> summary_lines(const RunResult& result, const Plan& plan);

}  // namespace sluice
