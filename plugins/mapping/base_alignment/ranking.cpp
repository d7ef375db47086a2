// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::base_alignment {
namespace {

bool overlap(const AlignedHit& a, const AlignedHit& b) { return a.query_end > b.query_start && a.query_start < b.query_end; }

// Bases of the hit that no interval of `covered` covers. Sorts `covered`.
std::int32_t uncovered_bases(const AlignedHit& hit, std::vector<std::pair<std::int32_t, std::int32_t>>& covered) {
  std::sort(covered.begin(), covered.end());
  std::int32_t begin = hit.query_start, bases = 0;
  for (const auto& [from, to] : covered) {
    if (from > begin) bases += from - begin;
    begin = std::max(begin, to);
  }
  return hit.query_end > begin ? bases + hit.query_end - begin : bases;
}

void add_rival(const RankingSettings& settings, const AlignedHit& best, const AlignedHit& hit, std::int32_t common, std::int32_t shorter,
               RankingScratch::Primary& primary) {
  primary.second_chain_score = std::max(primary.second_chain_score, hit.chain_score);
  bool is_rival = hit.anchors >= best.anchors;
  // Two chains may have grown into the same alignment.
  const bool is_same = best.target == hit.target && best.target_start == hit.target_start && best.target_end == hit.target_end && common == shorter;
  if (!is_same) {
    primary.second_score = std::max(primary.second_score, hit.score);
    is_rival = is_rival || best.score - hit.score <= 2 * settings.scoring.match + settings.scoring.mismatch;
  }
  if (is_rival) ++primary.rivals;
}

std::uint8_t quality_of(const RankingSettings& settings, float unique, const AlignedHit& hit, const RankingScratch::Primary& primary) {
  if (hit.chain_score <= 0 || hit.score <= 0 || hit.columns <= 0) return 0;
  const float by_score = (hit.chain_score > 100 ? 1.0F : 0.01F * static_cast<float>(hit.chain_score)) * unique;
  const float by_anchors = hit.anchors > 10 ? 1.0F : 0.1F * static_cast<float>(hit.anchors);
  const float sure = std::min(by_score, by_anchors);
  const float identity = static_cast<float>(hit.matches) / static_cast<float>(hit.columns);
  const float second_chain = static_cast<float>(std::max(primary.second_chain_score, settings.min_chain_score));
  const auto match = static_cast<float>(settings.scoring.match), score = static_cast<float>(hit.score);
  const auto limited = [](float quality) { return static_cast<std::int32_t>(std::clamp(quality, 0.0F, 1e6F)); };
  std::int32_t quality = 0;
  if (primary.second_score > 0) {
    const float second = static_cast<float>(primary.second_score) * second_chain / score / static_cast<float>(hit.chain_score);
    quality = limited(identity * sure * 40.0F * (1.0F - second * second) * std::log(score / match));
    const float difference = static_cast<float>(hit.score - primary.second_score);
    quality = std::min(quality, limited(6.02F * identity * identity * difference / match + 0.499F));
  } else {
    quality = limited(identity * sure * 40.0F * (1.0F - second_chain / static_cast<float>(hit.chain_score)) * std::log(score / match));
  }
  quality -= static_cast<std::int32_t>(4.343F * std::log(static_cast<float>(primary.rivals + 1)) + 0.499F);
  quality = std::clamp(quality, 0, 60);
  return static_cast<std::uint8_t>(quality == 0 && hit.score > primary.second_score ? 1 : quality);
}

}  // namespace

void rank_alignments(const RankingSettings& settings, std::int32_t repeat_length, RankingScratch& scratch, std::span<AlignedHit> hits) {
  auto& [order, primaries, covered] = scratch;
  order.resize(hits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return hits[a].score > hits[b].score; });
  primaries.clear();
  for (const std::size_t i : order) {
    AlignedHit& hit = hits[i];
    hit.is_primary = true;
    hit.mapping_quality = 0;
    covered.clear();
    for (const RankingScratch::Primary& primary : primaries) {
      const AlignedHit& best = hits[primary.hit];
      if (overlap(best, hit)) covered.emplace_back(std::max(best.query_start, hit.query_start), std::min(best.query_end, hit.query_end));
    }
    if (!covered.empty()) {
      const std::int32_t uncovered = settings.masking == Masking::hard ? 0 : uncovered_bases(hit, covered);
      for (RankingScratch::Primary& primary : primaries) {
        const AlignedHit& best = hits[primary.hit];
        if (!overlap(best, hit)) continue;
        const auto [shorter, longer] = std::minmax({best.query_end - best.query_start, hit.query_end - hit.query_start});
        const std::int32_t common = std::min(best.query_end, hit.query_end) - std::max(best.query_start, hit.query_start);
        const float share = static_cast<float>(common) / static_cast<float>(shorter) - static_cast<float>(uncovered) / static_cast<float>(longer);
        if (share <= settings.mask_level || uncovered > settings.mask_length) continue;
        hit.is_primary = false;
        add_rival(settings, best, hit, common, shorter, primary);
        break;
      }
    }
    if (hit.is_primary) primaries.push_back({i, 0, 0, 0});
  }
  std::int64_t chain_scores = 0;
  for (const RankingScratch::Primary& primary : primaries) chain_scores += hits[primary.hit].chain_score;
  if (chain_scores <= 0) return;
  const float unique = static_cast<float>(chain_scores) / static_cast<float>(chain_scores + repeat_length);
  for (const RankingScratch::Primary& primary : primaries)
    hits[primary.hit].mapping_quality = quality_of(settings, unique, hits[primary.hit], primary);
}

}  // namespace sluice::base_alignment
