// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the ending of an output's name says, in any case of letters.

#include <string>
#include <string_view>

#include "config/pipeline.hpp"

namespace sluice {

// "paf" of "dir/o.PAF.gz": compression, Arrow and Parquet are about how bytes are stored, not about what they say. "" if there is none.
std::string ending_of_name(std::string_view path);

// An output that is given, and whose name ends as files do that are not written here: an error where it is the ending of another format, a warning
// where nobody knows it. Parameters that declare no endings are left alone, and so are those whose format is given.
void check_output_ending(const WrittenPipeline& pipeline, const PipelineParameter& parameter, const Overrides& given, Diagnostics& diagnostics);

}  // namespace sluice
