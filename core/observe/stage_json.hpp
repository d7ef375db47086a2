// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stage's descriptor for programs: the keys are listed in docs/commands.md, and stay.

#include <nlohmann/json.hpp>

#include "plugin/registry.hpp"

namespace sluice {

// What `sluice inspect` tells.
nlohmann::ordered_json stage_json(const StageEntry& stage);

}  // namespace sluice
