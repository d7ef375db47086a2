// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The last lines of a run: what came out, what was lost and why, how long it took.

#include <string>
#include <vector>

#include "run/run.hpp"

namespace sluice {

// A few lines without newlines, for standard error.
std::vector<std::string> summary_lines(const RunResult& result, const Plan& plan);

}  // namespace sluice
