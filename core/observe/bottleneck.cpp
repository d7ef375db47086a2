// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/bottleneck.hpp"

#include <algorithm>
#include <map>
#include <sluice/descriptor_check.hpp>

#include "observe/account.hpp"
#include "observe/quantity.hpp"

namespace sluice {
namespace {

// Below this many rows, "nearly all failed" says nothing about the input as a whole.
constexpr std::uint64_t fewest_rows_for_a_hint = 10;
constexpr double most_of_them = 0.5;

// Seconds of the stage's calls that never run beside each other. A sink renders on all threads, and writes on one.
double one_at_a_time(const StageStatistics& stage, const sluice_stage_descriptor& d) {
  if (d.kind == SLUICE_SOURCE || d.kind == SLUICE_REGROUP || is_one_call_at_a_time(d.traits)) return stage.busy_seconds;
  double seconds = 0;
  if (d.kind == SLUICE_SINK)
    for (const ImplementationStatistics& implementation : stage.implementations)
      if (implementation.device == "writer") seconds += implementation.seconds;
  return seconds;
}

std::string titled(const StageStatistics& stage) { return "stage '" + stage.name + "' (" + stage.id + ")"; }

// Above this part of the run, what is busy is what the rest waits for.
constexpr double hardly_ever_idle = 0.8;

struct Share {
  double work = 0, seconds = 0;  // of calls that are counted by implementation
  double busy = 0;               // all calls
};

bool is_device(const std::string& name, const RunStatistics& statistics) {
  return std::any_of(statistics.devices.begin(), statistics.devices.end(), [&](const DeviceStatistics& device) { return device.name == name; });
}

// What the run's own threads did of the stage.
Share on_threads(const StageStatistics& stage, const RunStatistics& statistics) {
  Share share;
  share.busy = stage.busy_seconds;
  for (const ImplementationStatistics& implementation : stage.implementations) {
    if (is_device(implementation.device, statistics)) {
      share.busy -= implementation.seconds;
    } else {
      share.work += implementation.work;
      share.seconds += implementation.seconds;
    }
  }
  return share;
}

// "" when no device was hardly ever idle.
std::string busy_device(const Plan& plan, const RunStatistics& statistics) {
  const auto busiest = std::max_element(statistics.devices.begin(), statistics.devices.end(),
                                        [](const DeviceStatistics& a, const DeviceStatistics& b) { return a.busy_seconds < b.busy_seconds; });
  if (busiest == statistics.devices.end() || busiest->busy_seconds <= hardly_ever_idle * statistics.elapsed_seconds) return "";
  const StageStatistics* most = nullptr;
  double seconds = 0, all = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    if (stage == nullptr) continue;
    for (const ImplementationStatistics& implementation : stage->implementations) {
      if (implementation.device != busiest->name) continue;
      all += implementation.seconds;
      if (implementation.seconds > seconds) most = stage, seconds = implementation.seconds;
    }
  }
  std::string text = busiest->name + " was busy " + percent_text(utilisation(*busiest, statistics)) + " of the run";
  if (most != nullptr) text += ", " + percent_text(seconds / all) + " of that with " + titled(*most);
  return text;
}

std::string meaning(const sluice_stage_descriptor& d, const std::string& reason) {
  for (std::size_t i = 0; i < d.reason_count; ++i)
    if (reason == d.reasons[i].code && d.reasons[i].doc != nullptr) return d.reasons[i].doc;
  return "";
}

bool are_most(std::uint64_t some, std::uint64_t all) {
  return all >= fewest_rows_for_a_hint && static_cast<double>(some) > most_of_them * static_cast<double>(all);
}
std::string share_text(std::uint64_t some, std::uint64_t all) { return percent_text(static_cast<double>(some) / static_cast<double>(all)); }

using Advice = std::map<std::string, std::string>;
std::string about(const Advice& advice, const std::string& reason) {
  const auto found = advice.find(reason);
  return found == advice.end() ? "" : found->second;
}

// Rows that failed, those left out on purpose not counted.
void add_hint_of_failures(const StageStatistics& stage, const ResolvedStage& resolved, const Advice& all, std::vector<std::string>& hints) {
  std::uint64_t failed = 0, most = 0;
  std::string commonest;
  for (const auto& [reason, rows] : stage.failed) {
    const auto on_purpose = stage.accounted.find(reason);
    const std::uint64_t bad = rows - (stage.role == "map" && on_purpose != stage.accounted.end() ? std::min(rows, on_purpose->second) : 0);
    failed += bad;
    if (bad > most) most = bad, commonest = reason;
  }
  const std::uint64_t rows = stage.role == "source" ? stage.rows_out : stage.rows_in;
  if (!are_most(failed, rows)) return;
  std::string text = share_text(failed, rows) + " of the " + (stage.row_type == "*" ? "row" : stage.row_type) + "s failed in " + titled(stage) +
                     ", most of them as " + commonest;
  const std::string why = meaning(*resolved.entry.descriptor, commonest);
  if (!why.empty()) text += " (" + why + ")";
  const std::string advice = !resolved.when_most_fail.empty() ? resolved.when_most_fail : about(all, commonest);
  hints.push_back(text + ": " + (advice.empty() ? "check that the inputs belong together and that the parameters fit them" : advice));
}

const std::string& noun_of(const StageStatistics& stage) { return stage.row_noun.empty() ? stage.row_type : stage.row_noun; }

// Inputs that never became rows, for a reason that says something about the input.
void add_hint_of_inputs(const StageStatistics& source, const Advice& known, std::vector<std::string>& hints) {
  std::uint64_t all = source.rows_out;
  for (const auto& [reason, inputs] : source.accounted) all += inputs;
  for (const auto& [reason, inputs] : source.accounted)
    if (const std::string advice = about(known, reason); !advice.empty() && are_most(inputs, all))
      hints.push_back(share_text(inputs, all) + " of the " + noun_of(source) + "s were left out in " + titled(source) + " as " + reason + ": " +
                      advice);
}

// What the pipeline has advice about: reads that mapped, say.
void add_hints_of_outcomes(const StageStatistics& stage, const Advice& all, std::vector<std::string>& hints) {
  for (const auto& [name, outcome] : stage.outcomes) {
    const std::string advice = about(all, name);
    if (advice.empty() || !are_most(outcome.total - outcome.good, outcome.total)) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    hints.push_back("only " + count_text(outcome.good) + " of " + count_text(outcome.total, noun_of(stage)) + " " + words + ": " + advice);
  }
}

}  // namespace

