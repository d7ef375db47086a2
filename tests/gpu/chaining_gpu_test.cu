// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Chaining on the device: every score and predecessor against scan_predecessors, and every chain against chains_from_scores; then timings.
// Run: chaining_gpu_test [small | check | bench | all = all] [Mbases of the simulated reference of the timings = 50]

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "chained_rows.hpp"
#include "chaining/cuda.hpp"
#include "chaining/cuda_scores.hpp"
#include "chaining/recurrences.hpp"
#include "kernel_check.hpp"
#include "simulated_anchors.hpp"

namespace {

namespace chaining = sluice::chaining;
using namespace sluice::gpu_test;

// Size of the reference of the reads whose scores are checked.
constexpr double checked_megabases = 10;

struct Table {
  std::vector<std::int32_t> score, predecessor;
};

Table expected(const AnchorRows& rows, const chaining::ChainingParameters& parameters) {
  Table table{std::vector<std::int32_t>(rows.x.size()), std::vector<std::int32_t>(rows.x.size())};
  std::vector<std::size_t> order(rows.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = [&](std::size_t row) { return static_cast<std::size_t>(rows.offsets[row + 1] - rows.offsets[row]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count(a) > count(b); });
  in_parallel(order.size(), [&](std::size_t turn) {
    std::vector<std::int32_t> stamps;
    const auto begin = static_cast<std::size_t>(rows.offsets[order[turn]]);
    const std::size_t anchors = count(order[turn]);
    chaining::scan_predecessors({std::span(rows.x).subspan(begin, anchors), std::span(rows.y).subspan(begin, anchors)}, parameters, stamps,
                                {std::span(table.score).subspan(begin, anchors), std::span(table.predecessor).subspan(begin, anchors)});
  });
  return table;
}

class Chainer {
 public:
  Chainer(const AnchorRows& rows, const chaining::ChainingParameters& parameters)
      : rules(device::step_rules(parameters)),
        offsets_(rows.offsets),
        x_(rows.x),
        y_(rows.y),
        score_(rows.x.size(), Contents::poison),
        predecessor_(rows.x.size(), Contents::poison),
        anchors{static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(rows.x.size()), offsets_.data(), x_.data(), y_.data()},
        scores{score_.data(), predecessor_.data()} {
    require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  }

  // All steps, as the stage does them. The memory of the last time is used again.
  device::ScoredRuns run() {
    std::size_t next = 0;
    return device::score_anchors(anchors, rules, scores, multiprocessors, nullptr, [&](std::size_t bytes) { return room(next++, bytes); });
  }
  void* room(std::size_t which, std::size_t bytes) {
    if (memory_.size() <= which) memory_.resize(which + 1);
    if (!memory_[which] || memory_[which]->size() < bytes) memory_[which] = std::make_unique<DeviceArray<std::byte>>(bytes, Contents::poison);
    return memory_[which]->data();
  }
  Table result() const { return {score_.download(), predecessor_.download()}; }

  const device::StepRules rules;

 private:
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<std::uint64_t> x_, y_;
  DeviceArray<std::int32_t> score_, predecessor_;
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;

 public:
  const device::DeviceAnchors anchors;
  const device::DeviceScores scores;
  int multiprocessors = 0;
};

int failures = 0;

void compare(const std::string& name, const AnchorRows& rows, const Table& want, const Table& got, const device::RunTotals& totals) {
  std::size_t different = 0, beyond = 0;
  std::string first;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (auto i = static_cast<std::size_t>(rows.offsets[row]); i < static_cast<std::size_t>(rows.offsets[row + 1]); ++i) {
      const auto place = static_cast<std::int32_t>(i - static_cast<std::size_t>(rows.offsets[row]));
      if (want.predecessor[i] >= 0 && place - want.predecessor[i] > 5000) ++beyond;
      if (want.score[i] == got.score[i] && want.predecessor[i] == got.predecessor[i]) continue;
      if (different++ == 0)
        first = "; first: row " + std::to_string(row) + " anchor " + std::to_string(place) + ", score " + std::to_string(got.score[i]) + " for " +
                std::to_string(want.score[i]) + ", predecessor " + std::to_string(got.predecessor[i]) + " for " + std::to_string(want.predecessor[i]);
    }
  }
  if (different != 0) ++failures;
  std::printf("%s %-26s %9zu anchors, %u runs, wide %u with %u anchors, %zu beyond the window: %zu different%s\n", different == 0 ? "same" : "FAILED",
              name.c_str(), rows.x.size(), totals.runs, totals.wide_runs(), totals.wide_anchors(), beyond, different, first.c_str());
}

void compare_chains(const std::string& name, ChainsOfScores& chains, const Table& scores) {
  const ChainLists got = chains.result();
  const bool is_same = got == chains.expected(scores.score, scores.predecessor);
  if (!is_same) ++failures;
  std::printf("%s %-26s %9zu chains with %zu anchors, %zu of %zu rows undecided\n", is_same ? "same" : "FAILED", name.c_str(), got.score.size(),
              got.x.size(), chains.undecided(), chains.listed());
}

void check(const std::string& name, const AnchorRows& rows, const chaining::ChainingParameters& parameters = {}) {
  Chainer chainer(rows, parameters);
  const Table want = expected(rows, parameters);
  ChainsOfScores chains(rows, parameters);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const device::ScoredRuns runs = chainer.run();
    compare(name, rows, want, chainer.result(), runs.totals);
    chains.milliseconds(chainer.anchors, chainer.scores, runs.ordinal);
    compare_chains(name, chains, want);
  }
}

