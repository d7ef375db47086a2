// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Introns of alignments. Method: minimap2 2.31, S.12 of the specification.

#include <compare>
#include <cstdint>
#include <sluice/failure.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::overlap {

// Bases [begin, end) of a contig, of a transcript on its forward strand (0) or its reverse one (1).
struct Intron {
  std::int32_t contig = 0, begin = 0, end = 0, reverse = 0;
  auto operator<=>(const Intron&) const = default;
};

// minimap2 takes introns of alignments with this mapping quality and more.
inline constexpr std::int32_t least_intron_quality = 10;

// Appends those of the alignment, in the order of the contig. None if the strand of its transcript is not known. Throws Failure (input) if they lie
// beyond the contig.
inline void add_introns(const ReadAlignment& alignment, const MinimizerIndexView& index, std::vector<Intron>& introns) {
  if (alignment.transcript_strand != 1 && alignment.transcript_strand != 2) return;
  const std::int32_t reverse = (alignment.transcript_strand == 2) != alignment.is_reverse ? 1 : 0;
  const std::int64_t length = index.contig_length[static_cast<std::size_t>(alignment.target)];
  std::int64_t at = alignment.target_start;
  for (const std::uint32_t operation : alignment.cigar) {
    const std::uint32_t code = operation & 15U;
    const bool is_on_target = code == 0 || code == 2 || code == 3 || code == 7 || code == 8;  // M, D, N, =, X
    if (!is_on_target) continue;
    const std::int64_t end = at + (operation >> 4);
    if (at < 0 || end > length)
      throw Failure::input("an alignment runs beyond contig '" + std::string(index.contig_name(static_cast<std::size_t>(alignment.target))) + "'",
                           "this is a bug in the stage that gives it");
    // A single base has no two ends.
    if (code == 3 && end - at >= 2) introns.push_back({alignment.target, static_cast<std::int32_t>(at), static_cast<std::int32_t>(end), reverse});
    at = end;
  }
}

// "GT-AG": its first and last two bases along the transcript. The index has bases.
inline std::string ends_of(const MinimizerIndexView& index, const Intron& intron) {
  const auto base = [&](std::int32_t place) {
    const std::uint32_t code = index.base(static_cast<std::size_t>(intron.contig), static_cast<std::uint32_t>(place));
    return "ACGT"[intron.reverse != 0 ? 3 - code : code];
  };
  if (intron.reverse != 0) return {base(intron.end - 1), base(intron.end - 2), '-', base(intron.begin + 1), base(intron.begin)};
  return {base(intron.begin), base(intron.begin + 1), '-', base(intron.end - 2), base(intron.end - 1)};
}
// How usual these are: GT 3, GC 2, AT 1; AG 3, AC 1 (minimap2 2.31, --write-junc).
inline std::int32_t score_of(std::string_view ends) {
  const std::string_view first = ends.substr(0, 2), last = ends.substr(3);
  const std::int32_t of_first = first == "GT" ? 3 : first == "GC" ? 2 : first == "AT" ? 1 : 0;
  return of_first + (last == "AG" ? 3 : last == "AC" ? 1 : 0);
}

}  // namespace sluice::overlap
