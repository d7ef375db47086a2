// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scores and predecessors of the first engine on a CUDA device, for all rows of a batch at once: those of scan_predecessors without a limit of skips.
//
//   check_rows        which rows can't be chained; copy_accepted replaces their anchors
//   find_runs         cuts the anchors into runs, between which no step leads, and finds every anchor's window
//   (the caller copies RunTotals to the host and waits)
//   score_windows     the runs whose windows are small, one warp a run, all predecessors of a window
//   sort_diagonals    the runs whose windows are wide: their anchors by diagonal
//   score_diagonals   their scores
//   settle_peaks      whether the rule of the best anchor beyond max_chain_iter changes any; if so, score_diagonals and settle_peaks again
//
// Plain functions over device pointers and a stream. Nothing here allocates, waits or keeps state; what a function returns are the errors of its own
// launches. score_windows and the functions for wide runs touch different anchors, and may run on two streams at once; cuda_scores.hpp does.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "chaining/chain_score.hpp"
#include "chaining/chaining.hpp"

namespace sluice::chaining::cuda {

// Anchors of all rows: a list column. Anchors of a row must have passed check_anchors; others give scores without meaning.
struct DeviceAnchors {
  std::int64_t rows = 0;
  std::int64_t count = 0;                 // at most most_anchors
  const std::int64_t* offsets = nullptr;  // rows + 1
  const std::uint64_t* x = nullptr;
  const std::uint64_t* y = nullptr;
};
inline constexpr std::int64_t most_anchors = std::int64_t{INT32_MAX} - 4096;

// Steps of larger band cost an evaluation of the penalty instead of a look-up.
inline constexpr std::int32_t most_tabled_band = 4095;

struct StepRules {
  StepLimits limits;
  StepCosts costs;
  std::int32_t max_chain_iter;
  bool tabled;  // the penalty depends on the difference of the gaps only, and fits the table
};
StepRules step_rules(const ChainingParameters& parameters);

// What a row is excluded for. The first values are those of AnchorFault.
inline constexpr std::uint8_t row_failed_before = 255;

// Anchors and read lengths of a batch, as they come.
struct DeviceRows {
  DeviceAnchors anchors;
  const std::int64_t* y_offsets = nullptr;    // rows + 1
  const std::int32_t* read_length = nullptr;  // per row
  const std::uint16_t* row_status = nullptr;  // null: all fine
};

// Per row what check_anchors says (of a row that failed before: row_failed_before). Sets *any to 1 if a row with anchors is excluded; it must be 0.
cudaError_t check_rows(const DeviceRows& rows, std::uint8_t* fault, std::uint32_t* any, cudaStream_t stream);

// Copies the anchors, x and y at the places of x. Excluded rows get anchors that no step leads to or from.
cudaError_t copy_accepted(const DeviceRows& rows, const std::uint8_t* fault, std::uint64_t* x, std::uint64_t* y, cudaStream_t stream);

struct DeviceScores {
  std::int32_t* score = nullptr;        // one per anchor
  std::int32_t* predecessor = nullptr;  // place in the row; -1: none
};

struct RunTotals {
  std::uint64_t window_pairs;     // anchors times predecessors within reach and max_chain_iter
  std::uint64_t evaluated_pairs;  // of these, steps that were computed (score_windows, score_diagonals)
  std::uint64_t wide;             // wide runs << 32 | their anchors
  std::uint32_t runs;
  std::uint32_t medium_runs;
  std::uint32_t next_task;       // the queue of score_windows
  std::uint32_t unsettled_runs;  // by settle_peaks

  std::uint32_t wide_runs() const { return static_cast<std::uint32_t>(wide >> 32); }
  std::uint32_t wide_anchors() const { return static_cast<std::uint32_t>(wide); }
};

// A run with wide windows; its anchors are numbered from `first_sorted` on in the arrays of wide runs.
struct WideRun {
  std::uint32_t begin;  // first anchor
  std::uint32_t anchors;
  std::uint32_t first_sorted;
  std::uint32_t row_begin;    // first anchor of its row
  std::uint32_t next_anchor;  // the queue of score_diagonals, counted from `begin`
};

struct Runs {
  RunTotals* totals = nullptr;
  std::uint32_t* ordinal = nullptr;         // per anchor: runs that begin at or before it
  std::uint32_t* begin = nullptr;           // per run, and one more: its first anchor
  std::uint32_t* row_begin = nullptr;       // per run: the first anchor of its row
  std::uint32_t* window_begin = nullptr;    // per anchor: the first of its possible predecessors
  std::uint8_t* window_cut = nullptr;       // per run: max_chain_iter cut a window
  std::uint64_t* long_run_pairs = nullptr;  // of runs with many anchors, at the place of their first anchor over that many
  std::uint32_t* long_run_query = nullptr;  // likewise: the highest place on the read
  std::uint32_t* medium = nullptr;          // runs
  WideRun* wide = nullptr;
  void* scan_space = nullptr;
  std::size_t scan_bytes = 0;
};

// Parts of a workspace of run_workspace_bytes, 256-byte aligned.
std::size_t run_workspace_bytes(std::int64_t anchors, const StepRules& rules);
Runs runs_in(void* workspace, std::int64_t anchors, const StepRules& rules);

cudaError_t find_runs(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, cudaStream_t stream);

// `totals`: a copy on the host.
cudaError_t score_windows(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals, const DeviceScores& scores,
                          int multiprocessors, cudaStream_t stream);

// What the anchors of a wide run are looked up by, in the order of anchors: stretches of the sorted anchors.
struct Reach {
  std::uint32_t place;  // its own
  std::uint32_t same;   // predecessors on the same stripe of diagonals, which end at `place`
  std::uint32_t below, below_count;
  std::uint32_t above, above_count;
  std::uint32_t unused[2];
};

// An anchor of a wide run, in the order of diagonals.
struct alignas(16) SortedAnchor {
  std::int32_t target, query, span;
  std::uint32_t number;  // first_sorted + its place in the run
};

struct Diagonals {
  std::uint64_t* stripe[2] = {nullptr, nullptr};  // run << 32 | stripe of diagonals, unsorted and sorted
  std::uint32_t* number[2] = {nullptr, nullptr};  // of the anchor, likewise
  std::uint32_t* ordinal = nullptr;               // per sorted anchor: stripes that begin at or before it
  std::uint32_t* stripe_begin = nullptr;          // per stripe, and one more
  SortedAnchor* sorted = nullptr;
  std::int32_t* sorted_score = nullptr;
  Reach* reach = nullptr;
  std::int32_t* offered = nullptr;  // by number: the anchor beyond the window that is tried as well, by number; -1: none
  void* sort_space = nullptr;
  std::size_t sort_bytes = 0;
};
std::size_t diagonal_workspace_bytes(const RunTotals& totals);
Diagonals diagonals_in(void* workspace, const RunTotals& totals);

cudaError_t sort_diagonals(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals,
                           const Diagonals& diagonals, cudaStream_t stream);
cudaError_t score_diagonals(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals,
                            const Diagonals& diagonals, const DeviceScores& scores, int multiprocessors, cudaStream_t stream);

// Sets RunTotals::unsettled_runs, and makes ready the anchors that have to be scored again.
cudaError_t settle_peaks(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals, const Diagonals& diagonals,
                         const DeviceScores& scores, cudaStream_t stream);

}  // namespace sluice::chaining::cuda
