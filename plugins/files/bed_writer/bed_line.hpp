// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Lines of BED: tab-separated text, places 0-based and end-exclusive. The columns are those of `bedtools bamtobed` and, with blocks, of its -bed12.

#include <cstdint>
#include <sluice/overlap/read_alignments.hpp>
#include <string>
#include <string_view>

namespace sluice::bed_writer {

enum class Columns : std::uint8_t { six, twelve };

// Appends the line of one alignment, with its newline. twelve: its blocks are what lies between introns (N of the CIGAR). Throws Failure::input if
// the CIGAR covers other bases of the contig than the alignment.
void append_alignment(std::string& text, std::string_view read, std::string_view contig, const overlap::ReadAlignment& alignment, Columns columns);

}  // namespace sluice::bed_writer
