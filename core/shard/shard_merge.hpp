// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The shards of one output become that output, with the bytes of one run over all rows.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "run/run.hpp"
#include "shard/manifest.hpp"
#include "shard/state_file.hpp"

namespace sluice {

// Of the regroup whose states are summed: those that it may be made without are left out, as they are for rows, which do not come; or all.
enum class MergeResources { required, all };

class ShardMerge {
 public:
  // `shards`: checked, in order. Throws Failure.
  ShardMerge(std::vector<ShardManifest> shards, std::string output, const Registry& registry, MergeResources resources = MergeResources::all);
  ShardMerge(const ShardMerge&) = delete;

  const Plan& plan() const { return plan_; }
  const std::vector<ShardManifest>& shards() const { return shards_; }
  // See ShardPlan::alike.
  std::set<std::string> alike() const;
  // Of the run that does it.
  void set(RunOptions& options);

 private:
  std::size_t stage_named(const std::string& name) const;
  void set_states(RunOptions& options);

  std::vector<ShardManifest> shards_;
  std::string output_;
  Plan plan_;
  std::vector<StateFile> states_;
};

}  // namespace sluice
