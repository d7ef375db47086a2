// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Lines of the table of frequencies that f5c meth-freq writes, of both versions.

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::methylation_table_reader {

// The views point into the line.
struct FrequencyLine {
  std::string_view contig, sequence;
  std::int64_t start = 0, end = 0;  // C of the first CpG, of the last
  std::int32_t motifs = 0;
  std::int64_t called_sites = 0, called_sites_methylated = 0;
};

// Is it the first line of such a table?
bool is_frequency_header(std::string_view line);
// Returns "" or what is wrong with the line.
std::string parse_frequency(std::string_view line, FrequencyLine& frequency);

}  // namespace sluice::methylation_table_reader
