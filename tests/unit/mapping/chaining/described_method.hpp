// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The chaining of minimap2 2.24 as its description says (Li 2018; Li 2021), in the simplest way, with numbers of its own: it shares nothing with the
// plugin but the names of parameters, so that a constant that is wrong in a header of the plugin is wrong here nowhere.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "made_up_anchors.hpp"

namespace sluice::chaining::described {

struct Anchor {
  std::uint64_t x, y;
  std::uint32_t lane() const { return static_cast<std::uint32_t>(x >> 32); }  // strand and target
  std::int64_t r() const { return static_cast<std::int64_t>(x & 0xFFFFFFFF); }
  std::int64_t q() const { return static_cast<std::int64_t>(y & 0xFFFFFFFF); }
  std::int64_t span() const { return static_cast<std::int64_t>(y >> 32 & 0xFF); }
};

// Buckets of one byte from the top, filled as an American flag is; 64 records or fewer by insertion.
template <class Record, class Key>
void sort_as_minimap2(std::vector<Record>& records, std::size_t begin, std::size_t end, const Key& key, int shift = 56) {
  const auto at = [&](std::size_t i) { return records.begin() + static_cast<std::ptrdiff_t>(i); };
  if (end - begin <= 64) {
    std::stable_sort(at(begin), at(end), [&](const Record& a, const Record& b) { return key(a) < key(b); });
    return;
  }
  const auto digit = [&](const Record& record) { return static_cast<std::size_t>(key(record) >> shift & 0xFF); };
  std::vector<std::size_t> first(257, begin);
  for (std::size_t b = 0; b < 256; ++b)
    first[b + 1] = first[b] + static_cast<std::size_t>(std::count_if(at(begin), at(end), [&](const Record& r) { return digit(r) == b; }));
  std::vector<std::size_t> cursor(first.begin(), first.end() - 1);
  for (std::size_t b = 0; b < 256; ++b) {
    while (cursor[b] != first[b + 1]) {
      Record carried = records[cursor[b]];
      while (digit(carried) != b) std::swap(carried, records[cursor[digit(carried)]++]);
      records[cursor[b]++] = carried;
    }
  }
  for (std::size_t b = 0; shift > 0 && b < 256; ++b) sort_as_minimap2(records, first[b], first[b + 1], key, shift - 8);
}

inline float log2_of(std::int64_t x) {
  int exponent = 0;
  const float mantissa = 2 * std::frexp(static_cast<float>(x), &exponent);
  return static_cast<float>(exponent - 2) + ((-0.34484843F * mantissa + 2.02466578F) * mantissa - 0.67487759F);
}

struct Costs {
  explicit Costs(const ChainingParameters& p)
      : gap(static_cast<float>(static_cast<double>(p.chain_gap_scale) * 0.01 * p.k)),
        skip(static_cast<float>(static_cast<double>(p.chain_skip_scale) * 0.01 * p.k)) {}
  std::int64_t of(std::int64_t difference, std::int64_t shorter) const {
    const float linear = gap * static_cast<float>(difference) + skip * static_cast<float>(shorter);
    const float logarithm = difference >= 1 ? log2_of(difference + 1) : 0.0F;
    return static_cast<std::int64_t>(linear + 0.5F * logarithm);
  }
  float gap, skip;
};

struct Scores {
  std::vector<std::int64_t> score, predecessor;
};

inline Scores first_pass(const std::vector<Anchor>& anchors, const ChainingParameters& p) {
  const Costs costs(p);
  const std::int64_t on_target = std::max(p.max_gap_ref > 0 ? p.max_gap_ref : p.max_gap, p.bw), on_read = std::max(p.max_gap, p.bw);
  const auto n = static_cast<std::int64_t>(anchors.size());
  const auto a = [&](std::int64_t i) -> const Anchor& { return anchors[static_cast<std::size_t>(i)]; };
  const auto step = [&](std::int64_t i, std::int64_t j) -> std::optional<std::int64_t> {
    const std::int64_t dq = a(i).q() - a(j).q(), dr = a(i).r() - a(j).r(), dd = std::abs(dr - dq), shorter = std::min(dr, dq);
    if (dq <= 0 || dq > on_target || dr == 0 || dq > on_read || dd > p.bw) return {};
    return std::min(a(j).span(), shorter) - (dd > 0 || shorter > a(j).span() ? costs.of(dd, shorter) : 0);
  };
  const auto within_reach = [&](std::int64_t i, std::int64_t j) { return a(i).lane() == a(j).lane() && a(i).r() <= a(j).r() + on_target; };
  Scores made{std::vector<std::int64_t>(anchors.size()), std::vector<std::int64_t>(anchors.size(), -1)};
  const auto f = [&](std::int64_t i) -> std::int64_t& { return made.score[static_cast<std::size_t>(i)]; };
  std::int64_t start = 0, peak = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    while (!within_reach(i, start)) ++start;
    start = std::max<std::int64_t>(start, i - p.max_chain_iter);
    std::int64_t best = a(i).span(), chosen = -1;
    for (std::int64_t j = i - 1; j >= start; --j)
      if (const auto s = step(i, j); s && *s + f(j) > best) best = *s + f(j), chosen = j;
    if (peak < 0 || !within_reach(i, peak)) {
      peak = -1;
      for (std::int64_t j = i - 1; j >= start; --j)
        if (peak < 0 || f(j) > f(peak)) peak = j;
    }
    if (peak >= 0 && peak < start - 1)
      if (const auto s = step(i, peak); s && *s + f(peak) > best) best = *s + f(peak), chosen = peak;
    f(i) = best;
    made.predecessor[static_cast<std::size_t>(i)] = chosen;
    if (peak < 0 || (within_reach(i, peak) && f(peak) < best)) peak = i;
  }
  return made;
}

