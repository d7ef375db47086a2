// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The report as a tree: what report.json is written from, and the page for people.

#include <nlohmann/json.hpp>

#include "observe/report.hpp"

namespace sluice {

nlohmann::ordered_json report_tree(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context);

}  // namespace sluice
