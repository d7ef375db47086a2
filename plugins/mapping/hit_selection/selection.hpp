// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which hits of a read are primary, which secondary ones are kept, and how sure each is.
// Method: minimap2 2.24 and 2.31 (Li 2018, 2021), PAF without base alignment; integer for integer and float for float the same.

#include <cstdint>
#include <limits>
#include <sluice/overlap/minimap2_release.hpp>
#include <sluice/overlap/primary_hits.hpp>
#include <span>
#include <vector>

#include "hit_selection/hits.hpp"

namespace sluice::hit_selection {

enum class Selection : std::uint8_t {
  best,  // primary hits, and the best secondary ones
  all,   // every chain is a hit; none is primary (-P)
};

using overlap::Masking;

struct Settings {
  std::int32_t k = 15;  // of the index
  Selection selection = Selection::best;
  float secondary_ratio = 0.8F;  // secondary hits below this share of the primary's score are dropped (-p); 0: keep all
  std::int32_t best_count = 5;   // secondary hits of a read that are kept (-N)
  float mask_level = 0.5F;       // overlap, as a share of the shorter hit, from which on the lower hit is secondary (-M)
  Masking masking = Masking::soft;
  std::int32_t mask_length = std::numeric_limits<std::int32_t>::max();  // a hit with more uncovered bases stays primary (--mask-len)
  std::int32_t max_gap = 5000;                                          // of chaining (-g): four fifths of it keep a hit on the other strand
  std::int32_t min_chain_score = 40;                                    // of chaining (-m): the least score of a rival that is assumed
  ReadNames names = ReadNames::hashed;
  std::uint32_t seed = 11;
  overlap::Minimap2Release release = overlap::Minimap2Release::v2_31;
};

// Reusable memory of select_hits.
struct SelectionScratch {
  HitOrder order;
  overlap::PrimaryHits intervals;
  std::vector<std::int32_t> primaries;
  std::vector<std::int32_t> renumbered;
  std::vector<std::int32_t> seed_ending_at;  // each base of a read
};

// Bases that a minimizer of the read covers on average; -1: it has none.
float mean_span_of(std::span<const std::uint64_t> seed_position);
inline float mean_span_of(std::uint64_t spans, std::size_t seeds) {
  return seeds == 0 ? -1.0F : static_cast<float>(spans) / static_cast<float>(seeds);
}

// The hits of a read in the order of its PAF lines, every field filled. `target_length`: bases of each target of the index.
// `read` must have passed problem_of, or its chains be measured.
void select_hits(const ReadChains& read, std::span<const std::int32_t> target_length, const Settings& settings, SelectionScratch& scratch,
                 std::vector<Hit>& hits);

// The steps of select_hits, one after the other.

// Sets parent, second_score and rivals. Hits must come by descending score.
void set_parents(const Settings& settings, SelectionScratch& scratch, std::vector<Hit>& hits);
// Drops the secondary hits that settings do not keep, and numbers the others anew.
void drop_secondary_hits(const Settings& settings, SelectionScratch& scratch, std::vector<Hit>& hits);
// Sets divergence from the share of the read's minimizers, between the ends of the hit, that are its anchors.
void estimate_divergence(const ReadChains& read, std::span<const std::int32_t> target_length, SelectionScratch& scratch, std::span<Hit> hits);
// Drops hits kept for their strand alone whose divergence is not below five times their primary's or 1 %.
void drop_divergent_strands(overlap::Minimap2Release release, std::vector<Hit>& hits);
// Sets mapping_quality, 0 to 60.
void set_mapping_quality(std::int32_t repeat_length, std::int32_t min_chain_score, std::span<Hit> hits);

}  // namespace sluice::hit_selection