// Nothing: two anchors cost the same, so that the shape of minimap2's tree decides.
inline std::optional<Scores> second_pass(const std::vector<Anchor>& anchors, const ChainingParameters& p, std::int64_t bw) {
  const Costs costs(p);
  const std::int64_t reach = std::max<std::int64_t>(p.max_gap, bw);
  const std::int64_t near_reach = p.rmq_inner_dist > 0 && p.rmq_inner_dist < reach ? p.rmq_inner_dist : 0;
  const auto n = static_cast<std::int64_t>(anchors.size());
  const auto a = [&](std::int64_t i) -> const Anchor& { return anchors[static_cast<std::size_t>(i)]; };
  Scores made{std::vector<std::int64_t>(anchors.size()), std::vector<std::int64_t>(anchors.size(), -1)};
  const auto f = [&](std::int64_t i) -> std::int64_t& { return made.score[static_cast<std::size_t>(i)]; };
  const auto difference = [&](std::int64_t i, std::int64_t j) { return std::abs((a(i).r() - a(j).r()) - (a(i).q() - a(j).q())); };
  const auto joined = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t dq = a(i).q() - a(j).q(), dr = a(i).r() - a(j).r(), dd = std::abs(dr - dq), shorter = std::min(dr, dq);
    return f(j) + std::min(a(j).span(), shorter) - (dd > 0 || dq > a(j).span() ? costs.of(dd, shorter) : 0);
  };
  const auto drop = [&](std::int64_t& start, std::int64_t i, std::int64_t known, std::int64_t distance) {
    while (start < i && (a(start).lane() != a(i).lane() || a(i).r() > a(start).r() + distance || known - start > p.rmq_size_cap)) ++start;
  };
  std::int64_t known = 0, start = 0, near_start = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (a(known).x != a(i).x) known = i;
    drop(start, i, known, reach);
    drop(near_start, i, known, near_reach);
    std::int64_t best = a(i).span(), chosen = -1, cheapest = -1, equals = 0;
    double lowest = std::numeric_limits<double>::max();
    for (std::int64_t j = start; j < known; ++j) {
      if (a(j).q() <= a(i).q() - reach || a(j).q() > a(i).q() || (a(j).q() == a(i).q() && j > 0)) continue;
      const double cost = -(static_cast<double>(f(j)) + 0.5 * static_cast<double>(costs.gap) * static_cast<double>(a(j).r() + a(j).q()));
      if (cost < lowest) lowest = cost, cheapest = j, equals = 0;
      if (cost == lowest) ++equals;
    }
    if (equals > 1) return {};
    if (cheapest >= 0) {
      if (difference(i, cheapest) <= bw && joined(i, cheapest) > best) best = joined(i, cheapest), chosen = cheapest;
      const bool adjoins = difference(i, cheapest) == 0 && a(i).q() - a(cheapest).q() <= a(cheapest).span();
      if (!adjoins && near_reach > 0 && near_start < known && a(i).q() > 0) {
        std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> near;
        for (std::int64_t j = near_start; j < known; ++j)
          if (a(j).q() < a(i).q() && a(j).q() >= a(i).q() - near_reach && difference(i, j) <= bw) near[{a(j).q(), j}] = joined(i, j);
        for (auto at = near.rbegin(); at != near.rend(); ++at)
          if (at->second > best) best = at->second, chosen = at->first.second;
      }
    }
    f(i) = best;
    made.predecessor[static_cast<std::size_t>(i)] = chosen;
  }
  return made;
}

struct Chain {
  std::int64_t score;
  std::vector<Anchor> anchors;
};

inline std::vector<Chain> walk_back(const std::vector<Anchor>& anchors, const Scores& made, const ChainingParameters& p, std::int64_t most_drop) {
  using End = std::pair<std::uint64_t, std::size_t>;
  std::vector<End> ends;
  for (std::size_t i = 0; i < anchors.size(); ++i)
    if (made.score[i] >= p.min_chain_score) ends.emplace_back(static_cast<std::uint64_t>(made.score[i]), i);
  sort_as_minimap2(ends, 0, ends.size(), [](const End& end) { return end.first; });
  std::vector<bool> used(anchors.size());
  std::vector<Chain> chains;
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    const auto last = static_cast<std::int64_t>(end->second);
    if (used[end->second]) continue;
    std::int64_t at = last, best = 0, stop = last;
    do {
      at = made.predecessor[static_cast<std::size_t>(at)];
      const std::int64_t s = made.score[end->second] - (at < 0 ? 0 : made.score[static_cast<std::size_t>(at)]);
      if (s > best)
        best = s, stop = at;
      else if (best - s > most_drop)
        break;
    } while (at >= 0 && !used[static_cast<std::size_t>(at)]);
    Chain chain{made.score[end->second] - (stop < 0 ? 0 : made.score[static_cast<std::size_t>(stop)]), {}};
    for (std::int64_t i = last; i != stop; i = made.predecessor[static_cast<std::size_t>(i)]) {
      used[static_cast<std::size_t>(i)] = true;
      chain.anchors.insert(chain.anchors.begin(), anchors[static_cast<std::size_t>(i)]);
    }
    if (chain.score >= p.min_chain_score && !chain.anchors.empty() && static_cast<std::int64_t>(chain.anchors.size()) >= p.min_cnt)
      chains.push_back(chain);
  }
  sort_as_minimap2(chains, 0, chains.size(), [](const Chain& chain) { return chain.anchors.front().x; });
  return chains;
}

// Nothing: the shape of a tree decides. Without a limit of skips.
inline std::optional<std::vector<Chain>> chains_of(const MadeUpRead& read, const ChainingParameters& p) {
  std::vector<Anchor> anchors;
  for (std::size_t i = 0; i < read.x.size(); ++i) anchors.push_back({read.x[i], read.y[i]});
  std::vector<Chain> chains = walk_back(anchors, first_pass(anchors, p), p, p.bw);
  if (p.bw_long <= p.bw || chains.size() < 2) return chains;
  const std::int64_t covered = chains[0].anchors.back().q() - chains[0].anchors.front().q();
  if (read.length - covered <= p.rmq_rescue_size && static_cast<float>(covered) <= static_cast<float>(read.length) * p.rmq_rescue_ratio)
    return chains;
  anchors.clear();
  for (const Chain& chain : chains) anchors.insert(anchors.end(), chain.anchors.begin(), chain.anchors.end());
  sort_as_minimap2(anchors, 0, anchors.size(), [](const Anchor& anchor) { return anchor.x; });
  const auto made = second_pass(anchors, p, p.bw_long);
  if (!made) return {};
  return walk_back(anchors, *made, p, p.bw_long);
}

}  // namespace sluice::chaining::described
