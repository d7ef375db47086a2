// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Introns of alignments.

#include <compare>
#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/read_alignments.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::splice_junctions {

// Bases [begin, end) of a contig, of a transcript on its forward strand (0) or its reverse one (1).
struct Intron {
  std::int32_t contig = 0, begin = 0, end = 0, reverse = 0;
  auto operator<=>(const Intron&) const = default;
};

// Appends those of the alignment, in the order of the contig. None if the strand of its transcript is not known. Throws Failure (input) if they lie
// beyond the contig.
void add_introns(const overlap::ReadAlignment& alignment, const MinimizerIndexView& index, std::vector<Intron>& introns);

// "GT-AG": its first and last two bases along the transcript. The index has bases.
std::string ends_of(const MinimizerIndexView& index, const Intron& intron);
// How usual these are: GT 3, GC 2, AT 1; AG 3, AC 1 (minimap2 2.31, --write-junc).
std::int32_t score_of(std::string_view ends);

}  // namespace sluice::splice_junctions
