// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::base_alignment {
namespace {

void add_rival(const RankingSettings& settings, const AlignedHit& best, const AlignedHit& hit, bool covers_all, RankingScratch::Primary& primary) {
  primary.second_chain_score = std::max(primary.second_chain_score, hit.chain_score);
  bool is_rival = hit.anchors >= best.anchors;
  // Two chains may have grown into the same alignment.
  const bool is_same = best.target == hit.target && best.target_start == hit.target_start && best.target_end == hit.target_end && covers_all;
  if (!is_same) {
    primary.second_score = std::max(primary.second_score, hit.score);
    is_rival = is_rival || best.score - hit.score <= 2 * settings.scoring.match + settings.scoring.mismatch;
  }
  if (is_rival) ++primary.rivals;
}

std::uint8_t quality_of(const RankingSettings& settings, float unique, const AlignedHit& hit, const RankingScratch::Primary& primary) {
  if (hit.chain_score <= 0 || hit.score <= 0 || hit.columns <= 0) return 0;
  const float sure = overlap::chain_weight(hit.chain_score, hit.anchors, unique);
  const float identity = static_cast<float>(hit.matches) / static_cast<float>(hit.columns);
  const float second_chain = static_cast<float>(std::max(primary.second_chain_score, settings.min_chain_score));
  const auto match = static_cast<float>(settings.scoring.match), score = static_cast<float>(hit.score);
  std::int32_t quality = 0;
  if (primary.second_score > 0) {
    const float second = static_cast<float>(primary.second_score) * second_chain / score / static_cast<float>(hit.chain_score);
    quality = overlap::whole_quality(identity * sure * 40.0F * (1.0F - second * second) * std::log(score / match));
    const float difference = static_cast<float>(hit.score - primary.second_score);
    quality = std::min(quality, overlap::whole_quality(6.02F * identity * identity * difference / match + 0.499F));
  } else {
    quality = overlap::whole_quality(identity * sure * 40.0F * (1.0F - second_chain / static_cast<float>(hit.chain_score)) * std::log(score / match));
  }
  quality = std::clamp(quality - overlap::rivals_penalty(primary.rivals), 0, 60);
  return static_cast<std::uint8_t>(quality == 0 && hit.score > primary.second_score ? 1 : quality);
}

}  // namespace

void rank_alignments(const RankingSettings& settings, std::int32_t repeat_length, RankingScratch& scratch, std::span<AlignedHit> hits) {
  auto& [order, primaries, intervals] = scratch;
  order.resize(hits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return hits[a].score > hits[b].score; });
  primaries.clear();
  intervals.clear();
  const overlap::MaskRules rules{settings.mask_level, settings.masking, settings.mask_length};
  for (const std::size_t i : order) {
    AlignedHit& hit = hits[i];
    hit.mapping_quality = 0;
    const overlap::PrimaryHits::Secondary secondary = intervals.add(rules, {hit.query_start, hit.query_end});
    hit.is_primary = secondary.primary == overlap::PrimaryHits::none;
    if (hit.is_primary) {
      primaries.push_back({i, 0, 0, 0});
    } else {
      RankingScratch::Primary& primary = primaries[secondary.primary];
      add_rival(settings, hits[primary.hit], hit, secondary.common == secondary.shorter, primary);
    }
  }
  std::int64_t chain_scores = 0;
  for (const RankingScratch::Primary& primary : primaries) chain_scores += hits[primary.hit].chain_score;
  if (chain_scores <= 0) return;
  const float unique = overlap::unique_share(chain_scores, repeat_length);
  for (const RankingScratch::Primary& primary : primaries)
    hits[primary.hit].mapping_quality = quality_of(settings, unique, hits[primary.hit], primary);
}

}  // namespace sluice::base_alignment
