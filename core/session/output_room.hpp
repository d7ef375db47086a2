// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Whether a disk has room for an output whose size is known from the command line, and the machine the memory that the run takes.

#include "config/pipeline.hpp"
#include "session/run_settings.hpp"

namespace sluice {

// Before any work. values: of all parameters, final. An error where the disk has less room than an output takes at least, a warning where it has less
// than it usually takes; each output by itself. Of a shard its part of the output counts. Where a size is not known (standard input, what --resume
// has already written, no rule in the pipeline's file) nothing is said. No output is opened. Too little memory is a warning.
void check_room(const WrittenPipeline& pipeline, const std::map<std::string, std::string>& values, const Overrides& given,
                const RunSettings& settings, Diagnostics& diagnostics);

}  // namespace sluice
