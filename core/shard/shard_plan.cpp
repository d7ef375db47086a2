// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "shard/shard_plan.hpp"

#include <algorithm>
#include <sluice/staged_file.hpp>

#include "plan/plan_files.hpp"
#include "shard/file_joining.hpp"

namespace sluice {
namespace {

constexpr const char* without_shards = "run without --shard";

class ShardPlanner {
 public:
  explicit ShardPlanner(const Plan& plan) : plan_(plan) {
    result_.behind.resize(plan.stages.size());
    result_.whole.resize(plan.stages.size());
  }

  ShardPlan run() {
    for (auto i = plan_.order.rbegin(); i != plan_.order.rend(); ++i) look_behind(*i);
    for (const std::size_t i : plan_.order) {
      const ResolvedStage& stage = *plan_.stages[i].stage;
      for (const std::size_t input : stage.inputs)
        if (!result_.behind[i]) result_.behind[i] = result_.behind[input] ? result_.behind[input] : ends_at(input);
      const sluice_stage_kind kind = descriptor(i).kind;
      if (kind == SLUICE_SINK)
        look_at_sink(i);
      else
        look_at_stage(i);
    }
    if (result_.outputs.empty() && result_.problems.empty()) problem("nothing is written to a file");
    return std::move(result_);
  }

 private:
  const sluice_stage_descriptor& descriptor(std::size_t i) const { return *plan_.stages[i].stage->entry.descriptor; }
  bool has(std::size_t i, std::uint32_t trait) const { return (descriptor(i).traits & trait) != 0; }
  std::string name(std::size_t i) const { return "the stage '" + plan_.stages[i].stage->name + "' (" + descriptor(i).id + ")"; }
  void problem(const std::string& message, const std::string& remedy = without_shards) { result_.problems.push_back({message, remedy}); }

  bool takes_all(std::size_t i) const { return result_.whole[i] != 0 || (descriptor(i).kind == SLUICE_REGROUP && has(i, SLUICE_TRAIT_PARTS)); }
  // What is for regroups alone that take all rows is done by every shard.
  void look_behind(std::size_t i) {
    const std::vector<std::size_t>& behind = plan_.stages[i].consumers;
    const auto all = std::count_if(behind.begin(), behind.end(), [&](std::size_t consumer) { return takes_all(consumer); });
    result_.whole[i] = all > 0 ? 1 : 0;
    if (all == 0 || static_cast<std::size_t>(all) == behind.size()) return;
    const auto other = std::find_if(behind.begin(), behind.end(), [&](std::size_t consumer) { return !takes_all(consumer); });
    problem(name(i) + " has to give all rows, of which " + name(*other) + " may get those of a part only");
  }

  // A regroup whose rows don't come part by part, but whose state does.
  std::optional<std::size_t> ends_at(std::size_t i) const {
    const bool sums = descriptor(i).kind == SLUICE_REGROUP && !takes_all(i) && !has(i, SLUICE_TRAIT_CONCATENATES) && has(i, SLUICE_TRAIT_SUMS);
    return sums ? std::optional(i) : std::nullopt;
  }

  void look_at_stage(std::size_t i) {
    const ResolvedStage& stage = *plan_.stages[i].stage;
    if (!files_written_by(stage).empty()) problem(name(i) + " writes a file that is no output of rows");
    if (!stage.feedback.empty()) problem(name(i) + " depends on what sinks have written");
    if (descriptor(i).kind == SLUICE_SOURCE) return look_at_source(i);
    if (result_.behind[i] || takes_all(i)) return;
    const bool needs_order = descriptor(i).kind == SLUICE_REGROUP || has(i, SLUICE_TRAIT_ORDERED);
    if (needs_order && !has(i, SLUICE_TRAIT_CONCATENATES) && !ends_at(i)) problem(name(i) + " needs all rows");
    if (ends_at(i) && !has(i, SLUICE_TRAIT_SAVES)) problem(name(i) + " says that its states can be summed, but has none");
  }

  void look_at_source(std::size_t i) {
    if (follows(*plan_.stages[i].stage))
      return problem(name(i) + " follows files that grow, of which nobody knows the parts", "run without --follow or without --shard");
    if (!has(i, SLUICE_TRAIT_PARTS) && !takes_all(i)) problem(name(i) + " can't read a part of its input");
  }

  void look_at_sink(std::size_t i) {
    const ResolvedStage& stage = *plan_.stages[i].stage;
    const std::vector<std::size_t> files = files_written_by(stage);
    if (!result_.behind[i] && !has(i, SLUICE_TRAIT_CONCATENATES)) return problem(name(i) + " needs all rows");
    if (files.empty()) problem(name(i) + " writes no file");
    for (const std::size_t parameter : files) {
      ShardOutput output{i, parameter, stage.values[parameter].text, result_.behind[i], "state"};
      if (output.path == "/dev/null") continue;  // nobody wants it
      if (output.path == "-" || is_special_file(output.path)) {
        problem("the output of " + name(i) + " is " + (output.path == "-" ? "standard output" : "'" + output.path + "', which is no file") +
                    ", beside which nothing can say what it is a shard of",
                "name a file");
        continue;
      }
      if (!output.state_of) {
        const FileForm form = joined_form(stage);
        output.form = form.name;
        if (!form.problem.empty())
          problem("what " + name(i) + " writes can't be put together of shards: " + form.problem, form.remedy.empty() ? without_shards : form.remedy);
      }
      result_.outputs.push_back(std::move(output));
    }
  }

  const Plan& plan_;
  ShardPlan result_;
};

}  // namespace

std::set<std::string> ShardPlan::alike(const Plan& plan) const {
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const sluice_stage_descriptor& d = *plan.stages[i].stage->entry.descriptor;
    if (whole[i] != 0 || (d.kind == SLUICE_REGROUP && (d.traits & SLUICE_TRAIT_PARTS) != 0)) names.insert(plan.stages[i].stage->name);
  }
  return names;
}

ShardPlan shard_plan(const Plan& plan) { return ShardPlanner(plan).run(); }

}  // namespace sluice
