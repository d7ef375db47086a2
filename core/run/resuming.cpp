// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/resuming.hpp"

#include <optional>
#include <sluice/failure.hpp>
#include <utility>

#include "run/journal_file.hpp"

namespace sluice {

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
  if (!journal) return {{}, {}, "there is nothing to go on with: the run begins"};
  if (const std::string what = difference(journal->identity, options.identity); !what.empty())
    return {what, "give what the run was begun with, or begin anew, without --resume", {}};
  for (const FilePoint& file : journal->checkpoint.files)
    if (!is_left(file.temporary)) return {{}, {}, "what was there of '" + file.path + "' is gone: the run begins anew"};
  options.going_on_from = std::make_shared<const Checkpoint>(std::move(journal->checkpoint));
  return {};
}

}  // namespace sluice
