// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Ends of alignments that reach a known junction: the few bases behind it become an exon, or those that ran past it are cut off. Method:
// minimap2 2.31, S.11 of the specification.

#include <cstdint>
#include <sluice/overlap/known_junctions.hpp>
#include <span>
#include <vector>

#include "base_alignment/aligned_hit.hpp"
#include "base_alignment/sequences.hpp"

namespace sluice::base_alignment {

// Junctions that reads had: those with this score and more count (GT..AG or GC..AG).
inline constexpr std::int32_t good_junction_score = 5;

class JunctionEnds {
 public:
  // One end of a junction, and the other.
  struct End {
    std::int32_t here = 0, there = 0;
    bool annotated = false;  // such are taken where both kinds fit
  };
  explicit JunctionEnds(std::size_t contigs) : of_contig_(contigs) {}
  void add(const KnownJunctions& junctions, bool annotated);
  // Bases [begin, end) of a contig.
  void add(std::int32_t contig, std::int32_t begin, std::int32_t end, bool annotated);
  // Behind the last add.
  void sort();
  // Those with first <= here <= last, in order.
  std::span<const End> between(std::int32_t contig, std::int32_t first, std::int32_t last) const;

 private:
  std::vector<std::vector<End>> of_contig_;
};

// Both ends of a hit that was aligned. target: reusable memory.
void jump_over_junctions(const AlignmentSettings& settings, const JunctionEnds& ends, const MinimizerIndexView& index, const ReadStrands& read,
                         std::vector<std::uint8_t>& target, AlignedHit& hit);

}  // namespace sluice::base_alignment
