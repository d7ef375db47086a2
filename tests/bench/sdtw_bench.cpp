// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Speed of subsequence DTW on one core: random levels, one query after the other, for every instruction set of this machine; whole searches and
// streams in chunks. Processor time, best of runs. Run: sdtw_bench [columns of each strand = 48502] [query levels = 2222] [runs = 5] [chunk = 200]

#include <hwy/highway.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "sdtw/search.hpp"

namespace {

using namespace sluice::sdtw;

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

std::vector<std::int16_t> random_levels(std::size_t size, std::mt19937_64& random) {
  std::normal_distribution<double> level(0.0, 16.0);
  std::vector<std::int16_t> levels(size);
  for (std::int16_t& value : levels) value = static_cast<std::int16_t>(std::clamp(level(random), -63.0, 63.0));
  return levels;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t columns = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) : 48502;
  const std::size_t query_levels = argc > 2 ? static_cast<std::size_t>(std::atoll(argv[2])) : 2222;
  const int run_count = argc > 3 ? std::atoi(argv[3]) : 5;
  const std::size_t chunk = argc > 4 ? static_cast<std::size_t>(std::atoll(argv[4])) : 200;
  std::mt19937_64 random(1);
  Reference reference;
  reference.add_target(random_levels(columns, random), random_levels(columns, random));
  const std::vector<std::int16_t> query = random_levels(query_levels, random);
  const double cells = static_cast<double>(reference.columns()) * static_cast<double>(query_levels);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    Workspace workspace;
    const auto gigacells = [&](const auto& body) {
      double best = 1e9;
      for (int run = 0; run < run_count; ++run) {
        const std::clock_t start = std::clock();
        body();
        best = std::min(best, seconds_since(start));
      }
      return cells / best * 1e-9;
    };
    const Search manhattan(reference, {Cost::manhattan, ReferenceDeletions::forbidden}),
        squared(reference, {Cost::squared, ReferenceDeletions::forbidden});
    std::int64_t sum = 0;
    const double search = gigacells([&] { sum += manhattan.find(query, Search::PathStart::unwanted, workspace).hit.score; });
    const double with_start = gigacells([&] { sum += manhattan.find(query, Search::PathStart::wanted, workspace).first_column; });
    const double wide = gigacells([&] { sum += squared.find(query, Search::PathStart::unwanted, workspace).hit.score; });
    Stream stream;
    const double chunked = gigacells([&] {
      stream.restart();
      for (std::size_t at = 0; at < query.size(); at += chunk)
        stream.advance(manhattan, std::span(query).subspan(at, std::min(chunk, query.size() - at)), workspace);
    });
    std::printf("%-6s Gcells/s: Manhattan %.1f, with the path's start %.1f, in chunks of %zu levels %.1f, squared %.1f (%lld)\n",
                hwy::TargetName(target), search, with_start, chunk, chunked, wide, static_cast<long long>(sum));
  }
  hwy::SetSupportedTargetsForTest(0);
  return 0;
}
