// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Can a plan be run in shards, and what is each of its outputs then?

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace sluice {

// One file that a sink writes.
struct ShardOutput {
  std::size_t sink = 0, parameter = 0;  // of the plan, of the sink's descriptor
  std::string path;
  std::optional<std::size_t> state_of;  // the regroup that sums before the sink: a shard's file holds its state
  std::string form;                     // what the shards' files are put together as: "bytes", "BGZF text", "state"
};

struct ShardProblem {
  std::string message, remedy;  // "the stage 'x' (kmer_training) needs all rows"
};

struct ShardPlan {
  std::vector<ShardOutput> outputs;
  std::vector<ShardProblem> problems;              // none: it can be run in shards
  std::vector<std::optional<std::size_t>> behind;  // per stage: the regroup that a shard ends at before it comes to the stage
  std::vector<std::uint8_t> whole;                 // per stage: 1: every shard does all of it, for a regroup that takes all rows and gives a part

  // Stages whose losses every shard has alike.
  std::set<std::string> alike(const Plan& plan) const;
};

ShardPlan shard_plan(const Plan& plan);

}  // namespace sluice
