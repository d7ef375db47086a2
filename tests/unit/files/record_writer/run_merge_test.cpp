// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/hts/run_merge.hpp>
#include <utility>
#include <vector>

namespace {

using Keys = std::vector<std::uint64_t>;
using Taken = std::vector<std::pair<std::uint64_t, std::size_t>>;  // key, run

Taken merged(const std::vector<Keys>& runs) {
  std::vector<std::size_t> at(runs.size());
  const auto key = [&](std::size_t run) { return at[run] < runs[run].size() ? std::optional(runs[run][at[run]]) : std::nullopt; };
  std::vector<std::optional<std::uint64_t>> first;
  for (std::size_t run = 0; run < runs.size(); ++run) first.push_back(key(run));
  sluice::hts::RunMerge merge(first);
  Taken taken;
  while (const auto run = merge.next()) {
    taken.emplace_back(*key(*run), *run);
    ++at[*run];
    merge.replace(key(*run));
  }
  return taken;
}

}  // namespace

TEST_CASE("merged runs are what a stable sort of all makes") {
  std::uint32_t state = 1;
  const auto random = [&state](std::uint32_t below) { return (state = state * 1664525U + 1013904223U) / 16 % below; };
  for (std::size_t count = 0; count < 20; ++count) {
    std::vector<Keys> runs(count);
    Taken expected;
    for (std::size_t run = 0; run < count; ++run) {
      runs[run].resize(random(30));
      // The highest key is one like any other.
      for (std::uint64_t& key : runs[run]) key = random(5) == 0 ? ~std::uint64_t{0} : random(10);
      std::sort(runs[run].begin(), runs[run].end());
      for (const std::uint64_t key : runs[run]) expected.emplace_back(key, run);
    }
    std::stable_sort(expected.begin(), expected.end());
    CHECK(merged(runs) == expected);
  }
}
