// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Plans for programs: the keys are listed in docs/commands.md, and stay.

#include <nlohmann/json.hpp>

#include "cli/plan_text.hpp"
#include "observe/stage_json.hpp"
#include "plan/plan.hpp"

namespace sluice::cli {

using Json = nlohmann::ordered_json;

// What `sluice plan` tells.
Json plan_json(const Plan& plan, const PlanSituation& situation);
// To standard output; bytes that are no UTF-8 are replaced.
void print(const Json& json);

}  // namespace sluice::cli
