// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/shard_merge.hpp"

#include <algorithm>
#include <sluice/failure.hpp>
#include <sluice/file_parts.hpp>
#include <utility>

#include "plan/plan_files.hpp"
#include "run/run_context.hpp"
#include "shard/file_joining.hpp"
#include "shard/pipeline_tree.hpp"
#include "shard/shard_plan.hpp"
#include "shard/shard_set.hpp"

namespace sluice {
namespace {

using Tree = nlohmann::ordered_json;

// The pipeline as a run would have it that writes `output`.
Tree renamed(Tree pipeline, const ShardManifest& shard, const std::string& output) {
  for (auto& [name, stage] : pipeline["stages"].items())
    if (name == shard.stage) stage["params"][shard.parameter] = output;
  return pipeline;
}

// A sink that writes several files would write those of one shard again, too.
void leave_out_other_files(ResolvedPipeline& pipeline, const ShardManifest& shard) {
  for (ResolvedStage& stage : pipeline.stages) {
    if (stage.name != shard.stage) continue;
    for (const std::size_t i : files_written_by(stage)) {
      const sluice_parameter& parameter = stage.entry.descriptor->parameters[i];
      if (parameter.name == shard.parameter) continue;
      if (parameter.required != 0)
        throw Failure::usage("the stage '" + stage.name + "' writes '" + stage.values[i].text + "', too, which can't be merged with it",
                             "run without --shard");
      stage.values[i].is_set = 0;
      stage.values[i].text = "";
    }
  }
}

Plan plan_of(ResolvedPipeline pipeline, const std::string& manifest) {
  Diagnostics diagnostics;
  const std::size_t stages = pipeline.stages.size();
  Plan plan = make_plan(std::move(pipeline), "cpu", {"cpu"}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list())
    if (diagnostic.severity == Severity::error)
      throw Failure::input("the pipeline in '" + manifest + "' can't be run: " + diagnostic.message, diagnostic.remedy);
  if (plan.order.size() != stages) throw Failure::input("the pipeline in '" + manifest + "' goes in a circle", "make this shard again");
  return plan;
}

}  // namespace

ShardMerge::ShardMerge(std::vector<ShardManifest> shards, std::string output, const Registry& registry, MergeResources resources)
    : shards_(std::move(shards)), output_(std::move(output)) {
  const ShardManifest& first = shards_.front();
  ResolvedPipeline pipeline = pipeline_from_tree(renamed(first.pipeline, first, output_), registry);
  if (!first.state_of.empty()) leave_out_other_files(pipeline, first);
  for (ResolvedStage& stage : pipeline.stages)
    for (std::size_t slot = 0; stage.name == first.state_of && resources == MergeResources::required && slot < stage.resources.size(); ++slot)
      if (stage.entry.descriptor->resources[slot].optional != 0) stage.resources[slot] = -1;
  plan_ = plan_of(std::move(pipeline), first.place.string());
}

std::set<std::string> ShardMerge::alike() const { return shard_plan(plan_).alike(plan_); }

std::size_t ShardMerge::stage_named(const std::string& name) const {
  for (std::size_t i = 0; i < plan_.stages.size(); ++i)
    if (plan_.stages[i].stage->name == name) return i;
  throw Failure::input("the pipeline in '" + shards_.front().place.string() + "' has no stage '" + name + "'", "make this shard again");
}

void ShardMerge::set(RunOptions& options) {
  options.is_all_or_nothing = true;
  options.device = "cpu";
  if (!shards_.front().state_of.empty()) return set_states(options);
  const std::size_t sink = stage_named(shards_.front().stage);
  options.job = [this, sink](RunContext& run) {
    FilesToJoin files{shards_.front().parameter, output_, {}};
    for (const ShardManifest& shard : shards_) {
      if (!check_content(shard, shard.output, [&] { return run.cancelled(); })) return;
      files.parts.push_back({shard.file().string(), shard.header_bytes});
    }
    join_files(run, sink, files);
  };
}

void ShardMerge::set_states(RunOptions& options) {
  const std::size_t regroup = stage_named(shards_.front().state_of), sink = stage_named(shards_.front().stage);
  const sluice_stage_descriptor& d = *plan_.stages[regroup].stage->entry.descriptor;
  if (d.kind != SLUICE_REGROUP || (d.traits & SLUICE_TRAIT_SUMS) == 0)
    throw Failure::input("the stage '" + shards_.front().state_of + "' (" + d.id + ") does not sum", "make the shards again");
  std::vector<std::string_view>& saved = options.saved[regroup];
  for (const ShardManifest& shard : shards_) {
    check_content(shard, shard.output, [] { return false; });
    states_.emplace_back(shard.file());
    if (states_.back().head().regroup != shard.state_of || states_.back().head().pipeline != shard.pipeline_hash)
      throw Failure::input(shard.text() + " is the state of another run", "make this shard again");
    saved.push_back(states_.back().state());
  }
  // From the sink back to the regroup.
  options.made.assign(plan_.stages.size(), 0);
  options.made[sink] = 1;
  for (auto i = plan_.order.rbegin(); i != plan_.order.rend(); ++i)
    if (options.made[*i] != 0 && *i != regroup)
      for (const std::size_t input : plan_.stages[*i].stage->inputs) options.made[input] = 1;
  if (options.made[regroup] == 0)
    throw Failure::input(
        "the pipeline in '" + shards_.front().place.string() + "' does not lead from '" + d.id + "' to '" + shards_.front().stage + "'",
        "make the shards again");
}

}  // namespace sluice
