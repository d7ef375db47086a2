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

class ShardMerge {
 public:
  // `shards`: checked, in order. Throws Failure.
  ShardMerge(std::vector<ShardManifest> shards, std::string output, const Registry& registry);
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
