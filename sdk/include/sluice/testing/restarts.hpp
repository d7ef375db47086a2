// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What comes of a stage that is ended and gone on with, or run over parts of its input.

#include <sluice/testing/stage_run.hpp>
#include <string>
#include <vector>

namespace sluice::testing {

// Saved in front of each input and behind the last one, a new instance with what was saved gives the same rows and the same bytes in its files; so
// does the old one. A state that is cut off is refused. Of stages that sum and of sinks that concatenate (files of plain text), parts of the input
// give what the whole gives, unless the instance refuses to be one of several (SLUICE_ERROR_USAGE). Returns what is wrong, one line each; nothing
// for a stage that neither saves nor says that parts can be put together.
std::vector<std::string> restart_problems(const StageRun& run);
// restart_problems() that wants the instance to save.
std::vector<std::string> resume_problems(const StageRun& run);

}  // namespace sluice::testing
