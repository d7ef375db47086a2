// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run goes on from, and what it keeps of itself for a later one: options.journal.

#include "run/checkpoint.hpp"
#include "run/execution.hpp"
#include "run/run_context.hpp"

namespace sluice {

class RunJournal {
 public:
  // Nothing happens before begin().
  explicit RunJournal(RunContext& run) : run_(run) {}

  // Files and counts of the run that is gone on with become those of this one; what is left of any other goes.
  void begin();
  // Of a plan that can be resumed: stages may find that they can't save with the parameters that they have. Fails the run if it must be resumable.
  bool may_take_checkpoints(const StageRunners& stages) const;
  // On any thread, one at a time. The journal never says more than what is on the disk. Throws Failure::output.
  void keep(Checkpoint taken);
  // The outputs have been committed: there is nothing to go on with.
  void remove();
  // Is there something that a later run goes on from, unless this one finishes?
  bool has_kept() const { return has_kept_; }

 private:
  RunContext& run_;
  bool has_kept_ = false;
};

}  // namespace sluice
