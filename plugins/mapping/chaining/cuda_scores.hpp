// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The steps of cuda.hpp one after the other: from the anchors of a batch to all scores and predecessors.

#include <sluice/cuda.hpp>
#include <utility>

#include "chaining/cuda.hpp"

namespace sluice::chaining::cuda {

// A stream beside another one, for work that may go on at the same time. Waits for it when the object ends. One at a time on each thread, which keeps
// the stream: making one keeps all other threads out of the driver.
class SideStream {
 public:
  explicit SideStream(cudaStream_t main) : main_(main), side_(kept()) {}
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() { cudaStreamSynchronize(side_.stream); }
  cudaStream_t stream() const { return side_.stream; }
  // What comes on this stream waits for what the main stream has so far.
  void follow() { order(main_, side_.stream); }
  // And the other way round.
  void join() { order(side_.stream, main_); }

 private:
  struct Kept {
    int device = -1;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    void close() {
      if (event != nullptr) cudaEventDestroy(std::exchange(event, nullptr));
      if (stream != nullptr) cudaStreamDestroy(std::exchange(stream, nullptr));
      cudaGetLastError();
    }
    ~Kept() { close(); }
  };
  static Kept& kept() {
    thread_local Kept kept;
    int device = 0;
    sluice::cuda::check(cudaGetDevice(&device), "cudaGetDevice");
    if (kept.device == device) return kept;
    kept.close();
    kept.device = -1;
    sluice::cuda::check(cudaStreamCreateWithFlags(&kept.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    sluice::cuda::check(cudaEventCreateWithFlags(&kept.event, cudaEventDisableTiming), "cudaEventCreate");
    kept.device = device;
    return kept;
  }
  void order(cudaStream_t first, cudaStream_t then) {
    sluice::cuda::check(cudaEventRecord(side_.event, first), "cudaEventRecord");
    sluice::cuda::check(cudaStreamWaitEvent(then, side_.event, 0), "cudaStreamWaitEvent");
  }
  cudaStream_t main_;
  Kept& side_;
};

struct ScoredRuns {
  RunTotals totals{};                // their last copy
  std::uint32_t* ordinal = nullptr;  // as in Runs
};

// allocate(bytes) gives memory on the device that lives until the caller has waited for the stream. Throws Failure on errors of the device. Scores
// are complete when `stream` has come to its end.
template <class Allocate>
ScoredRuns score_anchors(const DeviceAnchors& anchors, const StepRules& rules, const DeviceScores& scores, int multiprocessors, cudaStream_t stream,
                         Allocate&& allocate) {
  using sluice::cuda::check;
  if (anchors.count == 0) return {};
  const Runs runs = runs_in(allocate(run_workspace_bytes(anchors.count, rules)), anchors.count, rules);
  const auto copy_totals = [&] {
    RunTotals totals{};
    sluice::cuda::copy_to_host(&totals, runs.totals, sizeof totals, stream);
    return totals;
  };
  check(find_runs(anchors, rules, runs, stream), "find_runs");
  const RunTotals found = copy_totals();
  if (found.wide_runs() == 0) {
    check(score_windows(anchors, rules, runs, found, scores, multiprocessors, stream), "score_windows");
    return {found, runs.ordinal};
  }
  const Diagonals diagonals = diagonals_in(allocate(diagonal_workspace_bytes(found)), found);
  SideStream windows(stream);
  windows.follow();
  check(score_windows(anchors, rules, runs, found, scores, multiprocessors, windows.stream()), "score_windows");
  check(sort_diagonals(anchors, rules, runs, found, diagonals, stream), "sort_diagonals");
  RunTotals totals{};
  do {
    check(score_diagonals(anchors, rules, runs, found, diagonals, scores, multiprocessors, stream), "score_diagonals");
    check(settle_peaks(anchors, rules, runs, found, diagonals, scores, stream), "settle_peaks");
    totals = copy_totals();
  } while (totals.unsettled_runs != 0);
  windows.join();
  return {totals, runs.ordinal};
}

}  // namespace sluice::chaining::cuda