std::pair<std::uint64_t, std::uint64_t> anchor(std::uint64_t contig, bool is_reverse, std::size_t target, std::size_t query,
                                               std::uint64_t span = 15) {
  return {(is_reverse ? std::uint64_t{1} << 63 : 0) | contig << 32 | target, span << 32 | query};
}

using Anchors = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Anchors scattered(simulated::Random& random, std::size_t count, std::size_t target, std::size_t query) {
  Anchors anchors;
  for (std::size_t i = 0; i < count; ++i)
    anchors.push_back(anchor(random() & 1, random() & 1, simulated::below(random, target), simulated::below(random, query), 5 + random() % 200));
  return anchors;
}

// Every period-th diagonal of a square.
Anchors tandem(simulated::Random& random, std::size_t target_length, std::size_t query_length, std::size_t period, std::size_t percent) {
  Anchors anchors;
  for (std::size_t target = 0; target < target_length; target += 1 + random() % 8)
    for (std::size_t query = (target + random() % 2) % period; query < query_length; query += period)
      if (random() % 100 < percent) anchors.push_back(anchor(3, false, 100000 + target, query));
  return anchors;
}

// A chain with gaps, and noise that fills the windows behind the gaps: the best anchor so far then lies beyond max_chain_iter.
Anchors gaps_in_noise(simulated::Random& random) {
  Anchors anchors;
  for (std::size_t query = 0; query < 9000; query += 1 + random() % 20)
    if (query / 700 % 2 == 0) anchors.push_back(anchor(0, false, query + 3, query));
  for (int i = 0; i < 3000; ++i) anchors.push_back(anchor(0, false, random() % 9000, 20000 + random() % 6000));
  return anchors;
}

AnchorRows one_row(Anchors anchors) {
  AnchorRows rows;
  rows.add(std::move(anchors));
  return rows;
}

