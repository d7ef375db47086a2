// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The final value of every pipeline parameter: what the command line says, else the default, else "".

#include <map>
#include <string>

#include "config/pipeline.hpp"

namespace sluice {

// Checks types, ranges, choices and required ones. A default may refer to parameters declared above it. Every declared parameter is in
// the result, so that later ${...} errors are about names only.
std::map<std::string, std::string> final_parameters(const WrittenPipeline& pipeline, const Overrides& overrides, Diagnostics& diagnostics);

// Says that a value is missing on the command line, and what it is.
void ask_for(const PipelineParameter& parameter, Diagnostics& diagnostics);

}  // namespace sluice
