// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Everything that a descriptor says, as Markdown that also reads well in a terminal: `sluice inspect` prints it, `sluice docs` writes it.

#include <string>

#include "config/pipeline.hpp"
#include "plugin/registry.hpp"

namespace sluice::cli {

std::string stage_page(const StageEntry& stage);
std::string pipeline_page(const WrittenPipeline& pipeline);

}  // namespace sluice::cli
