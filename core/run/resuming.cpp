// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/resuming.hpp"

#include <optional>
#include <sluice/failure.hpp>
#include <utility>

#include "run/journal_file.hpp"

namespace sluice {
namespace {

// Every stage that keeps something is in it, and stands where what it takes has been cut: else it would wait for batches that do not come.
bool is_one_border(const Plan& plan, const Checkpoint& checkpoint, const std::vector<std::uint8_t>& made) {
  const auto point_of = [&](std::size_t stage) {
    const auto found = checkpoint.stages.find(plan.stages[stage].stage->name);
    return found == checkpoint.stages.end() ? nullptr : &found->second;
  };
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const sluice_stage_descriptor& d = *plan.stages[i].stage->entry.descriptor;
    if ((!made.empty() && made[i] == 0) || (d.kind == SLUICE_MAP && (d.traits & SLUICE_TRAIT_ORDERED) == 0)) continue;
    const StagePoint* const point = point_of(i);
    if (point == nullptr) return false;
    if (d.kind == SLUICE_SOURCE) continue;
    const std::size_t stream = plan.stages[plan.stages[i].stage->inputs.front()].stream;
    const StagePoint* const giver = point_of(stream);
    const bool of_source = plan.stages[stream].stage->entry.descriptor->kind == SLUICE_SOURCE;
    if (giver == nullptr || point->next != (of_source ? giver->next : giver->emitted)) return false;
  }
  return true;
}

}  // namespace

ResumeFinding prepare_resuming(const Plan& plan, const Registry& registry, Resuming wish, RunOptions& options) {
  const bool goes_on = wish == Resuming::goes_on;
  if (const std::string reason = why_not_resumable(plan, registry, options.made); !reason.empty()) {
    options.checkpoints = {};
    return goes_on ? ResumeFinding{"this run can't be resumed: " + reason, "run it without --resume", {}} : ResumeFinding{};
  }
  options.journal = journal_of(plan, registry);
  options.identity = identity_of(plan, registry);
  options.identity["--shard"] = options.parts > 1 ? std::to_string(options.part + 1) + "/" + std::to_string(options.parts) : "";
  options.checkpoints.required = goes_on;
  if (!goes_on) return {};
  std::optional<Journal> journal;
  try {
    journal = read_journal(options.journal);
  } catch (const Failure& failure) {
    return {failure.what(), failure.remedy(), {}};
  }
  if (!journal) return {{}, {}, "there is nothing to resume: the run begins"};
  if (const std::string what = difference(journal->identity, options.identity); !what.empty())
    return {what, "give what the run was begun with, or begin anew, without --resume", {}};
  if (!is_one_border(plan, journal->checkpoint, options.made))
    return {"'" + options.journal.string() + "', which says how far the run came, contradicts itself", begin_anew, {}};
  for (const FilePoint& file : journal->checkpoint.files)
    if (!is_left(file.temporary)) return {{}, {}, "what was there of '" + file.path + "' is gone: the run begins anew"};
  options.going_on_from = std::make_shared<const Checkpoint>(std::move(journal->checkpoint));
  return {};
}

}  // namespace sluice
