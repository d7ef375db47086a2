// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/report.hpp"

#include <cmath>

#include "machine/host_limits.hpp"
#include "machine/machine.hpp"
#include "observe/bottleneck.hpp"
#include "observe/report_tree.hpp"
#include "observe/result_figures.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const char* chars) { return chars == nullptr ? "" : chars; }

// Six significant digits: nobody measures more, and reports of equal runs stay comparable by eye.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json versions(const Registry& registry, const ReportContext& context) {
  Json plugins = Json::array();
  for (const LoadedPlugin& plugin : registry.plugins())
    plugins.push_back({{"name", text(plugin.info->name)},
                       {"version", text(plugin.info->version)},
                       {"build_id", text(plugin.info->build_id)},
                       {"file", plugin.file.string()}});
  return {{"sluice", context.version}, {"abi", std::to_string(SLUICE_ABI_MAJOR) + "." + std::to_string(SLUICE_ABI_MINOR)}, {"plugins", plugins}};
}

Json machine() {
  const Machine m = describe_machine();
  const HostLimits limits = host_limits();
  return {{"processor", m.processor},
          {"instruction_sets", m.features},
          {"operating_system", m.operating_system},
          {"usable_cpus", limits.usable_cpus()},
          {"usable_memory_bytes", limits.usable_memory()}};
}

// What a stage says that its reason means; "" if it does not.
std::string meaning_of(const Loss& loss, const Plan& plan) {
  for (const ResolvedStage& stage : plan.pipeline.stages) {
    if (stage.name != loss.stage) continue;
    const sluice_stage_descriptor& d = *stage.entry.descriptor;
    for (std::size_t i = 0; i < d.reason_count; ++i)
      if (loss.reason == d.reasons[i].code) return text(d.reasons[i].doc);
  }
  return "";
}

Json account(const PathAccount& path, const Plan& plan) {
  Json losses = Json::array();
  for (const Loss& loss : path.losses)
    losses.push_back({{"stage", loss.stage}, {"reason", loss.reason}, {"rows", loss.rows}, {"meaning", meaning_of(loss, plan)}});
  Json outcomes = Json::object();
  for (const auto& [name, outcome] : path.outcomes) outcomes[name] = {{"good", outcome.good}, {"total", outcome.total}};
  return {{"source", path.source},     {"end", path.end},       {"row_type", path.row_type}, {"read", path.read},
          {"filtered", path.filtered}, {"failed", path.failed}, {"written", path.written},   {"unfinished", path.unfinished},
          {"adds_up", path.adds_up},   {"losses", losses},      {"called", path.noun},       {"outcomes", outcomes}};
}

Json implementations(const StageStatistics& stage) {
  double all_work = 0;
  for (const ImplementationStatistics& i : stage.implementations) all_work += i.work;
  Json list = Json::array();
  for (const ImplementationStatistics& i : stage.implementations)
    list.push_back({{"device", i.device},
                    {"batches", i.batches},
                    {"rows", i.rows},
                    {"work", i.work},
                    {"share_of_work", all_work > 0 ? rounded(i.work / all_work) : 0.0},
                    {"seconds", rounded(i.seconds)},
                    {"work_per_second", rounded(i.rate)},
                    {"p50_seconds", rounded(i.p50_seconds)},
                    {"p95_seconds", rounded(i.p95_seconds)},
                    {"retries", i.retries},
                    {"bytes_moved", i.bytes_moved}});
  return list;
}

// Five classes of 2 % are one of the report: a tenth of the length.
Json lengths(const LengthStatistics& s) {
  constexpr double step = 1.1;
  Json histogram = Json::array();
  double begins = 0, ends = 0;
  std::uint64_t rows = 0;
  const auto put = [&] {
    if (rows > 0) histogram.push_back({rounded(begins), rounded(ends), rows});
  };
  for (const auto& [length, count] : s.classes) {
    if (length >= ends || rows == 0) {
      put();
      rows = 0;
      const double power = length > 0 ? std::floor(std::log(length) / std::log(step)) : 0;
      begins = length > 0 ? std::pow(step, power) : 0;
      ends = length > 0 ? std::pow(step, power + 1) : 1;
    }
    rows += count;
  }
  put();
  return {{"unit", s.unit},        {"rows", s.rows},
          {"total", s.total},      {"mean", s.rows > 0 ? rounded(static_cast<double>(s.total) / static_cast<double>(s.rows)) : 0.0},
          {"p50", rounded(s.p50)}, {"n50", rounded(s.n50)},
          {"maximum", s.maximum},  {"histogram", histogram}};
}

Json digest(const FileDigest& file) {
  return {{"use", file.use == FileUse::reads ? "input" : "output"},
          {"what", file.what},
          {"path", file.path},
          {"bytes", file.bytes},
          {"xxh3", file.xxh3},
          {"xxh3_of", file.xxh3.empty() ? ""
                      : file.is_whole   ? "whole"
                                        : "first and last MiB"}};
}

