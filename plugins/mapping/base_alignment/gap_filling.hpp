// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Pieces of a hit, and what an alignment from end to end says of the place between two anchors. Method: minimap2 2.24, A.15 and A.16 of the
// specification.

#include <cstdint>
#include <vector>

#include "base_alignment/aligned_hit.hpp"
#include "base_alignment/kernel/align.hpp"
#include "base_alignment/kernel/local.hpp"
#include "base_alignment/kernel/spliced.hpp"
#include "base_alignment/sequences.hpp"
#include "base_alignment/splicing/cut_target.hpp"
#include "base_alignment/splicing/without_introns.hpp"

namespace sluice::base_alignment {

// Reusable memory of the alignments of one thread.
struct AlignmentMemory {
  MatrixRows rows;
  SplicedRows spliced_rows;
  SiteScores sites;
  ShortTarget short_target;
  Cuts cuts;
  CutScratch cut_scratch;
  // Across introns: it is not known that `piece` is the alignment, but that it scores so much less than that at most.
  struct Doubt {
    bool any = false;
    std::int32_t less = 0;
  };
  Doubt doubt;
  LocalRows local;
  Alignment piece;
  std::vector<std::uint8_t> query, target;
};

struct Piece {
  Codes query, target;
  std::int32_t band = -1, z_drop = -1, end_bonus = -1;
  Goal goal = Goal::ends;
  // Across introns: where the target's part begins, and along which strand introns are looked for.
  std::int32_t contig = 0, target_begin = 0;
  Sites sites = Sites::none;
  const Cuts* cuts = nullptr;  // of the target, if they are known; of an alignment from end to end
  bool may_be_doubtful = false;
};
Problem problem_of(const Piece& piece, TieOrder ties);
// Is the matrix larger than the settings allow? Such a piece is given up without a path.
bool too_large(const AlignmentSettings& settings, const Problem& problem);

// May an end of an intron gain anything?
bool sites_may_gain(const AlignmentSettings& settings);
// Across introns, of a piece in the order of its codes: what is cut out of its target, and what sites cost in it.
void find_cuts(const AlignmentSettings& settings, const Problem& problem, CutScratch& scratch, Cuts& cuts);
SitePiece site_piece_of(const Piece& piece, TieOrder ties);

// memory.piece, an alignment to the piece's target without its cuts, becomes that to the whole one; false: that it is the right one is not proven,
// and a doubt is not wanted.
bool put_cuts_back(const AlignmentSettings& settings, const Piece& piece, std::int32_t highest_through_cuts, AlignmentMemory& memory);

// Into memory.piece, across introns; false: it is not known that the path has none, so that sites do not count.
bool align_piece_without_introns(const AlignmentSettings& settings, const Piece& piece, TieOrder ties, AlignmentMemory& memory);

// Into memory.piece, and memory.doubt, which only a piece that may be doubtful leaves.
void align_piece(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory);
// The same with both sequences reversed.
void align_piece_backwards(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory);

// Operations behind those that are there.
void append(std::vector<std::uint32_t>& cigar, const std::vector<std::uint32_t>& later);

enum class Fall : std::uint8_t { none, break_off, inversion };
// Does the score along the path in memory.piece fall so far that the alignment should end there, and does the opposite strand explain why?
Fall look_for_fall(const AlignmentSettings& settings, const Piece& piece, AlignmentMemory& memory);

}  // namespace sluice::base_alignment
