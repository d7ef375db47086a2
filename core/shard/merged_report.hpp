// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the runs of all shards have said about rows, added up.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "shard/manifest.hpp"

namespace sluice {

// `merging`: the report of the run that put them together. alike: stages of which every shard has the same rows, see ShardPlan::alike: their losses
// are counted once. Counts of rows, losses, outcomes, counters and seconds are added; what a sum says nothing
// about (rates, percentiles, devices) is left out.
nlohmann::ordered_json merged_report(const std::vector<ShardManifest>& shards, const std::set<std::string>& alike,
                                     const nlohmann::ordered_json& merging);

// Writes the tables of lost rows of all shards, and those in `more`, as one. Throws Failure where a shard has none; returns "" or what went wrong.
std::string write_merged_account(const std::vector<ShardManifest>& shards, const std::set<std::string>& alike,
                                 const std::vector<std::filesystem::path>& more, const std::filesystem::path& file);

}  // namespace sluice
