// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Speed of the seeds of signal on one core: prefixes of reads of made-up levels against targets of both strands. Processor time, best of runs.
// Run: signal_seeding_bench [megabases = 3] [reads = 1000] [bases of a prefix = 250] [runs = 5]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "gpu/simulated_signal.hpp"
#include "signal_seeding/seeding.hpp"

namespace {

using namespace sluice::signal_seeding;

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  const double megabases = argc > 1 ? std::atof(argv[1]) : 3;
  const std::size_t reads = argc > 2 ? static_cast<std::size_t>(std::atoll(argv[2])) : 1000;
  const std::size_t bases = argc > 3 ? static_cast<std::size_t>(std::atoll(argv[3])) : 250;
  const int run_count = argc > 4 ? std::atoi(argv[4]) : 5;
  std::mt19937_64 random(1);
  const sluice::gpu_test::SquiggleTargets targets({static_cast<std::size_t>(megabases * 1e6)}, random);
  const SquiggleIndex index = targets.index();
  const std::vector<std::vector<std::int16_t>> signal = targets.reads(reads, bases, random);
  double best = 1e9;
  std::size_t anchors = 0;
  std::uint64_t sum = 0;
  for (int run = 0; run < run_count; ++run) {
    const std::clock_t start = std::clock();
#ifdef SEEDS_BEFORE
    ReadSeeds seeds((SeedingParameters()));
#else
    const Seeding seeding({}, index.view());
    ReadSeeds seeds(seeding);
#endif
    std::vector<Anchor> kept;
    anchors = 0;
    for (const std::vector<std::int16_t>& samples : signal) {
      seeds.restart();
#ifdef SEEDS_BEFORE
      seeds.take(samples, index.view());
#else
      seeds.take(samples);
#endif
      seeds.copy_chainable(kept);
      anchors += kept.size();
      for (const Anchor& anchor : kept) sum = (sum ^ anchor.x ^ (anchor.y << 17)) * 0x9E3779B97F4A7C15ULL;
    }
    best = std::min(best, seconds_since(start));
  }
  std::printf("%zu reads of %zu bases, %.1f Mbases: %.3f ms a read, %.0f anchors a read (%016llx)\n", reads, bases, megabases,
              best * 1e3 / static_cast<double>(reads), static_cast<double>(anchors) / static_cast<double>(reads),
              static_cast<unsigned long long>(sum));
  return 0;
}
