// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The history of a run as series that a page draws, and for programs.

#include <nlohmann/json.hpp>

#include "observe/run_history.hpp"

namespace sluice {

// Rates between samples, of the process, of the ends of its pipeline and of devices; what memory they had at each sample; and calls at once, by lane
// and stage. `last`: at the end.
nlohmann::ordered_json history_tree(const RunHistory& history, const RunStatistics& last);

}  // namespace sluice
