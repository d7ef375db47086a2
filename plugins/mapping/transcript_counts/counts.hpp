// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Reads of a transcript, and how they lie on it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <sluice/overlap/read_alignments.hpp>

namespace sluice::transcript_counts {

struct TranscriptCounts {
  std::int64_t reads = 0;        // whose first primary alignment lies on it
  std::int64_t confident = 0;    // of these, with a high mapping quality
  std::int64_t antisense = 0;    // of these, on its reverse strand
  std::int64_t to_3_end = 0;     // of these, that reach its 3' end, give or take a few bases
  std::int64_t full_length = 0;  // of these, that reach both ends
  std::int64_t bases = 0;        // of it that lie under bases of reads, once for each read
};

// What counts as what.
struct CountRule {
  std::int32_t confident_mapq = 10;
  std::int32_t end_distance = 50;  // bases that an alignment may end before an end of the transcript
};

// Bases of transcripts under reads, by twentieths of the transcript from its 5' end on.
constexpr std::size_t parts_of_transcript = 20;
using Coverage = std::array<std::uint64_t, parts_of_transcript>;

// The alignment is a read's first one, on a transcript of `length` bases.
void add_read(const overlap::ReadAlignment& alignment, std::int32_t length, const CountRule& rule, TranscriptCounts& counts, Coverage& coverage);

}  // namespace sluice::transcript_counts
