// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// --set stages.X.params.Y=value: changes one entry of a pipeline file from the command line.

#include <string>

#include "config/pipeline.hpp"

namespace sluice {

// Forms: stages.X.params.Y, stages.X.resources.SLOT, stages.X.enabled, stages.X.device, and the first three for resources.
// Whether Y exists is checked later with everything else.
void apply_set(const std::string& set, WrittenPipeline& pipeline, Diagnostics& diagnostics);

}  // namespace sluice
