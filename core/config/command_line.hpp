// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// ${command_line} in a pipeline file: the command that this run is, for the headers of outputs.

#include <string>

#include "config/pipeline.hpp"

namespace sluice {

inline constexpr const char* command_line_name = "command_line";

// "sluice run map --reference ref.fa --reads 'my reads.fq'": every parameter that was given, in the pipeline's order, and what --set changes. A file
// of parameters counts as if the command line had said it. Options of the run, which change no result (--threads), and the names of outputs are left
// out: outputs with this text in them have the same bytes however the run went and wherever they are. A very long text is cut, with "..." at its end.
std::string command_line_text(const WrittenPipeline& pipeline, const Overrides& overrides);

}  // namespace sluice
