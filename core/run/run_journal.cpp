// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_journal.hpp"

#include <filesystem>
#include <sluice/input_part.hpp>
#include <sluice/staged_file.hpp>
#include <system_error>
#include <utility>

#include "run/journal_file.hpp"

namespace sluice {

void RunJournal::begin() {
  if (run_.options.going_on_from) {
    const Checkpoint& from = *run_.options.going_on_from;
    has_kept_ = true;
    run_.files.go_on_with(from.files, [this] { return run_.stopping(); });
    run_.files.keep_for_later();
    for (std::size_t i = 0; i < run_.plan.stages.size(); ++i)
      if (const auto counts = from.counts.find(run_.plan.stages[i].stage->name); counts != from.counts.end())
        run_.recorder.stage(i).go_on_from(counts->second);
  } else {
    remove();
  }
  if (!run_.options.journal.empty()) StagedFile::remove_left_behind(run_.options.journal.string());
}

bool RunJournal::may_take_checkpoints(const StageRunners& stages) const {
  if (run_.options.checkpoints.seconds <= 0 || run_.options.journal.empty()) return false;
  for (const auto& stage : stages) {
    if (!stage) continue;
    const bool is_source = stage->kind() == SLUICE_SOURCE;
    if (is_source ? static_cast<const SourceRunner&>(*stage).position() != no_position : !stage->keeps_state() || stage->can_save()) continue;
    const std::string reason = is_source ? "can't begin in the middle of this input, so that the run can't be resumed"
                                         : "can't save what it has with these parameters, so that the run can't be resumed";
    if (run_.options.checkpoints.required)
      run_.fail(stage->name(), SLUICE_ERROR_USAGE, reason, "run it without --resume");
    else
      run_.log(SLUICE_LOG_DEBUG, stage->name(), reason);
    return false;
  }
  return true;
}

void RunJournal::keep(Checkpoint taken) {
  run_.files.sync(taken.files);
  write_journal(run_.options.journal, run_.options.identity, taken);
  run_.files.keep_for_later();
  has_kept_ = true;
}

void RunJournal::remove() {
  std::error_code none;
  if (!run_.options.journal.empty()) std::filesystem::remove(run_.options.journal, none);
  has_kept_ = false;
}

}  // namespace sluice
