// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which of several sorted runs has the next record: a tree of losers (Knuth, The Art of Computer Programming 3, section 5.4.1). Of equal keys the
// first run's comes first.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::hts {

class RunMerge {
 public:
  // The first key of each run; none: the run is empty.
  explicit RunMerge(const std::vector<std::optional<std::uint64_t>>& keys) : runs_(keys.size()), losers_(std::max<std::size_t>(keys.size(), 1)) {
    std::vector<Entry> winners(2 * std::max<std::size_t>(runs_, 1));
    for (std::size_t run = 0; run < runs_; ++run) winners[runs_ + run] = entry(run, keys[run]);
    for (std::size_t node = runs_; node-- > 1;) {
      const auto [least, other] = std::minmax(winners[2 * node], winners[2 * node + 1]);
      winners[node] = least;
      losers_[node] = other;
    }
    if (runs_ > 0) winner_ = winners[1];
  }

  // The run that is next; none: all have ended.
  std::optional<std::size_t> next() const {
    if (winner_.order >= runs_) return std::nullopt;
    return winner_.order;
  }
  // That run goes on with this key; none: it has ended.
  void replace(std::optional<std::uint64_t> key) {
    const std::size_t run = winner_.order;
    winner_ = entry(run, key);
    for (std::size_t node = (runs_ + run) / 2; node > 0; node /= 2)
      if (losers_[node] < winner_) std::swap(losers_[node], winner_);
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::size_t order = 0;  // the run; of one that has ended so much higher that it comes behind all others
    bool operator<(const Entry& other) const { return key != other.key ? key < other.key : order < other.order; }
  };
  Entry entry(std::size_t run, std::optional<std::uint64_t> key) const { return key ? Entry{*key, run} : Entry{~std::uint64_t{0}, runs_ + run}; }

  std::size_t runs_;
  std::vector<Entry> losers_;  // from 1 on; the children of node i are 2 i and 2 i + 1, leaves are runs
  Entry winner_;
};

}  // namespace sluice::hts
