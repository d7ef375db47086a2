// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <sluice/overlap/byte_sort.hpp>

namespace sluice::base_alignment {
namespace {

// Reads shorter than this, and hits that cover or score less than this share, are not scored anew.
constexpr std::int32_t least_length = 500;
constexpr float least_share = 0.9F;

float as_float(std::int32_t value) { return static_cast<float>(value); }

double adjusted_score(const Scores& scores, double mismatch, const AlignedHit& hit) {
  double gap_cost = 0;
  std::int32_t gap_bases = 0;
  for (const std::uint32_t operation : hit.cigar) {
    if (!is_gap(operation)) continue;
    gap_cost += mismatch + static_cast<double>(quick_log2(static_cast<float>(1.0 + bases_of(operation))));
    gap_bases += bases_of(operation);
  }
  const std::int32_t mismatches = hit.columns + hit.ambiguous - hit.matches - gap_bases;
  return scores.match * (hit.matches - mismatch * mismatches - gap_cost) + .499;
}

bool same_place(const AlignedHit& a, const AlignedHit& b) {
  return a.target == b.target && a.target_start == b.target_start && a.target_end == b.target_end;
}

// Cut like an int; 0 for what is none.
std::int32_t whole(float quality) { return quality > -1e6F ? static_cast<std::int32_t>(std::min(quality, 1e6F)) : 0; }

std::uint8_t quality_of(const AlignmentSettings& settings, float unique, const AlignedHit& hit) {
  const float sure = overlap::chain_weight(hit.chain_score, hit.anchors, unique);
  const std::int32_t second_chain = std::max(hit.second_chain_score, settings.min_chain_score);
  const float identity = as_float(hit.matches) / as_float(hit.columns);
  const auto match = as_float(settings.scores.match);
  const float magnitude = std::log(as_float(hit.best_score) / match);
  std::int32_t quality = 0;
  if (hit.second_best_score > 0 && hit.best_score > 0) {
    const float x = as_float(hit.second_best_score) * as_float(second_chain) / as_float(hit.best_score) / as_float(hit.whole_chain_score);
    quality = whole(identity * sure * 40.0F * (1.0F - x * x) * magnitude);
    const std::int32_t by_difference = whole(6.02F * identity * identity * as_float(hit.best_score - hit.second_best_score) / match + .499F);
    quality = std::min(quality, by_difference);
  } else {
    const float x = as_float(second_chain) / as_float(hit.whole_chain_score);
    quality = whole(identity * sure * 40.0F * (1.0F - x) * magnitude);
  }
  quality = std::clamp(quality - overlap::rivals_penalty(hit.rivals), 0, 60);
  return static_cast<std::uint8_t>(quality == 0 && hit.best_score > hit.second_best_score ? 1 : quality);
}

// An inversion is as sure as the less sure of the alignments beside it.
void set_inversion_quality(std::vector<AlignedHit>& hits) {
  if (hits.size() < 3) return;
  struct Place {
    std::uint64_t key;
    AlignedHit* hit;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < hits.size(); ++i)
    if (hits[i].parent == static_cast<std::int32_t>(i) || hits[i].parent < 0)
      places.push_back({static_cast<std::uint64_t>(hits[i].target) << 32 | static_cast<std::uint32_t>(hits[i].target_start), &hits[i]});
  overlap::byte_sort(std::span(places), [](const Place& place) { return place.key; });
  for (std::size_t i = 1; i + 1 < places.size(); ++i)
    if (places[i].hit->inversion) places[i].hit->mapping_quality = std::min(places[i - 1].hit->mapping_quality, places[i + 1].hit->mapping_quality);
}

}  // namespace

void drop_weak(const AlignmentSettings& settings, std::int32_t read_length, std::vector<AlignedHit>& hits) {
  const float most_clipped = as_float(read_length) * settings.max_clip_ratio;
  std::erase_if(hits, [&](const AlignedHit& hit) {
    return (!hit.inversion && hit.anchors < settings.min_count) || hit.matches < settings.min_chain_score || hit.best_score < settings.min_score ||
           hit.cigar.empty() || (as_float(hit.query_start) > most_clipped && as_float(read_length - hit.query_end) > most_clipped);
  });
}

bool adjust_scores(const AlignmentSettings& settings, std::int32_t read_length, std::vector<AlignedHit>& hits) {
  if (hits.size() < 2 || read_length < least_length) return false;
  const AlignedHit* best = nullptr;
  std::int32_t best_score = -1, second_score = -1;
  for (const AlignedHit& hit : hits) {
    if (hit.best_score > best_score) {
      second_score = best_score;
      best_score = hit.best_score;
      best = &hit;
    } else {
      second_score = std::max(second_score, hit.best_score);
    }
  }
  if (best == nullptr || second_score < 0) return false;
  const auto share = static_cast<double>(least_share);
  if (best->query_end - best->query_start < static_cast<double>(read_length) * share || second_score < static_cast<double>(best_score) * share)
    return false;
  const Scores& scores = settings.scores;
  double mismatch = 0.5 / std::max(0.02, 1.0 - identity_of(*best));
  if (mismatch * scores.match < scores.mismatch) mismatch = static_cast<double>(scores.match) / scores.mismatch;
  for (AlignedHit& hit : hits) hit.best_score = std::max(0, static_cast<std::int32_t>(adjusted_score(scores, mismatch, hit)));
  return true;
}

void sort_by_score(std::vector<AlignedHit>& hits) {
  if (hits.size() < 2) return;
  overlap::byte_sort(std::span(hits), [](const AlignedHit& hit) { return static_cast<std::uint64_t>(hit.best_score) << 32 | hit.hash; });
  std::reverse(hits.begin(), hits.end());
}

void set_parents(const AlignmentSettings& settings, RankingScratch& scratch, std::vector<AlignedHit>& hits) {
  scratch.intervals.clear();
  scratch.primaries.clear();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    AlignedHit& hit = hits[i];
    hit.id = hit.parent = static_cast<std::int32_t>(i);
    hit.second_best_score = 0;
    const overlap::PrimaryHits::Secondary secondary = scratch.intervals.add(settings.mask, {hit.query_start, hit.query_end});
    if (secondary.primary == overlap::PrimaryHits::none) {
      // minimap2 does not clear what the first hit's chain has counted.
      if (i > 0) hit.rivals = 0;
      scratch.primaries.push_back(i);
      continue;
    }
    AlignedHit& primary = hits[scratch.primaries[secondary.primary]];
    hit.parent = primary.id;
    primary.second_chain_score = std::max(primary.second_chain_score, hit.chain_score);
    bool is_rival = hit.anchors >= primary.anchors;
    // Two chains may have grown into the same alignment.
    if (!same_place(hit, primary) || secondary.common != secondary.shorter) {
      primary.second_best_score = std::max(primary.second_best_score, hit.best_score);
      is_rival = is_rival || primary.best_score - hit.best_score <= 2 * settings.scores.match + settings.scores.mismatch;
    }
    if (is_rival) ++primary.rivals;
  }
}

