// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The alignments of a read from its hits: minimap2 2.24 with base alignment, whole records the same (A.13 of the specification). Not thread-safe: one
// object per thread.

#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/hit_aligner.hpp"
#include "base_alignment/ranking.hpp"

namespace sluice::base_alignment {

// What the stages before have found for one read. Lists of hits have the same length, as have those of anchors.
struct ReadHits {
  std::string_view bases;
  std::int32_t repeat_length = 0;
  std::span<const std::int32_t> target, chain, score, second_score, rivals;
  std::span<const std::uint32_t> hash;
  std::span<const std::uint8_t> is_reverse, is_primary;
  std::span<const std::int32_t> chain_anchor_count;
  std::span<const std::uint64_t> anchor_x, anchor_y;
};

// Why the lists make no alignments; "" if they do.
std::string problem_of(const ReadHits& read, std::span<const std::int32_t> target_length);

class ReadAligner {
 public:
  ReadAligner(const AlignmentSettings& settings, const MinimizerIndexView& index) : settings_(settings), index_(index), aligner_(settings, index) {}

  // In the order of minimap2's lines; valid until the next call. `read` must have passed problem_of.
  std::vector<AlignedHit>& align(const ReadHits& read);

  const ReadStrands& strands() const { return strands_; }

 private:
  void take_hits(const ReadHits& read);
  void align_hits();

  const AlignmentSettings& settings_;
  const MinimizerIndexView& index_;
  HitAligner aligner_;
  RankingScratch ranking_;
  ReadStrands strands_;
  std::vector<Anchor> anchors_;
  std::vector<AlignedHit> hits_;
  std::vector<std::int32_t> hit_of_chain_;
};

}  // namespace sluice::base_alignment
