// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/stage_json.hpp"

#include <cstdio>

#include "config/parameter_value.hpp"
#include "machine/host_limits.hpp"
#include "run/run.hpp"
#include "shard/shard_plan.hpp"

namespace sluice::cli {
namespace {

std::string said(const char* text) { return text == nullptr ? "" : text; }

Json values_json(const ResolvedStage& stage) {
  Json values = Json::object();
  const sluice_stage_descriptor& d = *stage.entry.descriptor;
  for (std::size_t i = 0; i < d.parameter_count && i < stage.values.size(); ++i)
    if (stage.values[i].is_set != 0) values[d.parameters[i].name] = value_text(d.parameters[i], stage.values[i]);
  return values;
}

Json used_resources(const Plan& plan, const ResolvedStage& stage) {
  Json slots = Json::object();
  for (std::size_t slot = 0; slot < stage.resources.size(); ++slot)
    if (stage.resources[slot] >= 0)
      slots[stage.entry.descriptor->resources[slot].name] = plan.pipeline.resources[static_cast<std::size_t>(stage.resources[slot])].name;
  return slots;
}

Json planned_json(const Plan& plan, std::size_t index) {
  const PlannedStage& stage = plan.stages[index];
  const sluice_stage_descriptor& d = *stage.stage->entry.descriptor;
  Json inputs = Json::array(), feedback = Json::array(), devices = Json::array(), columns = Json::array(), not_made = Json::array();
  for (const std::size_t input : stage.stage->inputs) inputs.push_back(plan.stages[input].stage->name);
  for (const std::size_t sink : stage.stage->feedback) feedback.push_back(plan.stages[sink].stage->name);
  for (const std::uint32_t k : stage.implementations) devices.push_back(d.implementations[k].device);
  for (const PlannedColumn& column : stage.columns) columns.push_back({{"name", column.name}, {"type", column.type}});
  for (std::size_t c = 0; c < d.output.column_count && c < stage.wanted.size(); ++c)
    if (stage.wanted[c] == 0) not_made.push_back(d.output.columns[c].name);
  return {{"name", stage.stage->name},
          {"stage", d.id},
          {"kind", kind_name(d.kind)},
          {"row_type", stage.row_type},
          {"inputs", inputs},
          {"feedback", feedback},
          {"resources", used_resources(plan, *stage.stage)},
          {"parameters", values_json(*stage.stage)},
          {"devices", devices},
          {"columns", columns},
          {"not_made", not_made}};
}

}  // namespace

Json plan_json(const Plan& plan, const PlanSituation& situation) {
  Json resources = Json::array(), stages = Json::array(), devices = Json::array();
  for (const ResolvedStage& resource : plan.pipeline.resources)
    resources.push_back({{"name", resource.name},
                         {"stage", resource.entry.descriptor->id},
                         {"row_type", said(resource.entry.descriptor->output.row_type)},
                         {"resources", used_resources(plan, resource)},
                         {"parameters", values_json(resource)}});
  for (const std::size_t i : plan.order) stages.push_back(planned_json(plan, i));
  for (const PlanDevice& device : situation.devices) devices.push_back({{"name", device.name}, {"kind", device.kind}, {"model", device.model}});
  const ShardPlan shards = shard_plan(plan);
  Json problems = Json::array(), outputs = Json::array();
  for (const ShardProblem& problem : shards.problems) problems.push_back(problem.message);
  for (const ShardOutput& output : shards.outputs)
    outputs.push_back({{"stage", plan.stages[output.sink].stage->name},
                       {"path", output.path},
                       {"form", output.form},
                       {"state_of", output.state_of ? Json(plan.stages[*output.state_of].stage->name) : Json()}});
  const int threads = host_limits().usable_cpus();
  return {{"pipeline", plan.pipeline.name},
          {"file", plan.pipeline.file},
          {"parameters", plan.pipeline.parameters},
          {"threads", threads},
          {"memory_budget", default_memory_budget(threads)},
          {"bytes_per_work", plan.bytes_per_work},
          {"memory_least", situation.memory ? Json(situation.memory->bytes) : Json()},
          {"memory_least_beyond", situation.memory ? Json(situation.memory->beyond) : Json()},
          {"devices", devices},
          {"shards", {{"possible", shards.problems.empty()}, {"problems", problems}, {"outputs", outputs}}},
          {"resources", resources},
          {"stages", stages}};
}

void print(const Json& json) { std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str()); }

}  // namespace sluice::cli
