// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A resolved pipeline as JSON, and back: a shard's manifest keeps it, so that what lies behind a regroup can be run when the shards are put together.

#include <nlohmann/json.hpp>
#include <string>

#include "config/pipeline.hpp"

namespace sluice {

nlohmann::ordered_json pipeline_tree(const ResolvedPipeline& pipeline);

// Throws Failure (input) where the tree says what can't be, or what this program has not: whatever it is, nothing else happens. Code that it names
// (config/made_stage.hpp) is not looked for: such stages are known by their words.
ResolvedPipeline pipeline_from_tree(const nlohmann::ordered_json& tree, const Registry& registry);

}  // namespace sluice
