// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// --samples FILE: a table of samples, each a row with values of the pipeline's parameters.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.hpp"

namespace sluice {

struct Sample {
  std::string name;
  std::map<std::string, std::string> parameters;  // by the column's name; empty fields are left out
  Location where;
};

struct SampleTable {
  std::vector<std::string> columns;  // without `sample`
  std::vector<Sample> samples;
};

// Fields are separated by tabs, the first line that is neither empty nor begins with '#' names them. Everything that is wrong is reported with its
// line.
SampleTable parse_samples(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics);
SampleTable load_samples(const std::filesystem::path& file, Diagnostics& diagnostics);

// "out/{sample}.bam" -> "out/a.bam"
std::string with_sample(std::string text, const std::string& sample);

}  // namespace sluice
