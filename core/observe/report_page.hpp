// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The report as one page for people: no other file, no network, less than largest_page bytes however long the run was.

#include <cstddef>
#include <string>

#include "observe/report.hpp"
#include "observe/run_history.hpp"

namespace sluice {

constexpr std::size_t largest_page = 600'000;

// HTML. Everything that comes from the run is data in it, or escaped: names of files and reads are shown, never obeyed.
std::string report_page(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context, const RunHistory& history);

}  // namespace sluice