Json stage_entry(const StageStatistics& stage) {
  Json examples = Json::array();
  for (const FailedRow& row : stage.examples) examples.push_back({{"row", row.row}, {"reason", row.reason}});
  Json quantities = Json::object();
  for (const auto& [name, values] : stage.quantities)
    quantities[name] = {{"count", values.count}, {"p50", values.p50}, {"p99", values.p99}, {"maximum", values.maximum}};
  Json entry = {{"name", stage.name},
                {"id", stage.id},
                {"role", stage.role},
                {"row_type", stage.row_type},
                {"batches", stage.batches},
                {"rows_in", stage.rows_in},
                {"rows_out", stage.rows_out},
                {"failed", stage.failed},
                {"accounted", stage.accounted},
                {"examples", examples},
                {"work_unit", stage.work_unit},
                {"busy_seconds", rounded(stage.busy_seconds)},
                {"wait_seconds", rounded(stage.wait_seconds)},
                {"beyond_memory", {{"bytes", stage.beyond_memory}, {"rows", stage.beyond_memory_rows}}},
                {"output_bytes", stage.output_bytes},
                {"counters", plain_counters(stage)},
                {"quantities", quantities},
                {"batches_with_deadline", stage.batches_with_deadline},
                {"late_batches", stage.late_batches},
                {"implementations", implementations(stage)}};
  if (const auto figures = result_figures(stage); !figures.empty()) entry["results"] = figures_tree(figures);
  if (stage.lengths.rows > 0) entry["row_lengths"] = lengths(stage.lengths);
  if (!stage.position.empty()) entry["position"] = stage.position;
  return entry;
}

Json device(const DeviceStatistics& d, const RunStatistics& s) {
  Json entry = {{"name", d.name},
                {"model", d.model},
                {"streams", d.streams},
                {"calls", d.calls},
                {"busy_seconds", rounded(d.busy_seconds)},
                {"utilisation", rounded(utilisation(d, s))},
                {"memory_limit_bytes", d.memory_limit},
                {"device_peak_bytes", d.memory_peak},
                {"copies", d.copies},
                {"bytes_to_device", d.bytes_to_device},
                {"bytes_to_host", d.bytes_to_host},
                {"copy_seconds", rounded(d.copy_seconds)},
                {"faults", {{"memory", d.faults.memory}, {"kernel", d.faults.kernel}, {"lost", d.faults.lost}}}};
  for (const LaneStatistics& lane : s.scheduler.lanes)
    if (lane.name == d.name) {
      entry["opened_after_seconds"] = rounded(lane.opened_after_seconds);
      if (lane.retired) entry["retired_because"] = lane.retired_because;
    }
  return entry;
}

// How the batches of the stages that had a choice were dealt out.
Json placements(const Plan& plan, const SchedulerStatistics& scheduler) {
  Json stages = Json::array();
  for (std::size_t i = 0; i < scheduler.stages.size() && i < plan.stages.size(); ++i) {
    Json lanes = Json::array();
    for (const PlacementStatistics& p : scheduler.placements)
      if (p.stage == i)
        lanes.push_back({{"device", p.lane},
                         {"whole_batches", p.whole_batches},
                         {"parts", p.parts},
                         {"gathered_calls", p.gathered_calls},
                         {"tail_rows", p.tail_rows},
                         {"explored", p.explored},
                         {"failed", p.failed},
                         {"rows", p.rows},
                         {"work", p.work},
                         {"call_seconds", p.seconds},
                         {"seconds_per_call", p.constant},
                         {"seconds_per_work", p.per_work},
                         {"seconds_per_largest_row", p.per_largest_row},
                         {"sharing", p.sharing}});
    if (lanes.empty()) continue;
    stages.push_back({{"stage", plan.stages[i].stage->name},
                      {"batches", scheduler.stages[i].batches},
                      {"divided", scheduler.stages[i].divided},
                      {"devices", lanes}});
  }
  return stages;
}

}  // namespace

const char* state_name(RunState state) {
  switch (state) {
    case RunState::finished:
      return "finished";
    case RunState::failed:
      return "failed";
    case RunState::interrupted:
      return "interrupted";
  }
  return "unknown";
}

Ending ending_of(const RunResult& result) {
  if (result.state == RunState::finished) return Ending::finished;
  return result.state == RunState::interrupted && !result.statistics.outputs.empty() ? Ending::partial : Ending::nothing_kept;
}

nlohmann::ordered_json report_tree(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context) {
  const RunStatistics& s = result.statistics;
  Json report = {{"report_version", 1},
                 {"state", state_name(result.state)},
                 {"exit_code", context.exit_code},
                 {"pipeline", {{"name", plan.pipeline.name}, {"file", plan.pipeline.file}}},
                 {"parameters", s.parameters},
                 {"command_line", context.command_line},
                 {"versions", versions(registry, context)},
                 {"machine", machine()}};
  if (result.state == RunState::failed)
    report["error"] = {{"stage", result.stage}, {"message", result.message}, {"remedy", result.remedy}, {"status", result.status}};
  report["time"] = {{"elapsed_seconds", rounded(s.elapsed_seconds)}, {"cpu_seconds", rounded(s.cpu_seconds)}, {"threads", s.threads}};
  report["memory"] = {{"budget_bytes", s.memory_budget}, {"peak_bytes", s.memory_peak}, {"resident_peak_bytes", s.resident_peak}};
  report["checkpoints"] = {{"kept", s.checkpoints.kept}, {"seconds", rounded(s.checkpoints.seconds)}, {"goes_on", s.checkpoints.goes_on}};
  report["account"] = Json::array();
  for (const PathAccount& path : account_of(plan, s, ending_of(result))) report["account"].push_back(account(path, plan));
  report["bottleneck"] = bottleneck(plan, s);
  report["hints"] = hints(plan, s);
  report["stages"] = Json::array();
  for (const StageStatistics& stage : s.stages) report["stages"].push_back(stage_entry(stage));
  report["devices"] = Json::array();
  for (const DeviceStatistics& d : s.devices) report["devices"].push_back(device(d, s));
  report["placements"] = placements(plan, s.scheduler);
  report["outputs"] = s.outputs;
  report["files"] = Json::array();
  for (const FileDigest& file : context.files) report["files"].push_back(digest(file));
  report["decisions"] = s.decisions;
  return report;
}

std::string report_json(const RunResult& result, const Plan& plan, const Registry& registry, const ReportContext& context) {
  return report_tree(result, plan, registry, context).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice
