// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "hit_selection/hits.hpp"

#include <algorithm>
#include <limits>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/byte_sort.hpp>

namespace sluice::hit_selection {
namespace {

// Wang's 32-bit integer hash.
std::uint32_t mix(std::uint32_t key) {
  key += ~(key << 15);
  key ^= key >> 10;
  key += key << 3;
  key ^= key >> 6;
  key += ~(key << 11);
  key ^= key >> 16;
  return key;
}

// The hash that orders minimizers, of whole words.
std::uint64_t mix(std::uint64_t word) { return minimizer_hash(word, ~std::uint64_t{0}); }

// The string hash of X11: 31 h + character, characters signed.
std::uint32_t name_hash(std::string_view name) {
  std::uint32_t h = 0;
  for (const char c : name) h = h * 31 + static_cast<std::uint32_t>(static_cast<signed char>(c));
  return h;
}

using Key = HitOrder::Key;

}  // namespace

std::string problem_of(const ReadChains& read, std::span<const std::int32_t> target_length) {
  if (read.read_length < 1 || read.repeat_length < 0) return "its length or repeat_length is no number of bases";
  if (read.chain_score.size() != read.chain_anchor_count.size() || read.anchors.x.size() != read.anchors.y.size())
    return "the lists of its chains differ in length";
  if (read.anchors.x.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    return "it has more than 2^31 - 1 anchors in chains";
  std::size_t total = 0;
  for (std::size_t chain = 0; chain < read.chain_score.size(); ++chain) {
    const std::int32_t count = read.chain_anchor_count[chain];
    if (count < 1 || read.chain_score[chain] < 1) return "a chain has no anchors or no score";
    total += static_cast<std::size_t>(count);
  }
  if (total != read.anchors.x.size())
    return "its chains have " + std::to_string(total) + " anchors, but " + std::to_string(read.anchors.x.size()) + " are given";
  std::size_t begin = 0;
  bool fine = true;
  for (const std::int32_t count : read.chain_anchor_count) {
    const auto strand_and_target = static_cast<std::uint32_t>(read.anchors.x[begin] >> 32);
    const auto target = static_cast<std::size_t>(target_of(read.anchors.x[begin]));
    if (target >= target_length.size()) return "an anchor is on target " + std::to_string(target) + ", which the index does not have";
    const auto limit = static_cast<std::uint32_t>(target_length[target]);
    const auto read_limit = static_cast<std::uint32_t>(read.read_length);
    const std::size_t end = begin + static_cast<std::size_t>(count);
    bool inside = true;  // no early end: this loop runs over every anchor, eight at a time
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t x = read.anchors.x[i], y = read.anchors.y[i];
      const auto span = static_cast<std::uint32_t>(y >> 32 & 0xFF);
      inside &= static_cast<std::uint32_t>(x >> 32) == strand_and_target;
      inside &= static_cast<std::uint32_t>(x) < limit;
      inside &= static_cast<std::uint32_t>(y) < read_limit;
      inside &= span - 1 <= static_cast<std::uint32_t>(y);  // false for a span of 0, too
    }
    fine = fine && inside;
    begin = end;
  }
  return fine ? std::string() : "an anchor lies outside its target or the read: is this the index that the seeds were looked up in?";
}

void make_hits(const ReadChains& read, std::uint32_t seed, ReadNames names, HitOrder& order, std::vector<Hit>& hits) {
  hits.clear();
  order.keys.clear();
  const std::uint32_t named = names == ReadNames::hashed ? name_hash(read.read_id) : 0;
  const std::uint32_t read_hash = mix(named ^ (mix(static_cast<std::uint32_t>(read.read_length)) + mix(seed)));
  std::int32_t first = 0;
  for (std::size_t chain = 0; chain < read.chain_score.size(); ++chain) {
    const std::int32_t count = read.chain_anchor_count[chain];
    const auto [x, y] = read.first_of(chain, static_cast<std::size_t>(first));
    const std::uint64_t hash = mix((mix(x) + mix(y)) ^ read_hash) & 0xFFFFFFFFU;
    const std::uint64_t score_and_count =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(read.chain_score[chain])) << 32 | static_cast<std::uint32_t>(count);
    order.keys.push_back({score_and_count ^ hash, static_cast<std::uint32_t>(hash), static_cast<std::int32_t>(chain), first});
    first += count;
  }
  overlap::byte_sort(std::span(order.keys), [](const Key& key) { return key.key; });
  hits.reserve(order.keys.size());
  for (auto key = order.keys.rbegin(); key != order.keys.rend(); ++key) {
    Hit hit;
    hit.chain = key->chain;
    hit.hash = key->hash;
    hit.first_anchor = key->first_anchor;
    hit.anchors = read.chain_anchor_count[static_cast<std::size_t>(key->chain)];
    hit.score = read.chain_score[static_cast<std::size_t>(key->chain)];
    hit.id = static_cast<std::int32_t>(hits.size());
    const auto chain = static_cast<std::size_t>(hit.chain), first = static_cast<std::size_t>(hit.first_anchor);
    const auto [first_x, first_y] = read.first_of(chain, first);
    const auto [last_x, last_y] = read.last_of(chain, first, static_cast<std::size_t>(hit.anchors));
    hit.target = target_of(first_x);
    hit.reverse = is_reverse(first_x);
    hit.target_start = static_cast<std::int32_t>(std::max<std::int64_t>(0, position(first_x) + 1 - span_of(first_y)));
    hit.target_end = static_cast<std::int32_t>(position(last_x) + 1);
    const auto start = static_cast<std::int32_t>(position(first_y) + 1 - span_of(first_y));
    const auto end = static_cast<std::int32_t>(position(last_y) + 1);
    hit.query_start = hit.reverse ? read.read_length - end : start;
    hit.query_end = hit.reverse ? read.read_length - start : end;
    hits.push_back(hit);
  }
}

void measure_block(const ReadChains& read, Hit& hit) {
  if (!read.measured.empty()) {
    const MeasuredChain& chain = read.measured[static_cast<std::size_t>(hit.chain)];
    hit.matches = chain.matches;
    hit.block = chain.block;
    return;
  }
  const AnchorList& anchors = read.anchors;
  const auto begin = static_cast<std::size_t>(hit.first_anchor);
  const std::size_t end = begin + static_cast<std::size_t>(hit.anchors);
  // In unsigned words, as chains of hostile columns may go back and forth by more than 2^31 altogether.
  auto matches = static_cast<std::uint32_t>(span_of(anchors.y[begin]));
  std::uint32_t block = matches;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const auto span = static_cast<std::int32_t>(span_of(anchors.y[i]));
    const auto on_target = static_cast<std::int32_t>(static_cast<std::uint32_t>(anchors.x[i]) - static_cast<std::uint32_t>(anchors.x[i - 1]));
    const auto on_read = static_cast<std::int32_t>(static_cast<std::uint32_t>(anchors.y[i]) - static_cast<std::uint32_t>(anchors.y[i - 1]));
    const auto [shorter, longer] = std::minmax(on_target, on_read);
    block += static_cast<std::uint32_t>(longer);
    matches += static_cast<std::uint32_t>(shorter > span ? span : shorter);
  }
  hit.matches = static_cast<std::int32_t>(matches);
  hit.block = static_cast<std::int32_t>(block);
}

}  // namespace sluice::hit_selection
