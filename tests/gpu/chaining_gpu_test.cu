// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Chaining scores on a CUDA device against scan_predecessors, and their speed: chaining_gpu_test [Mbases [runs [unchecked]]]
//
// Mbases: size of the simulated reference for the timings (default 50; 0: checks only, small enough for compute-sanitizer). Every score and
// predecessor of the timed sets is checked as well, unless "unchecked" is given. The exit status is 1 when any differs.

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "chaining/cuda.hpp"
#include "chaining/recurrences.hpp"
#include "simulated_anchors.hpp"

namespace {

namespace chaining = sluice::chaining;
namespace device = sluice::chaining::cuda;
using simulated::AnchorRows;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED %s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

template <class T>
struct DeviceArray {
  T* data = nullptr;
  std::size_t size = 0;

  explicit DeviceArray(std::size_t count) : size(count) { require(cudaMalloc(&data, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc"); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    require(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    require(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
    return values;
  }
  // Bytes that no result has, so that an entry nobody wrote shows.
  void poison() { require(cudaMemset(data, 0xAB, size * sizeof(T)), "cudaMemset"); }
};

struct Table {
  std::vector<std::int32_t> score, predecessor;
};

Table expected(const AnchorRows& rows, const chaining::ChainingParameters& parameters) {
  Table table{std::vector<std::int32_t>(rows.x.size()), std::vector<std::int32_t>(rows.x.size())};
  std::vector<std::size_t> order(rows.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = [&](std::size_t row) { return static_cast<std::size_t>(rows.offsets[row + 1] - rows.offsets[row]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return count(a) > count(b); });
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned int t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      std::vector<std::int32_t> stamps;
      for (std::size_t turn = next++; turn < order.size(); turn = next++) {
        const auto begin = static_cast<std::size_t>(rows.offsets[order[turn]]);
        const std::size_t anchors = count(order[turn]);
        chaining::scan_predecessors({std::span(rows.x).subspan(begin, anchors), std::span(rows.y).subspan(begin, anchors)}, parameters, stamps,
                                    {std::span(table.score).subspan(begin, anchors), std::span(table.predecessor).subspan(begin, anchors)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return table;
}

constexpr int steps = 6;
const char* const step_names[steps] = {"runs", "windows", "sort", "diagonals", "peaks", "all"};

struct Measured {
  device::RunTotals totals{};
  float milliseconds[steps] = {};
  int rounds = 0;
};

class Chainer {
 public:
  Chainer(const AnchorRows& rows, const chaining::ChainingParameters& parameters)
      : rules_(device::step_rules(parameters)),
        offsets_(rows.offsets),
        x_(rows.x),
        y_(rows.y),
        score_(rows.x.size()),
        predecessor_(rows.x.size()),
        workspace_(device::run_workspace_bytes(static_cast<std::int64_t>(rows.x.size()), rules_)) {
    anchors_ = {static_cast<std::int64_t>(rows.rows()), static_cast<std::int64_t>(rows.x.size()), offsets_.data, x_.data, y_.data};
    runs_ = device::runs_in(workspace_.data, anchors_.count, rules_);
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    multiprocessors_ = properties.multiProcessorCount;
    for (cudaEvent_t& event : events_) require(cudaEventCreate(&event), "cudaEventCreate");
    require(cudaStreamCreate(&stream_), "cudaStreamCreate");
  }
  Chainer(const Chainer&) = delete;
  Chainer& operator=(const Chainer&) = delete;
  ~Chainer() {
    for (cudaEvent_t& event : events_) cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
  }

  // The two kinds of runs one after the other, so that each can be timed.
  Measured run() {
    score_.poison();
    predecessor_.poison();
    Measured measured;
    const device::DeviceScores scores{score_.data, predecessor_.data};
    require(cudaDeviceSynchronize(), "wait");
    const auto start = std::chrono::steady_clock::now();
    mark(0);
    require(device::find_runs(anchors_, rules_, runs_, stream_), "find_runs");
    mark(1);
    device::RunTotals totals = copy_totals();
    const std::size_t bytes = device::diagonal_workspace_bytes(totals);
    if (!diagonal_workspace_ || diagonal_workspace_->size < bytes) diagonal_workspace_ = std::make_unique<DeviceArray<std::byte>>(bytes);
    const device::Diagonals diagonals = device::diagonals_in(diagonal_workspace_->data, totals);
    mark(2);
    require(device::score_windows(anchors_, rules_, runs_, totals, scores, multiprocessors_, stream_), "score_windows");
    mark(3);
    require(device::sort_diagonals(anchors_, rules_, runs_, totals, diagonals, stream_), "sort_diagonals");
    mark(4);
    for (;;) {
      mark(5);
      require(device::score_diagonals(anchors_, rules_, runs_, totals, diagonals, scores, multiprocessors_, stream_), "score_diagonals");
      mark(6);
      require(device::settle_peaks(anchors_, rules_, runs_, totals, diagonals, scores, stream_), "settle_peaks");
      mark(7);
      measured.totals = copy_totals();
      ++measured.rounds;
      measured.milliseconds[3] += between(5, 6);
      measured.milliseconds[4] += between(6, 7);
      if (measured.totals.unsettled_runs == 0) break;
      if (measured.rounds == 100) {
        std::printf("FAILED: no end of rounds\n");
        std::exit(1);
      }
    }
    measured.milliseconds[0] = between(0, 1);
    measured.milliseconds[1] = between(2, 3);
    measured.milliseconds[2] = between(3, 4);
    measured.milliseconds[5] = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - start).count();
    return measured;
  }
  Table result() const { return {score_.host(), predecessor_.host()}; }

 private:
  void mark(int event) { require(cudaEventRecord(events_[event], stream_), "cudaEventRecord"); }
  float between(int from, int to) {
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, events_[from], events_[to]), "cudaEventElapsedTime");
    return milliseconds;
  }
  device::RunTotals copy_totals() {
    device::RunTotals totals{};
    require(cudaMemcpyAsync(&totals, runs_.totals, sizeof totals, cudaMemcpyDeviceToHost, stream_), "copy from the device");
    require(cudaStreamSynchronize(stream_), "a kernel");
    return totals;
  }

  device::StepRules rules_;
  DeviceArray<std::int64_t> offsets_;
  DeviceArray<std::uint64_t> x_, y_;
  DeviceArray<std::int32_t> score_, predecessor_;
  DeviceArray<std::byte> workspace_;
  std::unique_ptr<DeviceArray<std::byte>> diagonal_workspace_;
  device::DeviceAnchors anchors_;
  device::Runs runs_;
  int multiprocessors_ = 0;
  cudaEvent_t events_[8];
  cudaStream_t stream_ = nullptr;
};

int failures = 0;

void compare(const std::string& name, const AnchorRows& rows, const Table& want, const Table& got, const Measured& measured) {
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
  std::printf("%s %-26s %9zu anchors, %u runs, wide %u with %u anchors, %d rounds, %zu beyond the window: %zu differ%s\n",
              different == 0 ? "same" : "FAILED", name.c_str(), rows.x.size(), measured.totals.runs, measured.totals.wide_runs(),
              measured.totals.wide_anchors(), measured.rounds, beyond, different, first.c_str());
}

void check(const std::string& name, const AnchorRows& rows, const chaining::ChainingParameters& parameters = {}) {
  Chainer chainer(rows, parameters);
  const Table want = expected(rows, parameters);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Measured measured = chainer.run();
    compare(name, rows, want, chainer.result(), measured);
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

void check_small_sets() {
  simulated::Random random(1);
  check("no rows", AnchorRows{});
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

enum class Results { checked, unchecked };

void measure(const char* name, const AnchorRows& rows, int repeats, Results results) {
  Chainer chainer(rows, {});
  std::vector<Measured> all;
  for (int repeat = 0; repeat < repeats + 2; ++repeat) {
    Measured measured = chainer.run();
    if (repeat >= 2) all.push_back(measured);
  }
  if (results == Results::checked) compare(name, rows, expected(rows, {}), chainer.result(), all.back());
  float median[steps];
  for (int step = 0; step < steps; ++step) {
    std::vector<float> times;
    for (const Measured& m : all) times.push_back(m.milliseconds[step]);
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    median[step] = times[times.size() / 2];
    std::printf("     %-10s %8.3f ms\n", step_names[step], median[step]);
  }
  const device::RunTotals& totals = all.back().totals;
  const auto window_pairs = static_cast<double>(totals.window_pairs), evaluated = static_cast<double>(totals.evaluated_pairs);
  const double kernels = std::accumulate(median, median + steps - 1, 0.0);
  std::printf(
      "RATE %-8s %.2f G pairs in windows, %.2f G computed; kernels %.2f ms: %.0f Gpairs/s of windows, %.0f Gpairs/s computed; %.1f M anchors/s\n",
      name, window_pairs / 1e9, evaluated / 1e9, kernels, window_pairs / 1e6 / kernels, evaluated / 1e6 / kernels,
      static_cast<double>(rows.x.size()) / 1e3 / kernels);
}

}  // namespace

int main(int count, char** arguments) {
  const double megabases = count > 1 ? std::atof(arguments[1]) : 50;
  const int repeats = count > 2 ? std::atoi(arguments[2]) : 7;
  const Results results = count > 3 && std::string(arguments[3]) == "unchecked" ? Results::unchecked : Results::checked;
  check_small_sets();
  if (megabases > 0) {
    simulated::Random random(7);
    const std::string reference = simulated::repetitive_reference(random, static_cast<std::size_t>(megabases * 1e6));
    const simulated::Index index(reference);
    const auto total = [&](double share) { return static_cast<std::size_t>(share * megabases * 1e6); };
    std::fflush(stdout);
    measure("8 kb", simulated::read_anchors(reference, index, total(2.0), 1000, 15000, 13), repeats, results);
    std::fflush(stdout);
    measure("long", simulated::read_anchors(reference, index, total(0.8), 50000, 150000, 14), repeats, results);
  }
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