void drop_secondary_hits(const AlignmentSettings& settings, RankingScratch& scratch, std::vector<AlignedHit>& hits) {
  std::int32_t secondary = 0;
  const auto keeps = [&](const AlignedHit& hit) {
    if (hit.primary() || hit.inversion) return true;
    if (secondary >= settings.best_count) return false;
    const AlignedHit& parent = hits[static_cast<std::size_t>(hit.parent)];
    if (as_float(hit.chain_score) < as_float(parent.chain_score) * settings.secondary_ratio &&
        std::int64_t{hit.chain_score} + 2 * settings.k < parent.chain_score)
      return false;
    const bool keep = !same_place(hit, parent) || hit.query_start != parent.query_start || hit.query_end != parent.query_end;
    if (keep) ++secondary;
    return keep;
  };
  const std::size_t kept = settings.secondary_ratio > 0 ? overlap::keep_in_order(settings.release, hits, keeps) : hits.size();
  if (kept != hits.size()) {
    scratch.renumbered.assign(hits.size(), AlignedHit::none);
    hits.resize(kept);
    for (std::size_t i = 0; i < kept; ++i) scratch.renumbered[static_cast<std::size_t>(hits[i].id)] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < kept; ++i) {
      hits[i].id = static_cast<std::int32_t>(i);
      if (hits[i].parent >= 0) hits[i].parent = scratch.renumbered[static_cast<std::size_t>(hits[i].parent)];
    }
  }
  for (AlignedHit& hit : hits) hit.leads = false;
  const auto first = std::find_if(hits.begin(), hits.end(), [](const AlignedHit& hit) { return hit.primary(); });
  if (first != hits.end()) first->leads = true;
}

void set_mapping_quality(const AlignmentSettings& settings, std::int32_t repeat_length, std::vector<AlignedHit>& hits) {
  std::int64_t primary_scores = 0;
  for (const AlignedHit& hit : hits)
    if (hit.primary()) primary_scores += hit.chain_score;
  const float unique = overlap::unique_share(primary_scores, repeat_length);
  for (AlignedHit& hit : hits) hit.mapping_quality = hit.primary() && !hit.inversion ? quality_of(settings, unique, hit) : std::uint8_t{0};
  set_inversion_quality(hits);
}

}  // namespace sluice::base_alignment
