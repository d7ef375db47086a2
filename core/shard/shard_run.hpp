// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A run of one shard: where it ends, and the manifests of what it has written.

#include <nlohmann/json.hpp>
#include <string>

#include "run/run.hpp"
#include "shard/manifest.hpp"
#include "shard/shard_plan.hpp"

namespace sluice {

struct ShardNumber {
  std::uint64_t part = 0, parts = 1;  // from 0
};

// "2/7": the second of seven. False: it is none.
bool parse_shard(const std::string& text, ShardNumber& number);

class ShardRun {
 public:
  // A plan that can be run in shards.
  ShardRun(const Plan& plan, const ShardPlan& shards, ShardNumber number, std::string version);

  // What such a run is told.
  void set(RunOptions& options) const;
  // Of a run that has finished. `account`: its table of lost rows, or "". Returns "" or what went wrong.
  std::string write_manifests(const RunResult& result, const Registry& registry, const std::string& account,
                              const nlohmann::ordered_json& report) const;

 private:
  const Plan& plan_;
  const ShardPlan& shards_;
  ShardNumber number_;
  std::string version_, hash_;
};

// Name -> "version, build id" of the plugins whose stages the pipeline has.
nlohmann::ordered_json used_plugins(const ResolvedPipeline& pipeline);

}  // namespace sluice