double utilisation(const DeviceStatistics& device, const RunStatistics& statistics) {
  return statistics.elapsed_seconds > 0 ? std::min(1.0, device.busy_seconds / statistics.elapsed_seconds) : 0.0;
}

std::string bottleneck(const Plan& plan, const RunStatistics& statistics) {
  if (std::string device = busy_device(plan, statistics); !device.empty()) return device;
  const StageStatistics* busiest = nullptr;
  const StageStatistics* held_up_by = nullptr;
  Share most;
  // A stage that can't run twice at once holds the others up when it is hardly ever idle, however many threads there are.
  double all_busy = 0, held_up_for = hardly_ever_idle * statistics.elapsed_seconds;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    if (stage == nullptr) continue;
    const Share share = on_threads(*stage, statistics);
    all_busy += share.busy;
    if (busiest == nullptr || share.busy > most.busy) busiest = stage, most = share;
    const double alone = one_at_a_time(*stage, *plan.stages[i].stage->entry.descriptor);
    if (statistics.threads > 1 && alone > held_up_for) held_up_by = stage, held_up_for = alone;
  }
  if (busiest == nullptr || all_busy <= 0) return "nothing was measured";
  if (held_up_by != nullptr)
    return titled(*held_up_by) + " runs one batch at a time and was busy " + percent_text(std::min(1.0, held_up_for / statistics.elapsed_seconds)) +
           " of the run: the others waited for it";
  std::string text = titled(*busiest) + " took " + percent_text(most.busy / all_busy) + " of the processing time";
  if (most.work > 0 && most.seconds > 0) text += ", at " + rate_text(most.work / most.seconds, busiest->work_unit) + " per thread";
  for (const DeviceStatistics& device : statistics.devices) text += "; " + device.name + " was busy " + percent_text(utilisation(device, statistics));
  return text;
}

std::vector<std::string> hints(const Plan& plan, const RunStatistics& statistics) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    if (const StageStatistics* stage = statistics_of(statistics, plan, i)) {
      const ResolvedStage& resolved = *plan.stages[i].stage;
      add_hint_of_failures(*stage, resolved, plan.pipeline.advice, result);
      if (stage->role == "source") add_hint_of_inputs(*stage, plan.pipeline.advice, result);
      add_hints_of_outcomes(*stage, plan.pipeline.advice, result);
    }
  return result;
}

}  // namespace sluice
