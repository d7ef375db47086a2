// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A pile: a read (the template) and the reads that overlap it. It is cut into pieces between well supported borders; a piece and its layers are a
// window for a consensus. After CONSENT 2.2.2 (Morisse et al., Scientific Reports 2021) and its segmentation of windows by anchors (BMEAN), with the
// differences that README.md gives reasons for.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "read_correction/border_places.hpp"
#include "read_correction/piece_borders.hpp"
#include "read_correction/pile_identity.hpp"
#include "read_correction/read_anchors.hpp"
#include "read_correction/template_kmers.hpp"

namespace sluice::read_correction {

struct PileParameters {
  std::optional<std::int32_t> piece_length, k;  // without: by the identity of each pile (choose_cut())
  std::int32_t margin = 4;                      // of an anchor to both sides of a border
  std::int32_t min_layers = 2;                  // pieces with fewer are not given
  std::int32_t max_layers = 40;                 // the reads most alike are taken
};

// A read of a pile in the template's orientation: the part that overlaps, and up to some 1,340 bases of it beyond both ends.
struct PileRead {
  const PackedBases* bases = nullptr;  // outlives the cutting
  OverlapPlace place;                  // on the template and in `bases`
};

// How far bases beyond an overlap's ends are looked at: mappers end it at the last seed, CONSENT goes on as this does. Of noisy reads the last seed
// is often some hundred bases away from where a read ends.
inline constexpr std::int32_t overlap_reach = 1000;
// Bases of a read to fetch for `bases_of_template` more of the template.
constexpr std::int64_t reach_on_read(std::int64_t bases_of_template) { return bases_of_template + bases_of_template / 3 + 10; }

struct PieceLayer {
  std::int32_t read = 0;  // which of the pile
  std::int32_t begin = 0, end = 0;
};

// Bases [begin, end) of the template with the parts of reads that belong to them: layers [first_layer, end_layer).
struct Piece {
  std::int32_t begin = 0, end = 0;
  std::size_t first_layer = 0, end_layer = 0;
};

// Cuts piles, one at a time; memory is kept from one to the next.
class PileCutter {
 public:
  explicit PileCutter(const PileParameters& parameters) : parameters_(parameters) {}

  // The results below belong to the last pile. A read that cannot be anchored is counted in unanchored().
  void cut(const PackedBases& template_bases, std::span<const PileRead> reads);

  std::span<const Piece> pieces() const { return pieces_; }
  // In the order in which a consensus should take them: the reads most alike first, as fewer differences come before more; of equal ones the first.
  std::span<const PieceLayer> layers() const { return layers_; }
  std::int64_t unanchored() const { return unanchored_; }
  // Of some of the reads and the template.
  const OverlapIdentity& identity() const { return identity_; }

 private:
  // A read's share of anchored letters, and where its border places begin.
  struct AnchoredRead {
    std::int32_t read = 0;
    std::int64_t letters_anchored = 0, letters = 1;
  };

  void anchor_reads(const PackedBases& template_bases, std::span<const PileRead> reads);
  std::span<const Anchor> anchors_of(std::size_t read) const;
  void measure_identity(const PackedBases& template_bases, std::span<const PileRead> reads);

  PileParameters parameters_;
  IdentityMeasure identity_measure_;
  OverlapIdentity identity_;
  PileCut cut_by_;
  TemplateKmers kmers_;
  AnchorWorkspace anchor_workspace_;
  BorderWorkspace border_workspace_;
  AnchorSupport support_;
  std::vector<Anchor> anchors_of_read_, anchors_;
  std::vector<std::size_t> anchors_end_;  // per read
  std::vector<std::int32_t> borders_, places_;
  std::vector<AnchoredRead> order_;
  std::vector<Piece> pieces_;
  std::vector<PieceLayer> layers_;
  std::int64_t unanchored_ = 0;
};

}  // namespace sluice::read_correction
