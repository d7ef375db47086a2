// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "observe/account.hpp"

#include <algorithm>

namespace sluice {
namespace {

std::uint64_t sum(const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t result = 0;
  for (const auto& [reason, count] : counts) result += count;
  return result;
}

bool is_end(const Plan& plan, std::size_t index) {
  const sluice_stage_kind kind = plan.stages[index].stage->entry.descriptor->kind;
  return kind == SLUICE_SINK || kind == SLUICE_REGROUP;
}

// The stages between `end` and its source, both included. A regroup stage before `end` starts the stream, as a source does.
void collect_path(const Plan& plan, std::size_t index, bool is_first, std::vector<std::uint8_t>& seen, bool& joins) {
  if (seen[index] != 0) return;
  seen[index] = 1;
  if (!is_first && is_end(plan, index)) return;
  const auto& inputs = plan.stages[index].stage->inputs;
  joins = joins || inputs.size() > 1;
  for (const std::size_t input : inputs) collect_path(plan, input, false, seen, joins);
}

void add_losses(const StageStatistics& stage, const std::map<std::string, std::uint64_t>& counts, std::vector<Loss>& losses) {
  for (const auto& [reason, rows] : counts)
    if (rows > 0) losses.push_back({stage.name, reason, rows});
}

PathAccount path_to(const Plan& plan, const RunStatistics& statistics, std::size_t end, Ending ending) {
  PathAccount account;
  std::vector<std::uint8_t> on_path(plan.stages.size(), 0);
  bool joins = false;
  collect_path(plan, end, true, on_path, joins);
  std::uint64_t made = 0, failures = 0, by_choice = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StageStatistics* stage = statistics_of(statistics, plan, i);
    if (on_path[i] == 0 || stage == nullptr) continue;
    const bool starts_stream = i != end && (plan.stages[i].stage->inputs.empty() || is_end(plan, i));
    if (starts_stream) {
      account.source = stage->name;
      account.row_type = plan.stages[i].row_type;
      account.noun = stage->row_noun.empty() ? account.row_type : stage->row_noun;
      made += stage->rows_out;
      if (stage->role == "source") {
        account.filtered += sum(stage->accounted);
        add_losses(*stage, stage->accounted, account.losses);
        failures += sum(stage->failed);
        add_losses(*stage, stage->failed, account.losses);
      }
    } else {
      failures += sum(stage->failed);
      add_losses(*stage, stage->failed, account.losses);
      if (stage->role == "map") by_choice += sum(stage->accounted);
    }
  }
  const StageStatistics* last = statistics_of(statistics, plan, end);
  account.end = last->name;
  account.ends_in_sink = last->role == "sink";
  if (ending != Ending::nothing_kept) account.outcomes = last->outcomes;
  account.read = made + account.filtered;
  // A regroup stage gives rows of another type: what it took are the rows that arrived and had not failed before.
  const std::uint64_t arrived = last->role == "sink" ? last->rows_out : last->rows_in - std::min(last->rows_in, failures);
  account.written = std::min(arrived, made);
  // Where branches join, a row that failed in both was counted twice.
  account.failed = joins && ending == Ending::finished ? made - account.written : std::min(failures, made - account.written);
  if (ending == Ending::nothing_kept) account.written = 0;  // the outputs were removed
  account.unfinished = made - account.written - account.failed;
  const bool agrees = arrived <= made && (joins ? failures >= account.failed : failures == account.failed);
  account.adds_up = agrees && (ending != Ending::finished || account.unfinished == 0);
  // Rows that a map leaves out on purpose fail there, so that later stages skip them, but are not bad.
  by_choice = std::min(by_choice, account.failed);
  account.failed -= by_choice;
  account.filtered += by_choice;
  std::stable_sort(account.losses.begin(), account.losses.end(), [](const Loss& a, const Loss& b) { return a.rows > b.rows; });
  return account;
}

}  // namespace

bool PathAccount::is_empty() const {
  if (!ends_in_sink) return false;
  const bool none_good = !outcomes.empty() && std::all_of(outcomes.begin(), outcomes.end(), [](const auto& one) { return one.second.good == 0; });
  return written == 0 || none_good;
}

const StageStatistics* statistics_of(const RunStatistics& statistics, const Plan& plan, std::size_t index) {
  const std::size_t at = plan.pipeline.resources.size() + index;
  return at < statistics.stages.size() ? &statistics.stages[at] : nullptr;
}

std::vector<PathAccount> account_of(const Plan& plan, const RunStatistics& statistics, Ending ending) {
  std::vector<PathAccount> accounts;
  for (std::size_t i = 0; i < plan.stages.size(); ++i)
    if (is_end(plan, i) && statistics_of(statistics, plan, i) != nullptr) accounts.push_back(path_to(plan, statistics, i, ending));
  return accounts;
}

double worst_failed_fraction(const std::vector<PathAccount>& accounts) {
  double worst = 0;
  for (const PathAccount& account : accounts) worst = std::max(worst, account.failed_fraction());
  return worst;
}

}  // namespace sluice
