// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The shards of one output: all of them, each once, and of the same run.

#include <functional>
#include <string>
#include <vector>

#include "plugin/registry.hpp"
#include "shard/manifest.hpp"

namespace sluice {

// The manifests that are meant: of outputs, manifests, or folders, in which they are looked for. `of`: which output, where there are shards of
// several ("" : there is one). Throws Failure.
std::vector<ShardManifest> find_shards(const std::vector<std::string>& names, const std::string& of);

// Sorts them by part. Throws Failure unless they are whole and fit each other, and `registry` has the plugins that they were made with.
void check_shards(std::vector<ShardManifest>& shards, const Registry& registry, const std::string& version);

// Reads a file that lies beside the manifest to its end. Throws Failure unless it is as the manifest says. False: `cancelled` said so.
bool check_content(const ShardManifest& shard, const ManifestFile& file, const std::function<bool()>& cancelled);

}  // namespace sluice
