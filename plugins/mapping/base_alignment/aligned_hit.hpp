// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A hit on its way from a chain to an alignment, and the anchors that it is made of.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <sluice/overlap/minimap2_release.hpp>
#include <sluice/overlap/primary_hits.hpp>
#include <span>
#include <vector>

#include "base_alignment/kernel/problem.hpp"
#include "base_alignment/splicing/splice_sites.hpp"

namespace sluice::base_alignment {

// x = strand << 63 | target << 32 | last base of the k-mer on the target, y = flags | span << 32 | last base on the read's strand.
struct Anchor {
  std::uint64_t x = 0, y = 0;
  std::int32_t on_target() const { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }
  std::int32_t on_read() const { return static_cast<std::int32_t>(static_cast<std::uint32_t>(y)); }
  std::int32_t span() const { return static_cast<std::int32_t>(y >> 32 & 0xFF); }
  std::int32_t target_start() const { return on_target() + 1 - span(); }
  std::int32_t read_start() const { return on_read() + 1 - span(); }
  std::uint64_t strand_and_target() const { return x >> 32; }
  bool has(std::uint64_t flag) const { return (y & flag) != 0; }
};
// Flags of y; the first two are set here, the others by the seeding.
inline constexpr std::uint64_t long_join = std::uint64_t{1} << 40, left_out = std::uint64_t{1} << 41, tandem = std::uint64_t{1} << 42,
                               self = std::uint64_t{1} << 43;

class JunctionEnds;

// How a read runs along the transcript that its alignment's introns tell of. unknown: nobody asked, undecided: both ways score the same.
enum class Transcript : std::uint8_t { unknown, along, against, undecided };

struct AlignedHit {
  // Values of id and parent beside ordinals of hits.
  static constexpr std::int32_t none = -1, split_from_primary = -2, of_another = std::numeric_limits<std::int32_t>::max();

  std::int32_t first_anchor = 0, anchors = 0;
  std::int32_t target = 0;
  bool reverse = false;
  // Intervals are on the read's and the target's forward strands, ends exclusive.
  std::int32_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
  std::int32_t chain_score = 0;         // of its own anchors (s1)
  std::int32_t whole_chain_score = 0;   // of the chain that it was part of
  std::int32_t second_chain_score = 0;  // best of a hit secondary to it (s2)
  std::int32_t rivals = 0;
  std::uint32_t hash = 0;  // orders hits of equal score
  std::int32_t id = none, parent = none;
  std::int32_t matches = 0, columns = 0, ambiguous = 0;  // columns: without ambiguous ones
  std::uint8_t split = 0;                                // 1: a part was split off behind it, 2: it was split off (zd)
  bool split_at_inversion = false;
  bool inversion = false;
  bool leads = false;           // the first primary hit of the read
  std::int32_t score = 0;       // AS
  std::int32_t best_score = 0;  // of a part of the alignment, long gaps costing by logarithm; by it hits are ranked
  std::int32_t path_score = 0;  // the same as the path gives it, whatever was added or adjusted later
  std::int32_t second_best_score = 0;
  std::uint8_t mapping_quality = 0;
  Transcript transcript = Transcript::unknown;
  bool spliced = false;  // an intron is in its path
  std::vector<std::uint32_t> cigar;

  bool primary() const { return id == parent; }
};

// Sets the places, matches and columns of the hit from its anchors.
void measure_chain(std::span<const Anchor> anchors, std::int32_t read_length, AlignedHit& hit);

// Alignment across introns.
struct SpliceSettings {
  bool enabled = false;
  bool along = true, against = true;  // which runs of the read along its transcript are tried; neither: sites do not count
  SiteCosts costs;
  std::shared_ptr<const KnownJunctions> known;
  std::shared_ptr<const SiteScoreTable> site_scores;
  std::shared_ptr<const JunctionEnds> jumps;
  std::int32_t least_jump = 3;        // bases of an exon that a jump may add
  std::int32_t end_seed_penalty = 6;  // by which a first or last anchor must outweigh the logarithm of the gap beside it
};

struct AlignmentSettings {
  Scores scores;
  SpliceSettings splice;
  std::int32_t z_drop = 400, z_drop_inversion = 200, end_bonus = -1;
  std::int32_t min_score = 80;           // least best_score of a hit
  std::int32_t min_fill_length = 200;    // anchors closer than this do not cut a gap
  std::int64_t max_cells = 100'000'000;  // of one matrix; 0: any number
  float max_clip_ratio = 1.0F;
  std::int32_t bw = 500, bw_long = 20000, max_gap = 5000, min_chain_score = 40, min_count = 3;
  std::int32_t best_count = 5;
  float secondary_ratio = 0.8F;
  overlap::MaskRules mask;
  bool trim_ends = true;
  bool find_inversions = true;
  bool rank = true;  // false: every chain is a hit (-P)
  overlap::Minimap2Release release = overlap::Minimap2Release::v2_31;
  bool eqx = false;
  std::int32_t k = 15;
  bool homopolymer_compressed = false;
};

// An approximation of log2(x), x >= 1; minimap2's chaining uses the same.
inline float quick_log2(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23 & 255U) - 128);
  const float m = std::bit_cast<float>((bits & ~(255U << 23)) + (127U << 23));
  return exponent + ((-0.34484843F * m + 2.02466578F) * m - 0.67487759F);
}

enum Operation : std::uint32_t { match_or_mismatch = 0, insertion = 1, deletion = 2, intron = 3, soft_clip = 4, equal = 7, different = 8 };
constexpr std::uint32_t code_of(std::uint32_t operation) { return operation & 15U; }
constexpr std::int32_t bases_of(std::uint32_t operation) { return static_cast<std::int32_t>(operation >> 4); }
// An intron is no gap.
constexpr bool is_gap(std::uint32_t operation) { return code_of(operation) == insertion || code_of(operation) == deletion; }
// Columns without gaps.
constexpr bool is_run(std::uint32_t operation) { return !is_gap(operation) && code_of(operation) != intron; }

// Share of equal columns, a gap counting as one column.
double identity_of(const AlignedHit& hit);

}  // namespace sluice::base_alignment
