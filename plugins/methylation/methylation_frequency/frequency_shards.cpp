// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_frequency/frequency_shards.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace sluice::methylation_frequency {

FrequencyShards::FrequencyShards(double call_threshold, Groups groups, const Motif& motif)
    : call_threshold_(call_threshold),
      groups_(groups),
      motif_(motif),
      shards_(std::size_t{1} << shard_bits, {.sums = FrequencyAccumulator(call_threshold, groups, motif), .waiting = {}}) {}

AddStatus FrequencyShards::add(const Call& call) {
  // Reads that come one after the other are of one place: neighbours go to different shards.
  return for_each_site(call, call_threshold_, groups_, motif_, [this](const Call& site, Verdict) {
    const std::uint64_t spread = static_cast<std::uint64_t>(site.start) * 0x9E3779B97F4A7C15ULL;
    shards_[static_cast<std::size_t>(spread >> (64U - shard_bits))].waiting.push_back(site);
    ++waiting_calls_;
  });
}

void FrequencyShards::count(const Parallel& parallel) {
  parallel(shards_.size(), [this](std::size_t i) {
    Shard& shard = shards_[i];
    for (const Call& call : shard.waiting) shard.sums.add(call);
    shard.waiting.clear();
  });
  waiting_calls_ = 0;
}

std::vector<FrequencyShards::Place> FrequencyShards::sorted(const Parallel& parallel) const {
  std::vector<std::vector<std::uint32_t>> orders(shards_.size());
  parallel(shards_.size(), [&](std::size_t i) { shards_[i].sums.sort(orders[i]); });
  // Each site is in one shard only: those that come first in their shards, and of these the first.
  struct Front {
    Site site;
    std::uint32_t shard;
    std::size_t at;
  };
  const auto later = [](const Front& a, const Front& b) {
    if (const int names = a.site.contig.compare(b.site.contig); names != 0) return names > 0;
    return std::pair(a.site.start, a.site.end) > std::pair(b.site.start, b.site.end);
  };
  std::priority_queue<Front, std::vector<Front>, decltype(later)> fronts(later);
  std::vector<Place> places;
  std::size_t sites = 0;
  for (std::uint32_t i = 0; i < shards_.size(); ++i) {
    sites += orders[i].size();
    if (!orders[i].empty()) fronts.push({site({i, orders[i][0]}), i, 0});
  }
  places.reserve(sites);
  while (!fronts.empty()) {
    Front front = fronts.top();
    fronts.pop();
    const std::vector<std::uint32_t>& order = orders[front.shard];
    places.push_back({front.shard, order[front.at]});
    if (++front.at == order.size()) continue;
    front.site = site({front.shard, order[front.at]});
    fronts.push(front);
  }
  return places;
}

std::size_t FrequencyShards::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.sums.memory_bytes() + shard.waiting.capacity() * sizeof(Call);
  return bytes;
}

}  // namespace sluice::methylation_frequency
