// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One overlap as an overlap file states it, and the text forms PAF (minimap2) and MHAP.

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::overlap_reader {

// Positions are 0-based on the forward strand of each sequence, ends exclusive.
struct Overlap {
  std::string_view query, target;                    // names; empty in MHAP
  std::int64_t query_number = 0, target_number = 0;  // MHAP: ordinal in the file of reads or targets, from 1
  std::int64_t query_length = 0, target_length = 0;  // bases of the whole sequences
  std::int64_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
  std::int64_t matches = 0;  // column 10 of PAF; 0: unknown
  bool is_reverse = false;
  std::vector<std::uint32_t> cigar;  // SAM: operations M, I and D in BAM encoding, target orientation; empty: none
};

enum class LineFormat : std::uint8_t { paf, mhap };

// MHAP separates its numbers by blanks and has no tabs.
LineFormat guess_line_format(std::string_view line);

// nullptr, or what is wrong with the line. Views in `overlap` point into the line.
const char* parse_paf_line(std::string_view line, Overlap& overlap);
const char* parse_mhap_line(std::string_view line, Overlap& overlap);

// Longer of the two spans, and 1 - shorter / longer: what racon keeps overlaps by.
std::int64_t overlap_length(const Overlap& overlap);
double overlap_error(const Overlap& overlap);

}  // namespace sluice::overlap_reader
