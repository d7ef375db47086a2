// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sites summed on several threads: each of many accumulators has the sites of some places. Calls wait until there are enough for all threads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "methylation_frequency/frequency.hpp"

namespace sluice::methylation_frequency {

class FrequencyShards {
 public:
  // Calls body(i) for each i below count, on any thread and in any order; back when all are done.
  using Parallel = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;
  // Some milliseconds of work.
  static constexpr std::size_t worth_counting = std::size_t{1} << 16;

  FrequencyShards(double call_threshold, Groups groups, const Motif& motif = parse_motif("cpg"));

  // The text of the call must stay where it is until count().
  AddStatus add(const Call& call);
  std::size_t waiting() const { return waiting_calls_; }
  void count(const Parallel& parallel);
  // After count().
  void save(StateWriter& to) const {
    for (const Shard& shard : shards_) shard.sums.save(to);
  }
  // Adds what was saved. Its calls come behind the `calls_before` ones of this one.
  void restore(StateReader& from, std::uint64_t calls_before) {
    for (Shard& shard : shards_) shard.sums.restore(from, calls_before);
  }

  // After count(): the sites of all accumulators in the order of their places.
  struct Place {
    std::uint32_t shard, site;
  };
  std::vector<Place> sorted(const Parallel& parallel) const;
  Site site(Place place) const { return shards_[place.shard].sums.site(place.site); }
  std::size_t memory_bytes() const;

 private:
  static constexpr unsigned shard_bits = 5;
  struct Shard {
    FrequencyAccumulator sums;
    std::vector<Call> waiting;
  };
  double call_threshold_;
  Groups groups_;
  Motif motif_;
  std::vector<Shard> shards_;
  std::size_t waiting_calls_ = 0;
};

}  // namespace sluice::methylation_frequency
