// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/scheduling_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sluice/descriptor_check.hpp>

#include "observe/account.hpp"
#include "observe/bottleneck.hpp"
#include "observe/quantity.hpp"

namespace sluice {
namespace {

std::string small_duration(double seconds) {
  return seconds < 1e-6   ? fmt::format("{:.3g} ns", seconds * 1e9)
         : seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6)
         : seconds < 1    ? fmt::format("{:.3g} ms", seconds * 1e3)
                          : duration_text(seconds);
}

std::string cost_text(const PlacementStatistics& p, const std::string& unit) {
  std::string text;
  const auto add = [&](double seconds, const std::string& of) {
    if (seconds > 0) text += (text.empty() ? "" : " + ") + small_duration(seconds) + of;
  };
  add(p.constant, "");
  add(p.per_work, " per " + unit);
  add(p.per_largest_row, " per " + unit + " of the largest row");
  return text;
}

std::string lane_text(const PlacementStatistics& p, double all_work, const std::string& unit) {
  std::string text = p.lane + " did " + percent_text(all_work > 0 ? p.work / all_work : 0) + " of the work";
  std::vector<std::string> parts;
  if (p.whole_batches > 0) parts.push_back(count_text(p.whole_batches) + (p.whole_batches == 1 ? " whole batch" : " whole batches"));
  if (p.parts > 0) parts.push_back(count_text(p.parts, "part") + " of batches");
  if (p.gathered_calls > 0) parts.push_back(count_text(p.gathered_calls, "call") + " that took several batches");
  if (p.tail_rows > 0) parts.push_back(count_text(p.tail_rows, "row") + " taken out of a device's batches");
  if (p.explored > 0) parts.push_back(count_text(p.explored, "call") + " to learn the speed");
  if (p.failed > 0) parts.push_back(count_text(p.failed, "call") + " failed");
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? " (" : ", ") + parts[i];
  if (!parts.empty()) text += ")";
  const std::string cost = cost_text(p, unit);
  return cost.empty() ? text : text + ", where a call takes " + cost;
}

std::string stage_sentence(const Plan& plan, const RunStatistics& s, std::size_t index) {
  std::string text;
  double all_work = 0;
  for (const PlacementStatistics& p : s.scheduler.placements)
    if (p.stage == index) all_work += p.work;
  const StageStatistics* stage = statistics_of(s, plan, index);
  for (const PlacementStatistics& p : s.scheduler.placements)
    if (p.stage == index) text += (text.empty() ? "" : "; ") + lane_text(p, all_work, stage == nullptr ? "unit of work" : stage->work_unit);
  if (text.empty()) return "";
  const StageDecisions& decisions = s.scheduler.stages[index];
  std::string head =
      "Stage '" + plan.stages[index].stage->name + "', " + count_text(decisions.batches) + (decisions.batches == 1 ? " batch" : " batches");
  if (decisions.divided > 0) head += ", " + count_text(decisions.divided) + " of them divided";
  return head + ": " + text + ".";
}

std::string device_sentence(const LaneStatistics& lane) {
  std::string text = "Device " + lane.name + ": used from " + duration_text(lane.opened_after_seconds) + " on, " + count_text(lane.calls, "call");
  if (lane.busy_seconds > 0) text += fmt::format(", {:.1f} at once while it was busy", lane.call_seconds / lane.busy_seconds);
  if (lane.retired) text += "; given up: " + lane.retired_because;
  return text + ".";
}

bool runs_alone(const sluice_stage_descriptor& d) { return d.kind == SLUICE_REGROUP || (d.kind == SLUICE_MAP && is_one_call_at_a_time(d.traits)); }

}  // namespace

std::vector<std::string> scheduling_sentences(const Plan& plan, const RunStatistics& statistics) {
  std::vector<std::string> sentences;
  for (const LaneStatistics& lane : statistics.scheduler.lanes)
    if (lane.kind != "cpu") sentences.push_back(device_sentence(lane));
  for (std::size_t i = 0; i < std::min(plan.stages.size(), statistics.scheduler.stages.size()); ++i)
    if (std::string sentence = stage_sentence(plan, statistics, i); !sentence.empty()) sentences.push_back(std::move(sentence));
  for (const std::string& decision : statistics.decisions)
    if (!decision.starts_with("stage '") && decision.find(" was retired: ") == std::string::npos) sentences.push_back(decision);  // not said above
  if (sentences.empty()) sentences.emplace_back("There was nothing to choose: no device took part, and every stage ran on the CPU.");
  return sentences;
}

std::vector<Waiting> waiting_of(const Plan& plan, const RunStatistics& s) {
  std::vector<Waiting> result;
  if (!(s.elapsed_seconds > 0)) return result;
  const auto share = [&](double seconds) { return std::clamp(seconds / s.elapsed_seconds, 0.0, 1.0); };
  const std::string threads = std::to_string(s.threads) + (s.threads == 1 ? " thread" : " threads");
  result.push_back(
      {threads + " of the CPU", share(s.cpu_seconds / std::max(s.threads, 1)), 0, "files, devices, one another, or processors that others used"});
  result.back().waited = 1 - result.back().busy;
  for (const DeviceStatistics& device : s.devices) result.push_back({device.name, utilisation(device, s), 1 - utilisation(device, s), "batches"});
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(s, plan, i);
    if (stage == nullptr) continue;
    const sluice_stage_descriptor& d = *plan.stages[i].stage->entry.descriptor;
    if (d.kind == SLUICE_SOURCE)
      result.push_back(
          {stage->name + " (reading)", share(stage->busy_seconds), share(stage->wait_seconds), "room in memory: the stages behind were slower"});
    if (runs_alone(d))
      result.push_back({stage->name + " (one batch at a time)", share(stage->busy_seconds), share(stage->wait_seconds),
                        stage->wait_seconds > 0 ? "room in memory: the stages behind were slower" : ""});
    for (const ImplementationStatistics& implementation : stage->implementations)
      if (implementation.device == "writer") result.push_back({stage->name + " (writing)", share(implementation.seconds), 0, ""});
  }
  return result;
}

}  // namespace sluice
