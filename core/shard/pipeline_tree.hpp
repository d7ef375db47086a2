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

// The parameters of a stage that name files which it writes: those that say so, and paths of sinks that say nothing. Indexes of the descriptor.
std::vector<std::size_t> written_files(const ResolvedStage& stage);

// What decides what comes out, and is alike for all shards: without the names of the files that are written, and with inputs by their last names.
nlohmann::ordered_json comparable_tree(const ResolvedPipeline& pipeline);

// Where two trees differ, in words: "stages.map.params.k is 15 and 17"; "" if nowhere.
std::string tree_difference(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b);

}  // namespace sluice
