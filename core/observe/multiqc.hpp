// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The report as custom content of MultiQC (https://docs.seqera.io/multiqc/custom_content), which reads one section from a file.

#include <string>
#include <utility>
#include <vector>

#include "observe/report.hpp"

namespace sluice {

// What became of the rows, as bars. `sample`: what MultiQC calls the run.
std::string multiqc_fates(const RunResult& result, const Plan& plan, const std::string& sample);
// Columns of MultiQC's table of general statistics.
std::string multiqc_general(const RunResult& result, const Plan& plan, const std::string& sample);
// What the stages found that is more than a number: a line for each distribution, and along a sequence. Names of sections and their texts.
std::vector<std::pair<std::string, std::string>> multiqc_results(const RunResult& result, const std::string& sample);
// How long the rows are, as a line. "": no stage says that.
std::string multiqc_lengths(const RunResult& result, const std::string& sample);

}  // namespace sluice
