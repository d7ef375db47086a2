// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From a chain to an alignment: its end anchors are extended, the gaps between the others are filled, and where the score falls too far the hit is
// split. Method: minimap2 2.24, A.14 to A.17 of the specification. Not thread-safe: one object per thread.
//
// A hit is planned first: no piece of it depends on how another one is aligned, so that thousands of them may be aligned at once, elsewhere.

#include <optional>

#include "base_alignment/chain_ends.hpp"
#include "base_alignment/gap_filling.hpp"

namespace sluice::base_alignment {

// An end or a gap of a hit, between two points on the target and the read's strand.
struct PlannedPiece {
  Point begin, end;
  std::int32_t band = -1, z_drop = -1, end_bonus = -1;
  Goal goal = Goal::ends;
  TieOrder ties = TieOrder::gap_right;  // gap_left: both sequences are reversed
  std::int32_t anchor = 0;              // of the range; where a gap ends
};
struct HitPlan {
  AnchorRange range;
  Reach reach;
  Point begin, end;  // where the first and the last anchor cut the hit
  std::int32_t target_begin = 0;
  std::vector<std::uint8_t> target;  // the contig's bases from target_begin on
  bool extends_left = false, extends_right = false;
  std::vector<PlannedPiece> pieces;  // the left end, the gaps, the right end
  std::int32_t contig = 0;
  Sites sites = Sites::none;  // across introns: for which strand's sites the pieces are aligned

  Codes target_part(std::int32_t from, std::int32_t to) const { return from < to ? part(target, from - target_begin, to - target_begin) : Codes(); }
  // strand: the read's, of the hit.
  Piece piece(Codes strand, std::size_t i) const;
};

// Alignments of a plan's pieces that were made elsewhere.
struct PieceAnswer {
  std::int64_t deepest_fall = 0;  // of a gap, see look_for_fall
  const Cuts* cuts = nullptr;     // across introns: what the target was without; may be null
  std::int32_t highest_through_cuts = Alignment::unreached;
};
class PieceAnswers {
 public:
  virtual ~PieceAnswers() = default;
  // sites: across introns, the way in which it was made. False: this one was not made.
  virtual bool take(std::size_t piece, Sites sites, Alignment& made, PieceAnswer& answer) const = 0;
  // One that was taken is of no use, as the middle of its target may matter.
  virtual void count_unproven() const = 0;
};

// The ways in which a hit is aligned, as the sites of introns that count: one, or two of which the better one is taken.
std::span<const Sites> ways_of(const SpliceSettings& splice, const AlignedHit& hit);

class HitAligner {
 public:
  HitAligner(const AlignmentSettings& settings, const MinimizerIndexView& index) : settings_(settings), index_(index) {}

  // Sets flags of anchors.
  void plan(const ReadStrands& read, std::span<Anchor> anchors, const AlignedHit& hit, HitPlan& plan);

  // Aligns the hit as planned and gives the part that was split off behind it, if there is one. answers: may be null; what it does not have is
  // aligned here.
  std::optional<AlignedHit> align(const ReadStrands& read, std::span<const Anchor> anchors, HitPlan& plan, const PieceAnswers* answers,
                                  AlignedHit& hit);

  // The alignment of what lies between two parts of a hit with the read's opposite strand, if it is an inversion.
  std::optional<AlignedHit> find_inversion(const ReadStrands& read, const AlignedHit& left, const AlignedHit& right);

  // Behind a read: memory that only few need.
  void give_back() {
    memory_.rows.give_back();
    memory_.spliced_rows.give_back();
  }

 private:
  struct Ends {
    Point begin, end;
  };
  Point cut_at(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit) const;
  std::int32_t score_around(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit);
  std::optional<AlignedHit> align_along(const ReadStrands& read, std::span<const Anchor> anchors, const HitPlan& plan, const PieceAnswers* answers,
                                        AlignedHit& hit);
  std::optional<AlignedHit> align_spliced_hit(const ReadStrands& read, std::span<const Anchor> anchors, HitPlan& plan, const PieceAnswers* answers,
                                              AlignedHit& hit);
  void plan_pieces(const ReadStrands& read, std::span<const Anchor> anchors, const AlignedHit& hit, HitPlan& plan) const;
  // Into memory_.piece; how deep the score falls along it may be unknown, and is then the highest number.
  std::int64_t take_piece(const HitPlan& plan, Codes query, std::size_t i, const PieceAnswers* answers);
  bool takes_doubt(const Piece& piece);
  // The same of a piece that is known to have no intron: no answer is asked for. False: it is not known.
  bool take_without_introns(const HitPlan& plan, Codes query, std::size_t i);
  void take_left_end(const HitPlan& plan, Codes query, const PieceAnswers* answers, Ends& ends);
  void take_right_end(const HitPlan& plan, Codes query, const PieceAnswers* answers, Ends& ends);
  std::optional<AlignedHit> take_gaps(const ReadStrands& read, std::span<const Anchor> anchors, const HitPlan& plan, const PieceAnswers* answers,
                                      AlignedHit& hit, Ends& ends, bool& broken_off);
  std::optional<AlignedHit> split(std::span<const Anchor> anchors, AnchorRange range, std::int32_t behind, std::int32_t target_end, Fall why,
                                  std::int32_t read_length, AlignedHit& hit) const;

  const AlignmentSettings& settings_;
  const MinimizerIndexView& index_;
  AlignmentMemory memory_;
  Jumps jumps_;
  std::int32_t half_seed_ = 0;
  std::vector<std::uint8_t> target_;
  std::vector<std::uint32_t> cigar_;
  std::int32_t score_ = 0;
  // Across introns, by piece of the hit: what it is whichever way the hit is aligned, if that is known; else what is cut out of its target.
  struct CommonPiece {
    bool is_asked = false, is_made = false, is_cut = false;
    Alignment made;
    Cuts cuts;
  };
  std::vector<CommonPiece> common_;
  // Of the way in which a hit is aligned: may its pieces be doubtful; are they, by how much does it score less than it should at most, and what may
  // it score if it should have been broken off.
  struct WayDoubt {
    bool any = false;
    std::int64_t less = 0, highest_broken_off = std::numeric_limits<std::int64_t>::min();
  };
  bool may_doubt_ = false;
  WayDoubt doubt_;
};

}  // namespace sluice::base_alignment
