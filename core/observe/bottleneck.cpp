// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/bottleneck.hpp"

#include <algorithm>

#include "observe/account.hpp"
#include "observe/quantity.hpp"

namespace sluice {
namespace {

// Below this many rows, "nearly all failed" says nothing about the input as a whole.
constexpr std::uint64_t fewest_rows_for_a_hint = 10;
constexpr double most_of_them = 0.9;

bool runs_one_at_a_time(const sluice_stage_descriptor& d) {
  return d.kind == SLUICE_SOURCE || d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK ||
         (d.traits & (SLUICE_TRAIT_SERIAL | SLUICE_TRAIT_BLOCKING)) != 0;
}

std::string titled(const StageStatistics& stage) { return "stage '" + stage.name + "' (" + stage.id + ")"; }

std::string meaning(const sluice_stage_descriptor& d, const std::string& reason) {
  for (std::size_t i = 0; i < d.reason_count; ++i)
    if (reason == d.reasons[i].code && d.reasons[i].doc != nullptr) return d.reasons[i].doc;
  return "";
}

}  // namespace

std::string bottleneck(const Plan& plan, const RunStatistics& statistics) {
  const StageStatistics* busiest = nullptr;
  const StageStatistics* held_up_by = nullptr;
  double all_busy = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    if (stage == nullptr) continue;
    all_busy += stage->busy_seconds;
    if (busiest == nullptr || stage->busy_seconds > busiest->busy_seconds) busiest = stage;
    // A stage that can't run twice at once holds the others up when it is hardly ever idle, however many threads there are.
    const bool hardly_idle = stage->busy_seconds > 0.8 * statistics.elapsed_seconds;
    if (statistics.threads > 1 && hardly_idle && runs_one_at_a_time(*plan.stages[i].stage->entry.descriptor) &&
        (held_up_by == nullptr || stage->busy_seconds > held_up_by->busy_seconds))
      held_up_by = stage;
  }
  if (busiest == nullptr || all_busy <= 0) return "nothing was measured";
  if (held_up_by != nullptr)
    return titled(*held_up_by) + " runs one batch at a time and was busy " +
           percent_text(std::min(1.0, held_up_by->busy_seconds / statistics.elapsed_seconds)) + " of the run: the others waited for it";
  double work = 0, seconds = 0;
  for (const ImplementationStatistics& implementation : busiest->implementations) {
    work += implementation.work;
    seconds += implementation.seconds;
  }
  std::string text = titled(*busiest) + " took " + percent_text(busiest->busy_seconds / all_busy) + " of the processing time";
  if (seconds > 0 && work > 0) text += ", at " + rate_text(work / seconds, busiest->work_unit) + " per thread";
  return text;
}

std::vector<std::string> hints(const Plan& plan, const RunStatistics& statistics) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    if (stage == nullptr || stage->failed.empty()) continue;
    const std::uint64_t rows = stage->role == "source" ? stage->rows_out : stage->rows_in;
    std::uint64_t failed = 0;
    for (const auto& [reason, count] : stage->failed) failed += count;
    if (rows < fewest_rows_for_a_hint || static_cast<double>(failed) <= most_of_them * static_cast<double>(rows)) continue;
    const auto commonest =
        std::max_element(stage->failed.begin(), stage->failed.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const ResolvedStage& resolved = *plan.stages[i].stage;
    std::string text = percent_text(static_cast<double>(failed) / static_cast<double>(rows)) + " of the " + stage->row_type + "s failed in " +
                       titled(*stage) + ", most of them as " + commonest->first;
    const std::string why = meaning(*resolved.entry.descriptor, commonest->first);
    if (!why.empty()) text += " (" + why + ")";
    text +=
        ": " + (resolved.when_most_fail.empty() ? "check that the inputs belong together and that the parameters fit them" : resolved.when_most_fail);
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace sluice
