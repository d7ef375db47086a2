// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which hits of a read are primary once their alignments are known, and how sure they are: a hit whose chain was second may have the better
// alignment. Method: minimap2 2.24 with base alignment (Li 2018, 2021), with this program's alignment scores in place of its own. Hits that have the
// same score keep the order of their chains.

#include <cstdint>
#include <limits>
#include <sluice/overlap/primary_hits.hpp>
#include <span>
#include <vector>

#include "base_alignment/scoring.hpp"

namespace sluice::base_alignment {

using overlap::Masking;

struct RankingSettings {
  float mask_level = 0.5F;  // overlap with a better hit, as a share of the shorter one, above which a hit is secondary
  Masking masking = Masking::soft;
  std::int32_t mask_length = std::numeric_limits<std::int32_t>::max();  // a hit with more uncovered bases stays primary
  std::int32_t min_chain_score = 40;                                    // the least score of a rival that is assumed
  Scoring scoring;
};

// An aligned hit. Places on the read are in sequencing orientation, ends exclusive.
struct AlignedHit {
  std::int32_t query_start = 0, query_end = 0;
  std::int32_t target = 0, target_start = 0, target_end = 0;
  std::int32_t matches = 0, columns = 0;  // of the alignment
  std::int32_t score = 0;                 // of the alignment
  std::int32_t chain_score = 0, anchors = 0;

  // Set by rank_alignments.
  bool is_primary = false;
  std::uint8_t mapping_quality = 0;  // 0 to 60; secondary hits: 0
};

// Reusable memory of rank_alignments.
struct RankingScratch {
  struct Primary {
    std::size_t hit;
    std::int32_t second_chain_score, second_score, rivals;
  };
  std::vector<std::size_t> order;
  std::vector<Primary> primaries;
  overlap::PrimaryHits intervals;
};

// `hits`: those of a read that have alignments, in the order of their chains, which is kept. repeat_length: bases of the read under minimizers that
// were too frequent to be looked up.
void rank_alignments(const RankingSettings& settings, std::int32_t repeat_length, RankingScratch& scratch, std::span<AlignedHit> hits);

}  // namespace sluice::base_alignment