// check_rows and copy_accepted against check_anchors, on rows of which most can't be chained.
void check_faults(simulated::Random& random) {
  std::vector<std::int64_t> x_offsets{0}, y_offsets{0};
  std::vector<std::uint64_t> x, y;
  std::vector<std::int32_t> read_length;
  std::vector<std::uint16_t> row_status;
  std::vector<std::uint8_t> want;
  for (int row = 0; row < 300; ++row) {
    const std::size_t count = row % 9 == 0 ? 0 : simulated::below(random, 500);
    Anchors anchors = scattered(random, count, 40000, 8000);
    std::sort(anchors.begin(), anchors.end());
    std::int32_t length = 8000;
    std::vector<std::uint64_t> row_x, row_y;
    for (const auto& [anchor_x, anchor_y] : anchors) {
      row_x.push_back(anchor_x);
      row_y.push_back(anchor_y);
    }
    const std::size_t place = simulated::below(random, count);
    if (row % 8 == 1 && count > 0) row_x[place] = ~row_x[place];
    if (row % 8 == 2 && count > 0) row_y[place] |= 8000;
    if (row % 8 == 3) row_y.push_back(0);
    if (row % 8 == 4) length = -1;
    if (row % 8 == 5 && count > 0) row_x.back() |= 0xFFFFFFFF;
    row_status.push_back(row % 8 == 6 ? 3 : 0);
    const auto fault = chaining::check_anchors({row_x, row_y}, length);
    want.push_back(row_status.back() != 0 ? device::row_failed_before : static_cast<std::uint8_t>(fault));
    x.insert(x.end(), row_x.begin(), row_x.end());
    y.insert(y.end(), row_y.begin(), row_y.end());
    x_offsets.push_back(static_cast<std::int64_t>(x.size()));
    y_offsets.push_back(static_cast<std::int64_t>(y.size()));
    read_length.push_back(length);
  }
  const DeviceArray<std::int64_t> device_x_offsets(x_offsets), device_y_offsets(y_offsets);
  const DeviceArray<std::uint64_t> device_x(x), device_y(y), accepted_x(x.size(), Contents::poison), accepted_y(x.size(), Contents::poison);
  const DeviceArray<std::int32_t> device_length(read_length);
  const DeviceArray<std::uint16_t> device_status(row_status);
  const DeviceArray<std::uint8_t> fault(want.size(), Contents::poison);
  const DeviceArray<std::uint32_t> any(std::vector<std::uint32_t>{0});
  const device::DeviceRows rows{
      {static_cast<std::int64_t>(want.size()), static_cast<std::int64_t>(x.size()), device_x_offsets.data(), device_x.data(), device_y.data()},
      device_y_offsets.data(),
      device_length.data(),
      device_status.data()};
  require(device::check_rows(rows, fault.data(), any.data(), nullptr), "check_rows");
  require(device::copy_accepted(rows, fault.data(), accepted_x.data(), accepted_y.data(), nullptr), "copy_accepted");
  const bool same_faults = fault.download() == want && any.download().front() == 1;

  AnchorRows accepted;
  accepted.offsets = x_offsets;
  accepted.x = accepted_x.download();
  accepted.y = accepted_y.download();
  std::size_t different = same_faults ? 0 : 1;
  for (std::size_t row = 0; row < want.size(); ++row) {
    for (std::int64_t i = x_offsets[row]; i < x_offsets[row + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i), y_at = static_cast<std::size_t>(y_offsets[row] + i - x_offsets[row]);
      if (want[row] == 0 && (accepted.x[at] != x[at] || accepted.y[at] != y[y_at])) ++different;
    }
  }
  if (different != 0) ++failures;
  std::printf("%s %-26s %9zu anchors: %zu different\n", different == 0 ? "same" : "FAILED", "rows that can't be chained", x.size(), different);
  check("beside such rows", accepted);
}

