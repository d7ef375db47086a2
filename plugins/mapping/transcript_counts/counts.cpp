// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "transcript_counts/counts.hpp"

#include <algorithm>

namespace sluice::transcript_counts {
namespace {

// Bases [begin, end) of a transcript of `length` bases.
void cover(std::int64_t begin, std::int64_t end, std::int64_t length, Coverage& coverage) {
  constexpr auto parts = static_cast<std::int64_t>(parts_of_transcript);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t part = at * parts / length;
    // The first base of the next part.
    const std::int64_t next = std::min(end, ((part + 1) * length + parts - 1) / parts);
    coverage[static_cast<std::size_t>(part)] += static_cast<std::uint64_t>(next - at);
    at = next;
  }
}

}  // namespace

void add_read(const overlap::ReadAlignment& alignment, std::int32_t length, const CountRule& rule, TranscriptCounts& counts, Coverage& coverage) {
  ++counts.reads;
  counts.confident += alignment.mapping_quality >= rule.confident_mapq ? 1 : 0;
  counts.antisense += alignment.is_reverse ? 1 : 0;
  const bool to_3_end = alignment.target_end >= length - rule.end_distance;
  counts.to_3_end += to_3_end ? 1 : 0;
  counts.full_length += to_3_end && alignment.target_start <= rule.end_distance ? 1 : 0;
  std::int64_t at = alignment.target_start;
  for (const std::uint32_t operation : alignment.cigar) {
    const std::uint32_t code = operation & 15U;
    const bool is_column = code == 0 || code == 7 || code == 8;  // M, =, X
    if (!is_column && code != 2 && code != 3) continue;          // D, N
    const std::int64_t begin = std::clamp<std::int64_t>(at, 0, length), end = std::clamp<std::int64_t>(at + (operation >> 4), 0, length);
    at += operation >> 4;
    if (!is_column) continue;
    counts.bases += end - begin;
    cover(begin, end, length, coverage);
  }
}

}  // namespace sluice::transcript_counts
