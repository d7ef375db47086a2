// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From a read's minimizers to sorted anchors, as minimap2 2.24 does it.
//
// An anchor is a k-mer that lies on the read (its query) and on a contig (its target):
//   x: strand << 63 | contig << 32 | place of the k-mer's last base on the contig
//   y: flags | span << 32 | place of the k-mer's last base on the read; on the reverse complement of the read if the strand bit is set
// Flags of y: bit 42, the same k-mer is also the read's minimizer before or behind this one; bit 43, read and contig are the same sequence.

#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/minimizer_sketch.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "minimizer_seeding/anchor_sort.hpp"

namespace sluice::minimizer_seeding {

inline constexpr std::uint64_t reverse_strand = std::uint64_t{1} << 63;
inline constexpr std::uint64_t tandem_flag = std::uint64_t{1} << 42;
inline constexpr std::uint64_t self_flag = std::uint64_t{1} << 43;

enum class Strands : std::uint8_t { both, forward_only, reverse_only };
enum class Diagonal : std::uint8_t { keep, skip };   // skip: no anchors of a sequence with the same place of itself
enum class Ties : std::uint8_t { minimap2, place };  // of anchors with one x: as minimap2's sort leaves them, or by their place on the read
enum class Pairs : std::uint8_t { both, once };      // once: a read maps only to contigs whose name is not smaller than its own

struct SeedingParameters {
  std::int32_t mid_occ = 10;        // a minimizer with more positions is not a seed, but see occ_dist
  std::int32_t max_max_occ = 4095;  // nor one with more than this, ever
  std::int32_t occ_dist = 500;  // between seeds this far apart, about every occ_dist bases one of the least frequent of the others is taken; 0: none
  float q_occ_frac = 0.01F;     // a minimizer is not used that makes more than this share of a read's, and more than mid_occ
  Strands strands = Strands::both;
  Diagonal diagonal = Diagonal::keep;
  Pairs pairs = Pairs::both;
  Ties ties = Ties::minimap2;
};

// What to do with minimizers that the table lacks: no_seed, or, where another part of the index has them, seeds without positions.
enum class Absent : std::uint8_t { no_seed, seed };

// Compares the names of reads and contigs as strcmp does, without comparing letters for every anchor.
class NameOrder {
 public:
  NameOrder() = default;
  explicit NameOrder(const MinimizerIndexView& index);
  struct Place {
    std::uint32_t rank = 0;  // of the first contig name that is not smaller
    bool found = false;      // it is equal
  };
  Place place(std::string_view name) const;
  std::uint32_t rank(std::size_t contig) const { return ranks_[contig]; }
  bool used() const { return !ranks_.empty(); }

 private:
  std::vector<std::string_view> names_;  // sorted, distinct
  std::vector<std::uint32_t> ranks_;     // of each contig
};

// A minimizer of the read that the index has.
struct Seed {
  const std::uint64_t* positions;  // none to look at if the count is 0
  std::uint32_t count;
  std::uint32_t place;  // of its last base << 1 | strand
  std::uint16_t span;
  enum class State : std::uint8_t { used, too_frequent } state;
  enum class Tandem : std::uint8_t { no, yes } tandem;
};

// What find_anchors gives, and its working memory.
struct ReadSeeds {
  std::vector<Anchor> anchors;                // sorted
  std::vector<std::uint64_t> seed_positions;  // span << 32 | place of the last base, of each used seed, ascending
  std::int32_t repeat_length = 0;             // bases of the read under seeds that are too frequent
  bool too_many_anchors = false;              // 2^31 or more: there are none

  SketchScratch sketch;
  std::vector<Minimizer> minimizers;
  std::vector<Seed> seeds;
  std::vector<std::uint16_t> bucket_counts;
  std::vector<std::uint64_t> order;
};

// The read's minimizers go through out.minimizers. `order` is looked at only for Diagonal::skip and Pairs::once.
void find_anchors(const MinimizerIndexView& index, const SeedingParameters& parameters, const NameOrder& order, std::string_view name,
                  std::string_view bases, const SketchKernels& kernels, ReadSeeds& out, Absent absent = Absent::no_seed);

// The steps of find_anchors.
// Takes minimizers off that repeat too often within the read.
void drop_repeated_minimizers(std::int32_t mid_occ, float q_occ_frac, ReadSeeds& reads);
void look_up_minimizers(const MinimizerIndexView& index, Absent absent, ReadSeeds& read);
// Sets the state of seeds; `length` is the read's.
void choose_seeds(const SeedingParameters& parameters, std::int32_t length, ReadSeeds& read);

}  // namespace sluice::minimizer_seeding
