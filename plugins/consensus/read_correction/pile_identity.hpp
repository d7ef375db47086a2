// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How alike a template and the reads of its pile are before they are corrected, and what a pile is cut by for it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "read_correction/packed_bases.hpp"
#include "read_correction/read_anchors.hpp"
#include "read_correction/unit_cost_path.hpp"

namespace sluice::read_correction {

// Differences (letters to replace, remove or insert, as few as can be) of aligned stretches, and the letters of the longer one of each.
struct OverlapIdentity {
  std::int64_t differences = 0, letters = 0;
  OverlapIdentity& operator+=(const OverlapIdentity& other);
  // Less than 75 % of identity. Two simulated reads of 12 % of errors each are alike in 80 %, of 15 % in 76, of 18 % in 72, of 20 % in 70.
  bool is_noisy() const { return differences * 100 > letters * 25; }
};

struct PileCut {
  std::int32_t k = 11;                // bases of the k-mers that anchors are made of
  std::int32_t piece_length = 100;    // mean, in bases
  std::int32_t differences_pct = 35;  // how much a read may differ between two anchors where a border is looked for
  bool operator==(const PileCut&) const = default;
};

// Noisy piles: k 8, pieces of 300 bases, 50 %, which get over the clusters that real reads have their errors in. Nothing else decides, so that a read
// is cut alike whatever else a run corrects. What is given is taken.
PileCut choose_cut(bool is_noisy, std::optional<std::int32_t> k, std::optional<std::int32_t> piece_length);

// Adds up a stretch of each of some reads: about `stretch` letters of the template around the middle of the overlap, between two anchors.
class IdentityMeasure {
 public:
  // Reads of a pile that are looked at, evenly spread over it. Stretches that have no anchor for long are left out.
  static constexpr std::size_t reads = 6;
  static constexpr std::int32_t stretch = 800, longest = 3000;
  // The i-th of those (i < reads) in a pile of `all` > 0 reads.
  static std::size_t chosen(std::size_t i, std::size_t all) { return i * all / reads; }

  void add(const PackedBases& template_bases, const PackedBases& read, const OverlapPlace& place, std::span<const Anchor> anchors,
           OverlapIdentity& sum);

 private:
  UnitCostAligner aligner_;
  std::string of_template_, of_read_;
};

}  // namespace sluice::read_correction
