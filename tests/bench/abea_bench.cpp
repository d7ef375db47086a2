// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Speed of ABEA on one core: simulated reads, whole align_events (tables, bands, backtracking, map), median of runs, for every instruction set of
// this machine. Processor time of the process, so that other work on a shared machine counts less. Run: abea_bench [k-mers per read = 8000] [runs =
// 7]

#include <hwy/highway.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sluice/methods/abea/abea.hpp>
#include <vector>

#include "../unit/signal/abea/simulated_read.hpp"

namespace {

using namespace sluice::abea;

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  const std::size_t kmers_per_read = argc > 1 ? static_cast<std::size_t>(std::atoll(argv[1])) : 8000;
  const int run_count = argc > 2 ? std::atoi(argv[2]) : 7;
  const simulation::Model model = simulation::make_model();
  std::vector<simulation::Read> reads;
  std::size_t kmers = 0;
  std::size_t bands = 0;
  for (std::uint64_t seed = 1; kmers < 800000; ++seed) {
    simulation::ReadParameters parameters;
    parameters.kmer_count = kmers_per_read;
    reads.push_back(simulation::make_read(model, parameters, seed));
    kmers += kmers_per_read;
    bands += reads.back().event_means.size() + kmers_per_read + 2;
  }
  std::printf("%zu reads of %zu k-mers, %.2f bands per k-mer\n", reads.size(), kmers_per_read,
              static_cast<double>(bands) / static_cast<double>(kmers));
  std::vector<std::int32_t> first(kmers_per_read), last(kmers_per_read);
  AlignmentWorkspace workspace;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (target == HWY_SCALAR || target == HWY_SSSE3) continue;  // these run the scalar reference
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::vector<double> times;
    BandCounts counts;
    std::size_t ok = 0;
    for (int run = 0; run < run_count; ++run) {
      counts = {};
      ok = 0;
      const std::clock_t start = std::clock();
      for (const simulation::Read& read : reads) {
        const AlignmentResult result = align_events(read.input(model), workspace, first, last);
        ok += result.status == AlignmentStatus::ok ? 1 : 0;
        counts.narrow += result.bands.narrow;
        counts.checked += result.bands.checked;
        counts.repeated += result.bands.repeated;
        counts.wide += result.bands.wide;
      }
      times.push_back(seconds_since(start));
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    const auto percent = [&](std::int64_t count) { return 100.0 * static_cast<double>(count) / static_cast<double>(bands); };
    std::printf(
        "%-6s %6.2f Mbases/s  %6.2f Gcells/s  %6.1f ns/band  (best %.2f Mbases/s); %zu ok; bands: narrow %.1f %%, checked %.1f %% (repeated %.1f "
        "%%), wide %.1f %%\n",
        hwy::TargetName(target), static_cast<double>(kmers) / median * 1e-6, static_cast<double>(bands) * band_width / median * 1e-9,
        median / static_cast<double>(bands) * 1e9, static_cast<double>(kmers) / times.front() * 1e-6, ok, percent(counts.narrow),
        percent(counts.checked), percent(counts.repeated), percent(counts.wide));
  }
  hwy::SetSupportedTargetsForTest(0);
  return 0;
}
