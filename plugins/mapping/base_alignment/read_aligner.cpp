// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/read_aligner.hpp"

#include <algorithm>

#include "base_alignment/splicing/junction_jumps.hpp"

namespace sluice::base_alignment {

ReadHits read_hits_of(const Batch& in, std::int64_t row) {
  return {.bases = in.text("bases")[row],
          .repeat_length = in.column<std::int32_t>("repeat_length")[static_cast<std::size_t>(row)],
          .target = in.list<std::int32_t>("hit_target")[row],
          .chain = in.list<std::int32_t>("hit_chain")[row],
          .score = in.list<std::int32_t>("hit_score")[row],
          .second_score = in.list<std::int32_t>("hit_second_score")[row],
          .rivals = in.list<std::int32_t>("hit_rivals")[row],
          .hash = in.list<std::uint32_t>("hit_hash")[row],
          .is_reverse = in.list<std::uint8_t>("hit_is_reverse")[row],
          .is_primary = in.list<std::uint8_t>("hit_is_primary")[row],
          .chain_anchor_count = in.list<std::int32_t>("chain_anchor_count")[row],
          .anchor_x = in.list<std::uint64_t>("chain_anchor_x")[row],
          .anchor_y = in.list<std::uint64_t>("chain_anchor_y")[row]};
}

std::string problem_of(const ReadHits& read, std::span<const std::int32_t> target_length) {
  const std::size_t hits = read.target.size();
  for (const std::size_t size : {read.chain.size(), read.score.size(), read.second_score.size(), read.rivals.size(), read.hash.size(),
                                 read.is_reverse.size(), read.is_primary.size()})
    if (size != hits) return "the lists of its hits differ in length";
  if (read.anchor_x.size() != read.anchor_y.size()) return "the lists of its anchors differ in length";
  std::vector<std::size_t> begin{0};
  for (const std::int32_t count : read.chain_anchor_count) {
    if (count < 1) return "a chain has no anchors";
    begin.push_back(begin.back() + static_cast<std::size_t>(count));
  }
  if (begin.back() != read.anchor_x.size()) return "its chains have other anchors than are given";
  std::vector<bool> taken(read.chain_anchor_count.size());
  for (std::size_t i = 0; i < hits; ++i) {
    const auto chain = static_cast<std::size_t>(static_cast<std::uint32_t>(read.chain[i]));
    const auto target = static_cast<std::size_t>(static_cast<std::uint32_t>(read.target[i]));
    if (chain >= taken.size() || taken[chain]) return "a hit has no chain of its own";
    taken[chain] = true;
    if (target >= target_length.size()) return "a hit is on a contig that the index does not have";
    if (read.score[i] < 1) return "a hit has no score";
    Anchor before;
    for (std::size_t at = begin[chain]; at < begin[chain + 1]; ++at) {
      const Anchor anchor{read.anchor_x[at], read.anchor_y[at]};
      const bool fits = anchor.strand_and_target() == (static_cast<std::uint64_t>(read.is_reverse[i] != 0 ? 1 : 0) << 31 | target) &&
                        static_cast<std::uint32_t>(anchor.on_target()) < static_cast<std::uint32_t>(target_length[target]) &&
                        static_cast<std::uint32_t>(anchor.on_read()) < read.bases.size() && anchor.span() > 0 && anchor.read_start() >= 0;
      const bool ascends = at == begin[chain] || (anchor.on_target() > before.on_target() && anchor.on_read() > before.on_read());
      if (!fits) return "an anchor lies outside its target or the read: is this the index that the seeds were looked up in?";
      if (!ascends) return "the anchors of a chain do not ascend";
      before = anchor;
    }
  }
  return {};
}

// Hits in their order; anchors of dropped chains are left out, the others keep the order of their chains.
void ReadAligner::start(const ReadHits& read, ReadState& state) {
  state.strands.set(read.bases);
  hit_of_chain_.assign(read.chain_anchor_count.size(), -1);
  state.hits.assign(read.target.size(), {});
  state.is_aligned.assign(read.target.size(), 0);
  for (std::size_t i = 0; i < state.hits.size(); ++i) {
    AlignedHit& hit = state.hits[i];
    hit_of_chain_[static_cast<std::size_t>(read.chain[i])] = static_cast<std::int32_t>(i);
    hit.anchors = read.chain_anchor_count[static_cast<std::size_t>(read.chain[i])];
    hit.target = read.target[i];
    hit.reverse = read.is_reverse[i] != 0;
    hit.chain_score = hit.whole_chain_score = read.score[i];
    hit.second_chain_score = std::max(read.second_score[i], 0);
    hit.rivals = read.rivals[i];
    hit.hash = read.hash[i];
    hit.id = static_cast<std::int32_t>(i);
    if (!settings_.rank)
      hit.parent = AlignedHit::none;
    else
      hit.parent = read.is_primary[i] != 0 ? hit.id : AlignedHit::of_another;
  }
  state.anchors.clear();
  std::size_t at = 0;
  for (std::size_t chain = 0; chain < read.chain_anchor_count.size(); ++chain) {
    const auto count = static_cast<std::size_t>(read.chain_anchor_count[chain]);
    if (hit_of_chain_[chain] >= 0) {
      AlignedHit& hit = state.hits[static_cast<std::size_t>(hit_of_chain_[chain])];
      hit.first_anchor = static_cast<std::int32_t>(state.anchors.size());
      for (std::size_t i = at; i < at + count; ++i) state.anchors.push_back({read.anchor_x[i], read.anchor_y[i] & ~(long_join | left_out)});
    }
    at += count;
  }
  for (AlignedHit& hit : state.hits) measure_chain(state.anchors, state.strands.length(), hit);
}

void ReadAligner::align_hit(ReadState& state, std::size_t i, HitPlan& plan, const PieceAnswers* answers) {
  std::optional<AlignedHit> rest = aligner_.align(state.strands, state.anchors, plan, answers, state.hits[i]);
  state.is_aligned[i] = 1;
  if (!rest) return;
  const auto behind = static_cast<std::ptrdiff_t>(i + 1);
  state.hits.insert(state.hits.begin() + behind, std::move(*rest));
  state.is_aligned.insert(state.is_aligned.begin() + behind, 0);
}

void ReadAligner::add_inversions(ReadState& state) {
  if (!settings_.find_inversions) return;
  std::vector<AlignedHit>& hits = state.hits;
  for (std::size_t i = 1; i < hits.size(); ++i) {
    if (!hits[i].split_at_inversion) continue;
    std::optional<AlignedHit> inversion = aligner_.find_inversion(state.strands, hits[i - 1], hits[i]);
    if (!inversion) continue;
    hits.insert(hits.begin() + static_cast<std::ptrdiff_t>(i + 1), std::move(*inversion));
    ++i;
  }
}

void ReadAligner::finish(std::int32_t repeat_length, ReadState& state) {
  add_inversions(state);
  std::vector<AlignedHit>& hits = state.hits;
  drop_weak(settings_, state.strands.length(), hits);
  const bool may_adjust = settings_.rank || settings_.release == overlap::Minimap2Release::v2_24;
  if (may_adjust && adjust_scores(settings_, state.strands.length(), hits)) drop_weak(settings_, state.strands.length(), hits);
  sort_by_score(hits);
  if (settings_.rank) {
    set_parents(settings_, ranking_, hits);
    drop_secondary_hits(settings_, ranking_, hits);
  }
  set_mapping_quality(settings_, repeat_length, hits);
  if (settings_.splice.jumps)
    for (AlignedHit& hit : hits) jump_over_junctions(settings_, *settings_.splice.jumps, index_, state.strands, target_, hit);
  if (settings_.release == overlap::Minimap2Release::v2_24)
    for (AlignedHit& hit : hits) hit.path_score = hit.best_score;
  aligner_.give_back();
}

std::vector<AlignedHit>& ReadAligner::align(const ReadHits& read) {
  start(read, own_);
  for (std::size_t i = 0; i < own_.hits.size(); ++i) {
    plan_hit(own_, i, plan_);
    align_hit(own_, i, plan_, nullptr);
  }
  finish(read.repeat_length, own_);
  return own_.hits;
}

}  // namespace sluice::base_alignment
