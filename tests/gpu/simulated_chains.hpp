// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Chains of made-up reads with their seeds, good ones and such as no stage gives; and what hits need of their anchors, by its definition.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hit_selection/selection.hpp"

namespace simulated {

struct ChainedRead {
  std::string id;
  std::int32_t length = 0;
  std::vector<std::uint64_t> seeds, x, y;
  std::vector<std::int32_t> score, count;

  sluice::hit_selection::ReadChains view() const {
    return {.read_id = id,
            .read_length = length,
            .repeat_length = length / 20,
            .seed_position = seeds,
            .chain_score = score,
            .chain_anchor_count = count,
            .anchors = {x, y}};
  }
};

class ChainMaker {
 public:
  ChainMaker(std::uint64_t seed, std::vector<std::int32_t> targets) : random_(seed), targets_(std::move(targets)) {}

  // Chains of up to so many anchors, few of which are no seeds.
  ChainedRead read(std::int32_t length, std::size_t chains, std::size_t most_anchors) {
    ChainedRead read;
    read.id = "read" + std::to_string(random_() % 1000);
    read.length = length;
    for (std::int32_t at = 50; at < length; at += static_cast<std::int32_t>(1 + below(12))) read.seeds.push_back(word(span(), at));
    if (below(20) == 0) read.seeds.clear();
    for (std::size_t i = 0; i < chains; ++i) add_chain(read, 1 + below(most_anchors));
    return read;
  }

  // Something of it is as it must not be; seeds that do not ascend are allowed.
  ChainedRead damaged(ChainedRead read) {
    const auto any = [&](auto& values) -> auto& { return values[below(values.size())]; };
    if (read.x.empty()) return read;
    switch (below(9)) {
      case 0:
        any(read.score) = 0;
        break;
      case 1:
        any(read.count) += 1;
        break;
      case 2:
        any(read.count) = static_cast<std::int32_t>(below(3)) - 2;
        break;
      case 3:
        any(read.x) ^= std::uint64_t{1} << (32 + below(32));
        break;
      case 4:
        any(read.x) |= 0xFFFFFF00U;
        break;
      case 5:
        any(read.y) += static_cast<std::uint64_t>(read.length);
        break;
      case 6:
        any(read.y) &= 0xFFFFFFFFU;
        break;
      case 7:
        read.y.pop_back();
        break;
      default:
        if (read.seeds.size() > 1) std::swap(any(read.seeds), any(read.seeds));
        if (below(2) == 0 && !read.seeds.empty()) any(read.seeds) = word(15, read.length + 3);
    }
    return read;
  }

  std::size_t below(std::size_t limit) { return random_() % limit; }

 private:
  static std::uint64_t word(std::int32_t span, std::int32_t at) { return static_cast<std::uint64_t>(span) << 32 | static_cast<std::uint32_t>(at); }
  std::int32_t span() { return static_cast<std::int32_t>(15 + (below(10) == 0 ? below(30) : 0)); }

  void add_chain(ChainedRead& read, std::size_t anchors) {
    const bool reverse = below(2) == 0;
    const std::size_t target = below(targets_.size());
    std::vector<std::uint64_t> y;  // along the forward strand
    for (std::size_t seed = read.seeds.empty() ? 0 : below(read.seeds.size()); y.size() < anchors; seed += 1 + below(3)) {
      if (read.seeds.empty() || seed >= read.seeds.size()) break;
      y.push_back(read.seeds[seed] + (below(300) == 0 ? 1 : 0));
      if (static_cast<std::int32_t>(static_cast<std::uint32_t>(y.back())) >= read.length) y.pop_back();
    }
    if (y.empty()) y.push_back(word(15, std::min(read.length - 1, 20)));
    if (reverse) {
      std::reverse(y.begin(), y.end());
      for (std::uint64_t& anchor : y) {
        const auto span = static_cast<std::int32_t>(anchor >> 32), last = static_cast<std::int32_t>(static_cast<std::uint32_t>(anchor));
        // Its last base there is its first one here.
        anchor = word(span, read.length - 1 - (last + 1 - span));
      }
    }
    std::int64_t x = 30;
    std::int64_t before = static_cast<std::uint32_t>(y.front());
    std::size_t kept = 0;
    for (const std::uint64_t anchor : y) {
      const std::int64_t here = static_cast<std::uint32_t>(anchor);
      x += std::max<std::int64_t>(0, here - before + static_cast<std::int64_t>(below(5)) - 2);
      before = here;
      if (x >= targets_[target]) break;
      read.x.push_back((reverse ? std::uint64_t{1} << 63 : 0) | static_cast<std::uint64_t>(target) << 32 | static_cast<std::uint64_t>(x));
      read.y.push_back(anchor);
      ++kept;
    }
    read.count.push_back(static_cast<std::int32_t>(kept));
    read.score.push_back(static_cast<std::int32_t>(40 + below(40) * kept));
  }

  std::mt19937_64 random_;
  std::vector<std::int32_t> targets_;
};

// Of a read without a problem whose seeds ascend.
inline std::vector<sluice::hit_selection::MeasuredChain> measured(const ChainedRead& read) {
  std::vector<sluice::hit_selection::MeasuredChain> result;
  std::size_t first = 0;
  for (const std::int32_t anchors : read.count) {
    const auto count = static_cast<std::size_t>(anchors);
    const std::size_t last = first + count - 1;
    sluice::hit_selection::MeasuredChain chain{read.x[first], read.y[first], read.x[last], read.y[last], 0, 0, 0, 0};
    std::vector<std::int32_t> on_read;  // last bases on the forward strand, in its order
    for (std::size_t i = first; i <= last; ++i) {
      const auto place = [](std::uint64_t word) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(word)); };
      const auto span = static_cast<std::int32_t>(read.y[i] >> 32 & 0xFF);
      const std::int32_t far = i == first ? span : place(read.x[i]) - place(read.x[i - 1]),
                         near = i == first ? span : place(read.y[i]) - place(read.y[i - 1]);
      chain.block += std::max(far, near);
      chain.matches += std::min(span, std::min(far, near));
      on_read.push_back((read.x[i] >> 63) != 0 ? read.length - 1 - (place(read.y[i]) + 1 - span) : place(read.y[i]));
    }
    if ((read.x[first] >> 63) != 0) std::reverse(on_read.begin(), on_read.end());
    auto at = read.seeds.begin(), met_first = read.seeds.end();
    for (const std::int32_t place : on_read) {
      const auto found = std::find_if(at, read.seeds.end(),
                                      [&](std::uint64_t seed) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(seed)) == place; });
      if (found == read.seeds.end()) break;
      if (chain.met_seeds++ == 0) met_first = found;
      chain.seeds_between = static_cast<std::int32_t>(found - met_first) + 1;
      at = found + 1;
    }
    result.push_back(chain);
    first += count;
  }
  return result;
}

// Every field of a hit, to be compared.
inline std::vector<double> fields(const sluice::hit_selection::Hit& hit) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {number(hit.chain),       number(hit.anchors),    number(hit.score),          number(hit.hash),         number(hit.target),
          number(hit.reverse),     number(hit.id),         number(hit.parent),         number(hit.second_score), number(hit.rivals),
          number(hit.query_start), number(hit.query_end),  number(hit.target_start),   number(hit.target_end),   number(hit.matches),
          number(hit.block),       number(hit.divergence), number(hit.mapping_quality)};
}

}  // namespace simulated
