// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "hit_selection/selection.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::hit_selection {
namespace {

// Last base, on the forward strand of the read, of the k-mer of anchor i of the hit counted along that strand.
std::int32_t anchor_on_read(const ReadChains& read, const Hit& hit, std::int32_t i) {
  const auto at = static_cast<std::size_t>(hit.first_anchor + (hit.reverse ? hit.anchors - 1 - i : i));
  const std::uint64_t y = read.anchors.y[at];
  const auto last = static_cast<std::int32_t>(position(y));
  return hit.reverse ? read.read_length - 1 - (last + 1 - span_of(y)) : last;
}

// Index of the seed whose last base is at `place`, -1 if there is none. By bisection, whose choice among equals shows if the input has them.
std::int64_t seed_at(std::span<const std::uint64_t> seeds, std::int32_t place) {
  std::int64_t low = 0;
  std::int64_t high = static_cast<std::int64_t>(seeds.size()) - 1;
  while (low <= high) {
    const std::int64_t middle = (low + high) / 2;
    const std::int64_t at = position(seeds[static_cast<std::size_t>(middle)]);
    if (at == place) return middle;
    if (at < place)
      low = middle + 1;
    else
      high = middle - 1;
  }
  return -1;
}

struct MetSeeds {
  std::int32_t count = 0;    // 0: the first anchor is no seed
  std::int64_t between = 0;  // seeds from the first to the last of them
};

// The seeds that are the hit's anchors: the next one each time, until one is not there. By going through all seeds between them.
MetSeeds met_seeds(const ReadChains& read, const Hit& hit) {
  const std::span<const std::uint64_t> seeds = read.seed_position;
  const std::int64_t first = seed_at(seeds, anchor_on_read(read, hit, 0));
  if (first < 0) return {};
  MetSeeds met{1, 1};
  std::int32_t wanted = hit.anchors > 1 ? anchor_on_read(read, hit, 1) : -1;
  for (auto i = static_cast<std::size_t>(first) + 1; i < seeds.size() && met.count < hit.anchors; ++i) {
    if (position(seeds[i]) != wanted) continue;
    met.between = static_cast<std::int64_t>(i) - first + 1;
    if (++met.count < hit.anchors) wanted = anchor_on_read(read, hit, met.count);
  }
  return met;
}

// The same from a table of the seed that ends at each base of the read.
MetSeeds met_seeds(const ReadChains& read, const Hit& hit, std::span<const std::int32_t> seed_ending_at) {
  const auto seed_of = [&](std::int32_t anchor) { return seed_ending_at[static_cast<std::size_t>(anchor_on_read(read, hit, anchor))]; };
  const std::int32_t first = seed_of(0);
  if (first < 0) return {};
  std::int32_t last = first;
  MetSeeds met{1, 1};
  for (; met.count < hit.anchors; ++met.count) {
    const std::int32_t next = seed_of(met.count);
    if (next <= last) break;
    last = next;
  }
  met.between = last - first + 1;
  return met;
}

MetSeeds met_seeds(const MeasuredChain& chain) { return {chain.met_seeds, chain.seeds_between}; }

// -1: no seed ends there. False: there is no such table, as seeds are not in order or not on the read, or too few for its length.
bool list_ends(const ReadChains& read, std::vector<std::int32_t>& seed_ending_at) {
  constexpr std::size_t most_bases_a_seed = 256;
  if (static_cast<std::size_t>(read.read_length) > most_bases_a_seed * read.seed_position.size()) return false;
  seed_ending_at.assign(static_cast<std::size_t>(read.read_length), -1);
  std::int64_t last = -1;
  for (std::size_t i = 0; i < read.seed_position.size(); ++i) {
    const std::int64_t at = position(read.seed_position[i]);
    if (at <= last || at >= read.read_length) return false;
    seed_ending_at[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(i);
    last = at;
  }
  return true;
}

}  // namespace

float mean_span_of(std::span<const std::uint64_t> seed_position) {
  if (seed_position.empty()) return -1;
  std::uint64_t spans = 0;
  for (const std::uint64_t seed : seed_position) spans += seed >> 32 & 0xFF;
  return mean_span_of(spans, seed_position.size());
}

void set_parents(const Settings& settings, SelectionScratch& scratch, std::vector<Hit>& hits) {
  scratch.intervals.clear();
  scratch.primaries.clear();
  const overlap::MaskRules rules{settings.mask_level, settings.masking, settings.mask_length};
  for (Hit& hit : hits) {
    hit.parent = hit.id;
    hit.second_score = hit.rivals = 0;
    const std::size_t better = scratch.intervals.add(rules, {hit.query_start, hit.query_end}).primary;
    if (better == overlap::PrimaryHits::none) {
      scratch.primaries.push_back(hit.id);
      continue;
    }
    Hit& primary = hits[static_cast<std::size_t>(scratch.primaries[better])];
    hit.parent = primary.id;
    primary.second_score = std::max(primary.second_score, hit.score);
    if (hit.anchors >= primary.anchors) ++primary.rivals;
  }
}

void drop_secondary_hits(const Settings& settings, SelectionScratch& scratch, std::vector<Hit>& hits) {
  if (!(settings.secondary_ratio > 0)) return;
  const auto strand_score = static_cast<std::int32_t>(settings.max_gap * 0.8);
  std::int32_t secondary = 0;
  const auto keeps = [&](Hit& hit, const Hit& parent) {
    if (hit.primary()) return true;
    if (secondary >= settings.best_count) return false;
    bool keep = false;
    if (static_cast<float>(hit.score) >= static_cast<float>(parent.score) * settings.secondary_ratio ||
        std::int64_t{hit.score} + 2 * std::int64_t{settings.k} >= parent.score) {
      keep = !(hit.query_start == parent.query_start && hit.query_end == parent.query_end && hit.target == parent.target &&
               hit.target_start == parent.target_start && hit.target_end == parent.target_end);
    } else if (hit.score > strand_score && hit.reverse != parent.reverse) {
      keep = hit.strand_retained = true;
    }
    if (keep) ++secondary;
    return keep;
  };
  const std::size_t kept =
      overlap::keep_in_order(settings.release, hits, [&](Hit& hit) { return keeps(hit, hits[static_cast<std::size_t>(hit.parent)]); });
  if (kept == hits.size()) return;
  scratch.renumbered.assign(hits.size(), -1);
  hits.resize(kept);
  for (std::size_t i = 0; i < kept; ++i) scratch.renumbered[static_cast<std::size_t>(hits[i].id)] = static_cast<std::int32_t>(i);
  for (std::size_t i = 0; i < kept; ++i) {
    hits[i].id = static_cast<std::int32_t>(i);
    hits[i].parent = scratch.renumbered[static_cast<std::size_t>(hits[i].parent)];
  }
}

void estimate_divergence(const ReadChains& read, std::span<const std::int32_t> target_length, SelectionScratch& scratch, std::span<Hit> hits) {
  const bool is_measured = !read.measured.empty();
  const float mean_span = is_measured ? read.mean_span : mean_span_of(read.seed_position);
  if (mean_span < 0) return;
  const bool has_table = !is_measured && list_ends(read, scratch.seed_ending_at);
  for (Hit& hit : hits) {
    const MetSeeds met = is_measured ? met_seeds(read.measured[static_cast<std::size_t>(hit.chain)])
                         : has_table ? met_seeds(read, hit, scratch.seed_ending_at)
                                     : met_seeds(read, hit);
    if (met.count == 0) continue;
    std::int64_t expected = met.between;
    // One more on either side where the alignment does not end with the read or the target. (The second test asks for query_start, where one would
    // expect query_end: minimap2 does.)
    if (static_cast<float>(hit.query_start) > mean_span && static_cast<float>(hit.target_start) > mean_span) ++expected;
    const std::int32_t target_rest = target_length[static_cast<std::size_t>(hit.target)] - hit.target_end;
    if (static_cast<float>(read.read_length - hit.query_start) > mean_span && static_cast<float>(target_rest) > mean_span) ++expected;
    hit.divergence = met.count >= expected
                         ? 0.0F
                         : static_cast<float>(1.0 - std::pow(static_cast<double>(met.count) / static_cast<double>(expected), 1.0 / mean_span));
  }
}

void drop_divergent_strands(overlap::Minimap2Release release, std::vector<Hit>& hits) {
  hits.resize(overlap::keep_in_order(release, hits, [&](const Hit& hit) {
    return !hit.strand_retained || hit.divergence < hits[static_cast<std::size_t>(hit.parent)].divergence * 5.0F || hit.divergence < 0.01F;
  }));
}

void set_mapping_quality(std::int32_t repeat_length, std::int32_t min_chain_score, std::span<Hit> hits) {
  std::int64_t primary_scores = 0;
  for (const Hit& hit : hits)
    if (hit.primary()) primary_scores += hit.score;
  if (primary_scores == 0) return;  // no primary hit: all stay 0
  const float unique = overlap::unique_share(primary_scores, repeat_length);
  for (Hit& hit : hits) {
    if (!hit.primary()) continue;
    const float sure = overlap::chain_weight(hit.score, hit.anchors, unique);
    const float second = static_cast<float>(std::max(hit.second_score, min_chain_score)) / static_cast<float>(hit.score);
    const float quality = sure * 40.0F * (1.0F - second) * std::log(static_cast<float>(hit.score));
    hit.mapping_quality = static_cast<std::uint8_t>(std::clamp(overlap::whole_quality(quality) - overlap::rivals_penalty(hit.rivals), 0, 60));
  }
}

void select_hits(const ReadChains& read, std::span<const std::int32_t> target_length, const Settings& settings, SelectionScratch& scratch,
                 std::vector<Hit>& hits) {
  make_hits(read, settings.seed, settings.names, scratch.order, hits);
  if (settings.selection == Selection::best) {
    set_parents(settings, scratch, hits);
    drop_secondary_hits(settings, scratch, hits);
  }
  estimate_divergence(read, target_length, scratch, hits);
  drop_divergent_strands(settings.release, hits);
  for (Hit& hit : hits) measure_block(read, hit);
  set_mapping_quality(read.repeat_length, settings.min_chain_score, hits);
}

}  // namespace sluice::hit_selection
