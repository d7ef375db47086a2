// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cli/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/parameter_value.hpp"
#include "machine/host_limits.hpp"
#include "observe/quantity.hpp"
#include "plugin/registry.hpp"
#include "run/run.hpp"
#include "sched/memory_budget.hpp"
#include "shard/shard_plan.hpp"

namespace sluice::cli {
namespace {

const sluice_stage_descriptor& descriptor(const PlannedStage& stage) { return *stage.stage->entry.descriptor; }

bool needs(const PlannedStage& stage, const std::string& column) {
  return std::any_of(stage.needs.begin(), stage.needs.end(),
                     [&](const sluice_column_spec& need) { return column == need.name || std::string_view(need.name) == "*"; });
}

bool gives(const sluice_stage_descriptor& d, const std::string& column) {
  for (std::size_t c = 0; c < d.output.column_count; ++c)
    if (column == d.output.columns[c].name) return true;
  return false;
}

// Names of the stages behind `index` that read the column, in running order.
std::vector<std::string> readers(const Plan& plan, std::size_t index, const std::string& column) {
  std::vector<std::uint8_t> reached(plan.stages.size(), 0);
  reached[index] = 1;
  std::vector<std::string> names;
  for (const std::size_t i : plan.order) {
    if (reached[i] == 0) continue;
    if (i != index && needs(plan.stages[i], column)) names.push_back(plan.stages[i].stage->name);
    if (i == index || descriptor(plan.stages[i]).kind == SLUICE_MAP)
      for (const std::size_t consumer : plan.stages[i].consumers) reached[consumer] = 1;
  }
  return names;
}

std::string first_device(const PlannedStage& stage) {
  return stage.implementations.empty() ? "cpu" : descriptor(stage).implementations[stage.implementations.front()].device;
}

// "host", or "cuda, copied to the host for 'table'": where a column is made, and who makes it move.
std::string residency(const Plan& plan, std::size_t maker, const std::string& column) {
  const std::string home = first_device(plan.stages[maker]);
  std::string text = home == "cpu" ? "host" : home;
  for (const PlannedStage& stage : plan.stages) {
    const auto list = readers(plan, maker, column);
    if (std::find(list.begin(), list.end(), stage.stage->name) == list.end()) continue;
    const std::string there = first_device(stage);
    if (there != home) text += ", copied to " + (there == "cpu" ? std::string("the host") : there) + " for '" + stage.stage->name + "'";
  }
  return text;
}

std::string implementation_text(const PlannedStage& stage, const std::string& run_device) {
  const sluice_stage_descriptor& d = descriptor(stage);
  std::string names;
  for (const std::uint32_t k : stage.implementations) names += (names.empty() ? "" : ", ") + std::string(d.implementations[k].device);
  const std::string wish = stage.stage->device.empty() ? "--device " + run_device : "device = \"" + stage.stage->device + "\" in the file";
  if (d.implementation_count == 0) return "host (only writes)";
  if (d.implementation_count == 1) return names + " (the only one that the stage offers)";
  if (stage.implementations.size() == 1 && (d.traits & SLUICE_TRAIT_INEXACT) != 0)
    return names + " (implementations are not bit-identical: pinned for the whole run)";
  if (stage.implementations.size() == 1) return names + " (the only one that this machine and " + wish + " leave)";
  if ((d.traits & SLUICE_TRAIT_ORDERED) != 0) return names + " (" + wish + "; keeps state: all on the first device, else on the CPU)";
  return names + " (" + wish + "; each batch goes where it is estimated to finish first)";
}

// What one unit of the source's work means for a stage is known only while it runs, unless both count the same.
std::string source_unit(const Plan& plan) { return plan.order.empty() ? "unit" : descriptor(plan.stages[plan.order.front()]).work_unit; }

double first_batch_work(const Plan& plan) {
  const int threads = host_limits().usable_cpus();
  return MemoryBudget(default_memory_budget(threads), plan.bytes_per_work, 2 * threads + 2).batch_work(threads);
}

// "10.2 ms a call + 3.1 us per 1,000 bases"
std::string cost_text(const StageCost& cost, const std::string& unit) {
  std::string text;
  if (cost.seconds_per_call > 0) text = fmt::format("{:.3g} ms a call", cost.seconds_per_call * 1e3);
  if (cost.seconds_per_work > 0) text += fmt::format("{}{:.3g} us per 1,000 {}s", text.empty() ? "" : " + ", cost.seconds_per_work * 1e9, unit);
  if (cost.seconds_per_largest_row > 0)
    text += fmt::format("{}{:.3g} us per 1,000 {}s of the largest row", text.empty() ? "" : " + ", cost.seconds_per_largest_row * 1e9, unit);
  return text;
}

// Where the first batches of a stage that has a choice go, and why.
std::string first_try_text(const Plan& plan, const PlannedStage& stage, const PlanSituation& situation) {
  const sluice_stage_descriptor& d = descriptor(stage);
  const std::string unit = d.work_unit == nullptr ? "row" : d.work_unit;
  const double work = first_batch_work(plan);
  std::string known, unknown, best;
  double best_seconds = 0;
  for (const std::uint32_t k : stage.implementations) {
    const std::string kind = d.implementations[k].device;
    const auto device = std::find_if(situation.devices.begin(), situation.devices.end(), [&](const PlanDevice& one) { return one.kind == kind; });
    const std::string model = device == situation.devices.end() ? "" : device->model;
    const StageCost* cost = situation.profile == nullptr ? nullptr : situation.profile->find(d.id, kind, model);
    if (cost == nullptr) {
      unknown += (unknown.empty() ? "" : ", ") + kind;
      continue;
    }
    known += (known.empty() ? "" : "; ") + (model.empty() ? kind : model) + ": " + cost_text(*cost, unit);
    // The largest row of a batch is not known yet: a tenth of it stands for it.
    const double seconds = cost->predict(work, work / 10);
    if (best.empty() || seconds < best_seconds) best = kind, best_seconds = seconds;
  }
  if (situation.profile == nullptr) return "no machine profile: each of them gets a small batch first (`sluice bench --calibrate` makes one)";
  if (known.empty()) return "the machine profile does not know this stage: each of them gets a small batch first";
  if (!unknown.empty()) return unknown + ": not in the machine profile, so a small batch finds out; " + known;
  return best + " (machine profile of " + situation.profile->date + ": " + known +
         (unit == source_unit(plan) ? fmt::format("; that is {:.3g} ms for a batch)", best_seconds * 1e3) : ")");
}

std::string input_names(const Plan& plan, const PlannedStage& stage) {
  std::string names;
  for (const std::size_t input : stage.stage->inputs) names += (names.empty() ? "" : ", ") + plan.stages[input].stage->name;
  return names;
}

std::string parameter_text(const ResolvedStage& stage) {
  std::string text;
  for (std::size_t i = 0; i < stage.values.size(); ++i) {
    const sluice_parameter& parameter = stage.entry.descriptor->parameters[i];
    if (stage.values[i].is_set == 0) continue;
    const char* quote = parameter.type == SLUICE_STRING || parameter.type == SLUICE_PATH ? "\"" : "";
    text += (text.empty() ? "" : ", ") + std::string(parameter.name) + " = " + quote + value_text(parameter, stage.values[i]) + quote;
  }
  return text;
}

void describe_stage(const Plan& plan, std::size_t index, const PlanSituation& situation, std::string& text) {
  const PlannedStage& stage = plan.stages[index];
  const sluice_stage_descriptor& d = descriptor(stage);
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{}: {} ({}{})\n", stage.stage->name, d.id, kind_name(d.kind),
                 stage.row_type.empty() ? "" : ", gives '" + stage.row_type + "' rows");
  if (const std::string names = input_names(plan, stage); !names.empty()) fmt::format_to(out, "  reads from    {}\n", names);
  for (const std::size_t sink : stage.stage->feedback) {
    std::string columns;
    const sluice_port port = d.feedback;
    for (std::size_t c = 0; c < port.column_count; ++c) columns += (columns.empty() ? "" : ", ") + std::string(port.columns[c].name);
    fmt::format_to(out, "  feedback from {}: {}\n", plan.stages[sink].stage->name, columns);
  }
  for (std::size_t slot = 0; slot < stage.stage->resources.size(); ++slot)
    if (stage.stage->resources[slot] >= 0)
      fmt::format_to(out, "  resource      {} = {}\n", d.resources[slot].name,
                     plan.pipeline.resources[static_cast<std::size_t>(stage.stage->resources[slot])].name);
  if (const std::string values = parameter_text(*stage.stage); !values.empty()) fmt::format_to(out, "  parameters    {}\n", values);
  fmt::format_to(out, "  runs on       {}\n", implementation_text(stage, situation.device));
  if (stage.implementations.size() > 1) fmt::format_to(out, "  tries first   {}\n", first_try_text(plan, stage, situation));
  for (std::size_t c = 0; c < d.output.column_count; ++c) {
    const sluice_column_spec& column = d.output.columns[c];
    if (c < stage.wanted.size() && stage.wanted[c] == 0) {
      fmt::format_to(out, "  does not make {} {} (nobody uses it)\n", column.name, column.type);
      continue;
    }
    const auto users = readers(plan, index, column.name);
    fmt::format_to(out, "  makes         {} {} on {}; {}\n", column.name, column.type, residency(plan, index, column.name),
                   users.empty() ? "nobody uses it: freed at once" : "last used by '" + users.back() + "'");
  }
  std::string travelling;
  for (const PlannedColumn& column : stage.columns)
    if (!gives(d, column.name)) travelling += (travelling.empty() ? "" : ", ") + column.name;
  if (!travelling.empty()) fmt::format_to(out, "  passes on     {}\n", travelling);
}

// "shards: yes, ..." or why not.
std::string shards_text(const Plan& plan) {
  const ShardPlan shards = shard_plan(plan);
  std::string text;
  for (const ShardProblem& problem : shards.problems) text += "shards: no: " + problem.message + "\n";
  if (!text.empty()) return text;
  text = "shards: --shard I/N runs a part of the input; `sluice merge` puts together";
  for (const ShardOutput& output : shards.outputs)
    text += std::string(&output == &shards.outputs.front() ? " " : ", ") + "'" + output.path + "' (" +
            (output.state_of ? "of states of '" + plan.stages[*output.state_of].stage->name + "'" : output.form) + ")";
  return text + "\n";
}

}  // namespace

