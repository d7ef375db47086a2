// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From a chain to an alignment: its end anchors are extended, the gaps between the others are filled, and where the score falls too far the hit is
// split. Method: minimap2 2.24, A.14 to A.17 of the specification. Not thread-safe: one object per thread.

#include <optional>

#include "base_alignment/chain_ends.hpp"
#include "base_alignment/gap_filling.hpp"

namespace sluice::base_alignment {

class HitAligner {
 public:
  HitAligner(const AlignmentSettings& settings, const MinimizerIndexView& index) : settings_(settings), index_(index) {}

  // Aligns the hit and gives the part that was split off behind it, if there is one. Sets flags of anchors.
  std::optional<AlignedHit> align(const ReadStrands& read, std::span<Anchor> anchors, AlignedHit& hit);

  // The alignment of what lies between two parts of a hit with the read's opposite strand, if it is an inversion.
  std::optional<AlignedHit> find_inversion(const ReadStrands& read, const AlignedHit& left, const AlignedHit& right);

 private:
  struct Ends {
    Point begin, end;
  };
  Point cut_at(const ReadStrands& read, const Anchor& anchor, const AlignedHit& hit) const;
  Codes target_part(std::int32_t begin, std::int32_t end) const {
    return begin < end ? part(target_, begin - target_begin_, end - target_begin_) : Codes();
  }
  void extend_left(Codes query, const Reach& reach, const AlignedHit& hit, Ends& ends);
  void extend_right(Codes query, const Reach& reach, Ends& ends);
  std::optional<AlignedHit> fill_gaps(const ReadStrands& read, std::span<Anchor> anchors, AnchorRange range, AlignedHit& hit, Ends& ends,
                                      bool& broken_off);
  std::optional<AlignedHit> split(std::span<const Anchor> anchors, AnchorRange range, std::int32_t behind, std::int32_t target_end, Fall why,
                                  std::int32_t read_length, AlignedHit& hit) const;

  const AlignmentSettings& settings_;
  const MinimizerIndexView& index_;
  AlignmentMemory memory_;
  Jumps jumps_;
  std::int32_t half_seed_ = 0;
  std::int32_t target_begin_ = 0;
  std::vector<std::uint8_t> target_;  // the contig's bases from target_begin_ on
  std::vector<std::uint32_t> cigar_;
  std::int32_t score_ = 0;
};

}  // namespace sluice::base_alignment
