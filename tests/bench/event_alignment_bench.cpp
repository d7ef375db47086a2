// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Speed of aligning events to the reference on one core, for each instruction set: event_alignment_bench [Mbases [runs [k]]]
//
// The reads are simulated (tests/unit/signal/event_alignment/simulated_record.hpp): 8,000 aligned bases of the reference each, 1.8 events a base, 6 %
// errors, alternate strands, a random model. Rates are aligned bases of the reference per second of processor time, medians of the runs. A cell is a
// k-mer and an event of one segment; segments overlap, so that each base has many.

#include <hwy/targets.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "event_alignment/event_alignment.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace {

using namespace sluice;
using namespace sluice::event_alignment;

// Seconds of processor time, which other programs on the machine disturb less than the clock on the wall.
double median_seconds(int runs, const auto& body) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const std::clock_t start = std::clock();
    body();
    times.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double cells = 0;
void count_cells(const Segment& segment, const KmerModelView& model, Workspace& workspace) {
  cells += static_cast<double>(segment.rows) * static_cast<double>(segment.sequence.size() - model.k + 1);
  segment_path(segment, model, workspace);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const double megabases = argument_count > 1 ? std::atof(arguments[1]) : 0.4;
  const int runs = argument_count > 2 ? std::max(1, std::atoi(arguments[2])) : 5;
  const auto k = static_cast<std::uint32_t>(argument_count > 3 ? std::max(1, std::atoi(arguments[3])) : 6);
  constexpr std::size_t kReadLength = 8000;
  std::mt19937_64 random(1);
  const simulation::Model simulated_model(k);
  const CheckedModel model(simulated_model.view);
  std::vector<simulation::SimulatedRecord> records;
  const auto read_count = std::max<std::size_t>(1, static_cast<std::size_t>(megabases * 1e6 / kReadLength));
  for (std::size_t i = 0; i < read_count; ++i)
    records.push_back(simulate_record(simulated_model, i % 2 == 0 ? Strand::forward : Strand::reverse, {.aligned_bases = kReadLength}, random));
  const double bases = static_cast<double>(read_count * kReadLength);

  Workspace workspace;
  EventPath path;
  std::size_t written = 0;
  const auto align_all = [&](SegmentPath segment_path) {
    written = 0;
    for (const auto& record : records) {
      align_events(record.view(), model, {}, segment_path, workspace, path);
      written += path.event.size();
    }
  };
  align_all(count_cells);
  std::printf("%.1f Mbases in %zu reads, %zu events written, %.0f cells a base\n", bases / 1e6, read_count, written, cells / bases);
  const auto print = [&](const char* name, double seconds) {
    std::printf("%-10s %8.3f Mbases/s %8.1f Mcells/s\n", name, bases / seconds / 1e6, cells / seconds / 1e6);
  };
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4, HWY_NEON}) {
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    print(segment_path_target(), median_seconds(runs, [&] { align_all(segment_path); }));
  }
  hwy::SetSupportedTargetsForTest(0);
  print("reference", median_seconds(1, [&] { align_all(segment_path_reference); }));
  return EXIT_SUCCESS;
}