std::string plan_text(const Plan& plan, const PlanSituation& situation) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "pipeline {} ({})\n", plan.pipeline.name, plan.pipeline.file);
  for (const auto& [name, value] : plan.pipeline.parameters) fmt::format_to(out, "  {} = {}\n", name, value.empty() ? "(not given)" : value);
  const int threads = host_limits().usable_cpus();
  const std::string work_unit = source_unit(plan);
  fmt::format_to(
      out,
      "memory: a budget of {} for {} threads; first guess {:.0f} bytes of columns per {} in flight, corrected by what batches turn out to need\n",
      bytes_text(static_cast<double>(default_memory_budget(threads))), threads, plan.bytes_per_work, work_unit);
  if (const std::optional<MemoryNeed>& least = situation.memory)
    fmt::format_to(out, "memory at least (--threads 1 --memory 64MiB): {}{}{}; this machine has {}\n", bytes_text(least->bytes),
                   least->beyond.empty() ? "" : ", and ", least->beyond, bytes_text(static_cast<double>(host_limits().usable_memory())));
  fmt::format_to(out, "batches: about {:.0f} {}s each at first\n", first_batch_work(plan), work_unit);
  for (const PlanDevice& one : situation.devices) fmt::format_to(out, "device: {} {}\n", one.name, one.model);
  text += shards_text(plan);
  for (const ResolvedStage& resource : plan.pipeline.resources) {
    fmt::format_to(out, "\n{}: {} (resource of '{}' rows)\n", resource.name, resource.entry.descriptor->id,
                   resource.entry.descriptor->output.row_type);
    for (std::size_t slot = 0; slot < resource.resources.size(); ++slot)
      if (resource.resources[slot] >= 0)
        fmt::format_to(out, "  resource      {} = {}\n", resource.entry.descriptor->resources[slot].name,
                       plan.pipeline.resources[static_cast<std::size_t>(resource.resources[slot])].name);
    if (const std::string values = parameter_text(resource); !values.empty()) fmt::format_to(out, "  parameters    {}\n", values);
  }
  for (const std::size_t i : plan.order) describe_stage(plan, i, situation, text);
  return text;
}

}  // namespace sluice::cli