void check_made_up_sets() {
  simulated::Random random(1);
  check("no rows", AnchorRows{});
  check_faults(random);
  AnchorRows mixed;
  for (int row = 0; row < 200; ++row) mixed.add(scattered(random, row % 7 == 0 ? row % 3 : random() % 900, 40000, 8000));
  check("scattered", mixed);
  check("crowded", one_row(scattered(random, 4000, 1500, 1500)));
  AnchorRows lengths;
  for (std::size_t length = 0; length < 1100; length += 1 + length / 16) {
    Anchors anchors;
    for (std::size_t i = 0; i < length; ++i) anchors.push_back(anchor(1, true, 7000 + i * 9 + random() % 3, i * 9 + random() % 3));
    lengths.add(std::move(anchors));
  }
  check("chains of every length", lengths);
  chaining::ChainingParameters parameters;
  check("tandem repeat of 171", one_row(tandem(random, 6000, 9000, 171, 90)));
  check("short tandem repeat of 171", one_row(tandem(random, 1200, 3000, 171, 90)));
  check("tandem repeat of 2", one_row(tandem(random, 400, 400, 2, 90)));
  for (const std::int32_t iterations : {3, 50, 300, 2000}) {
    parameters.max_chain_iter = iterations;
    AnchorRows rows;
    for (int row = 0; row < 5; ++row) {
      rows.add(tandem(random, 900, 2000, 500, 50));
      rows.add(gaps_in_noise(random));
    }
    check("max_chain_iter " + std::to_string(iterations), rows, parameters);
  }
  parameters = {};
  parameters.ties = chaining::Ties::place;
  parameters.bw_long = 0;
  check("ties by place, scattered", mixed, parameters);
  check("ties by place, crowded", one_row(scattered(random, 4000, 1500, 1500)), parameters);
  check("ties by place, tandem repeat of 171", one_row(tandem(random, 6000, 9000, 171, 90)), parameters);
  parameters = {};
  const AnchorRows square = one_row(tandem(random, 700, 700, 5, 80));
  for (const std::int32_t band : {1, 20, 5000}) {
    parameters.bw = band;
    parameters.max_gap = 300;
    check("bw " + std::to_string(band), square, parameters);
  }
  parameters = {};
  parameters.chain_skip_scale = 0.1F;
  check("chain_skip_scale 0.1", square, parameters);
  parameters = {};
  parameters.chain_gap_scale = 5;
  parameters.max_gap_ref = 100;
  check("chain_gap_scale 5", square, parameters);
}

