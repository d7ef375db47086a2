// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The alignments of a read from its hits: minimap2 2.24 with base alignment, whole records the same (A.13 of the specification). Not thread-safe: one
// object per thread.

#include <sluice/batch.hpp>
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

// Of a row with the columns that base_alignment needs.
ReadHits read_hits_of(const Batch& in, std::int64_t row);

// Why the lists make no alignments; "" if they do.
std::string problem_of(const ReadHits& read, std::span<const std::int32_t> target_length);

// A read on its way from hits to alignments.
struct ReadState {
  ReadStrands strands;
  std::vector<Anchor> anchors;
  std::vector<AlignedHit> hits;
  std::vector<std::uint8_t> is_aligned;  // by hit
};

class ReadAligner {
 public:
  ReadAligner(const AlignmentSettings& settings, const MinimizerIndexView& index) : settings_(settings), index_(index), aligner_(settings, index) {}

  // In the order of minimap2's lines; valid until the next call. `read` must have passed problem_of.
  std::vector<AlignedHit>& align(const ReadHits& read);
  const ReadStrands& strands() const { return own_.strands; }

  // The same in steps, for who has the pieces of many reads aligned at once: start; then as long as there are hits that are not aligned, plan them
  // and give the answers; then finish.
  void start(const ReadHits& read, ReadState& state);
  void plan_hit(ReadState& state, std::size_t hit, HitPlan& plan) { aligner_.plan(state.strands, state.anchors, state.hits[hit], plan); }
  // A part that is split off is a hit behind this one, not aligned yet.
  void align_hit(ReadState& state, std::size_t hit, HitPlan& plan, const PieceAnswers* answers);
  void finish(std::int32_t repeat_length, ReadState& state);

 private:
  void add_inversions(ReadState& state);

  const AlignmentSettings& settings_;
  const MinimizerIndexView& index_;
  HitAligner aligner_;
  RankingScratch ranking_;
  std::vector<std::uint8_t> target_;
  std::vector<std::int32_t> hit_of_chain_;
  ReadState own_;
  HitPlan plan_;
};

}  // namespace sluice::base_alignment
