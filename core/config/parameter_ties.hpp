// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What ties a pipeline's parameters to each other: a format that the ending of an output says, and options that do nothing without others.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/pipeline.hpp"
#include "config/table_reader.hpp"

namespace sluice {

// by_ending, needs and group of one entry of [parameters].
void read_ties(TableReader& reader, PipelineParameter& parameter);
// The groups of those that name none: required ones are inputs, outputs have that name, and others are hidden only where the file says what is
// common.
void settle_groups(WrittenPipeline& pipeline);
// Names in them that no parameter has, once all are read.
void check_ties(const WrittenPipeline& pipeline, Diagnostics& diagnostics);

// The value that the ending of an output asks for: of "o.paf.gz" what "paf" says. nullopt: no output is named, or its ending says nothing.
std::optional<std::string> value_by_ending(const PipelineParameter& parameter, const std::map<std::string, std::string>& given);
// Says so when the user gives a parameter and an output whose ending asks for another value.
void check_ending(const PipelineParameter& parameter, const Overrides& given, Diagnostics& diagnostics);

// Options from the user that change nothing, because none of those is there that they need: warnings.
void warn_of_idle_options(const WrittenPipeline& pipeline, const Overrides& given, const std::map<std::string, std::string>& values,
                          Diagnostics& diagnostics);

// "with --format sam or bam", "without --overlaps": what `needs` asks for.
std::string needs_text(const PipelineParameter& parameter);

}  // namespace sluice