// Timings of every step, one after the other, and of all as the stage does them.
void measure(const char* name, const AnchorRows& rows, const chaining::ChainingParameters& parameters, int repeats) {
  Chainer chainer(rows, parameters);
  const device::RunTotals totals = chainer.run().totals;
  const auto runs = device::runs_in(chainer.room(0, 0), chainer.anchors.count, chainer.rules);
  const auto diagonals = device::diagonals_in(chainer.room(1, 0), totals);
  const std::string which = std::string(name) + " reads, " + std::to_string(rows.x.size() / 100000 / 10.0).substr(0, 4) + " M anchors";
  const auto time = [&](const char* step, const auto& body) {
    const double milliseconds = median_milliseconds(repeats, body);
    std::printf("TIME %-16s %8.3f ms, %s\n", step, milliseconds, which.c_str());
    return milliseconds;
  };
  time("find_runs", [&] { require(device::find_runs(chainer.anchors, chainer.rules, runs, nullptr), "find_runs"); });
  // The queues of score_windows and score_diagonals are at their ends after one use.
  const auto again = [&] { require(device::find_runs(chainer.anchors, chainer.rules, runs, nullptr), "find_runs"); };
  std::vector<double> windows, sort, score, peaks;
  const auto between = [&](std::vector<double>& times, const auto& body) {
    cudaEvent_t start = nullptr, stop = nullptr;
    require(cudaEventCreate(&start), "cudaEventCreate");
    require(cudaEventCreate(&stop), "cudaEventCreate");
    require(cudaEventRecord(start), "cudaEventRecord");
    body();
    require(cudaEventRecord(stop), "cudaEventRecord");
    require(cudaEventSynchronize(stop), "timing");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    times.push_back(milliseconds);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
  };
  for (int repeat = 0; repeat < repeats; ++repeat) {
    again();
    device::RunTotals found{};
    require(cudaMemcpy(&found, runs.totals, sizeof found, cudaMemcpyDeviceToHost), "copy from the device");
    between(windows, [&] {
      require(device::score_windows(chainer.anchors, chainer.rules, runs, found, chainer.scores, chainer.multiprocessors, nullptr), "score_windows");
    });
    between(sort, [&] { require(device::sort_diagonals(chainer.anchors, chainer.rules, runs, found, diagonals, nullptr), "sort_diagonals"); });
    between(score, [&] {
      require(device::score_diagonals(chainer.anchors, chainer.rules, runs, found, diagonals, chainer.scores, chainer.multiprocessors, nullptr),
              "score_diagonals");
    });
    between(peaks,
            [&] { require(device::settle_peaks(chainer.anchors, chainer.rules, runs, found, diagonals, chainer.scores, nullptr), "settle_peaks"); });
  }
  const auto print = [&](const char* step, std::vector<double>& times) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    std::printf("TIME %-16s %8.3f ms, %s\n", step, times[times.size() / 2], which.c_str());
  };
  print("score_windows", windows);
  print("sort_diagonals", sort);
  print("score_diagonals", score);
  print("settle_peaks", peaks);
  const double all = median_milliseconds(repeats, [&] { chainer.run(); });
  const auto window_pairs = static_cast<double>(totals.window_pairs), evaluated = static_cast<double>(totals.evaluated_pairs);
  std::printf("TIME %-16s %8.3f ms, %s: %.1f M anchors/s, %.0f Gpairs/s of %.2f G pairs in windows, %.2f G computed; wide: %u runs, %.2f M anchors\n",
              "all steps", all, which.c_str(), static_cast<double>(rows.x.size()) / 1e3 / all, window_pairs / 1e6 / all, window_pairs / 1e9,
              evaluated / 1e9, totals.wide_runs(), totals.wide_anchors() / 1e6);
  ChainsOfScores chains(rows, parameters);
  std::vector<double> chaining;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::uint32_t* const run = chainer.run().ordinal;
    chaining.push_back(chains.milliseconds(chainer.anchors, chainer.scores, run));
  }
  print("chain_rows", chaining);
  chains.measure_phases();
  chains.milliseconds(chainer.anchors, chainer.scores, chainer.run().ordinal);
  chains.print_phases(which);
  const ChainLists found = chains.result();
  std::printf("     %zu chains with %.2f M anchors, %zu of %zu rows undecided\n", found.score.size(), static_cast<double>(found.x.size()) / 1e6,
              chains.undecided(), rows.rows());
  std::fflush(stdout);
}

// Reads of a simulated reference: two kinds, as to length; and reads against each other, as sluice run overlap chains them.
template <class Use>
void with_simulated_reads(double megabases, const Use& use) {
  chaining::ChainingParameters overlap;
  overlap.bw = 2000;
  overlap.bw_long = 0;
  overlap.min_chain_score = 100;
  use("overlapping", simulated::overlap_anchors(static_cast<std::size_t>(megabases * 1e4), 1000, 30000, 15), overlap);
  simulated::Random random(7);
  const std::string reference = simulated::repetitive_reference(random, static_cast<std::size_t>(megabases * 1e6));
  const simulated::Index index(reference);
  const auto total = [&](double share) { return static_cast<std::size_t>(share * megabases * 1e6); };
  use("8 kb", simulated::read_anchors(reference, index, total(2.0), 1000, 15000, 13), chaining::ChainingParameters());
  use("long", simulated::read_anchors(reference, index, total(0.8), 50000, 150000, 14), chaining::ChainingParameters());
}

}  // namespace

int main(int count, char** arguments) {
  const CommandLine command = parse_command_line(count, arguments, 50);
  if (command.checks != Extent::none) check_made_up_sets();
  if (command.checks == Extent::full)
    with_simulated_reads(checked_megabases, [](const char* name, const AnchorRows& rows, const chaining::ChainingParameters& parameters) {
      check(name, rows, parameters);
    });
  if (command.amount > 0)
    with_simulated_reads(command.amount, [&](const char* name, const AnchorRows& rows, const chaining::ChainingParameters& parameters) {
      measure(name, rows, parameters, command.runs);
    });
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
