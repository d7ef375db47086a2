// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether a run goes on from what an earlier one has left.

#include <string>

#include "run/run.hpp"

namespace sluice {

enum class Resuming { begins, goes_on };

struct ResumeFinding {
  std::string problem, remedy;  // it can't go on; "": it can, or it begins
  std::string note;             // for people, "" if there is nothing to say
};

// Sets journal, pace of checkpoints and what there is to go on from, as far as the plan allows.
ResumeFinding prepare_resuming(const Plan& plan, const Registry& registry, Resuming wish, RunOptions& options);

}  // namespace sluice
