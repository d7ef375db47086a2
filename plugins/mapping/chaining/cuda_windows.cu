// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Scores of runs with small windows. A warp takes 32 anchors at a time, one a lane, and meets their predecessors in blocks of 32 from the nearest on.
// A block none of whose scores could win any more, even without a penalty, is passed over: the nearest of equal predecessors wins, so one that only
// equals the best so far never does. Between the 32 anchors themselves the order is that of the method.

#include <algorithm>
#include <sluice/cuda/warp.cuh>

#include "chaining/cuda_step.cuh"
#include "chaining/cuda_windows.cuh"

namespace sluice::chaining::cuda {
namespace {

constexpr int warps_per_block = 4;
constexpr int block_threads = warps_per_block * static_cast<int>(warp_lanes);
constexpr int blocks_per_multiprocessor = 12;

struct alignas(16) Predecessor {
  std::int32_t target, query, span, score;
};

struct Stretch {
  std::uint32_t begin, end;
};

// Medium runs first: the longest of them decide when the kernel ends.
__device__ Stretch task_anchors(std::uint32_t task, const DeviceAnchors& anchors, const Runs& runs, const RunTotals& totals) {
  if (task < totals.medium_runs) {
    const std::uint32_t run = runs.medium[task];
    return {runs.begin[run], runs.begin[run + 1]};
  }
  const std::uint32_t first = (task - totals.medium_runs) * stretch_anchors;
  const auto count = static_cast<std::uint32_t>(anchors.count);
  const std::uint32_t run = first == 0 ? 0 : runs.ordinal[first - 1];
  std::uint32_t last = first + stretch_anchors >= count ? totals.runs : runs.ordinal[first + stretch_anchors - 1];
  if (run == last) return {0, 0};
  // Only the last can be longer than the stretch.
  if (runs.begin[last] - runs.begin[last - 1] > small_run_anchors) --last;
  return {runs.begin[run], runs.begin[last]};
}

template <Penalty penalty>
__global__ void __launch_bounds__(block_threads)
    windows_kernel(DeviceAnchors anchors, StepRules rules, Runs runs, RunTotals totals, std::uint32_t tasks, DeviceScores scores) {
  __shared__ std::uint16_t table[most_tabled_band + 1];
  __shared__ Predecessor staged[warps_per_block][warp_lanes];
  if constexpr (penalty == Penalty::tabled) fill_penalties(table, rules);
  __syncthreads();
  const std::uint32_t lane = threadIdx.x % warp_lanes;
  Predecessor* const block = staged[threadIdx.x / warp_lanes];
  std::uint64_t evaluated = 0;
  for (;;) {
    std::uint32_t task = 0;
    if (lane == 0) task = atomicAdd(&runs.totals->next_task, 1U);
    task = __shfl_sync(whole_warp, task, 0);
    if (task >= tasks) break;
    const Stretch stretch = task_anchors(task, anchors, runs, totals);
    for (std::uint32_t tile = stretch.begin; tile < stretch.end; tile += warp_lanes) {
      const std::uint32_t i = tile + lane;
      const bool active = i < stretch.end;
      std::int32_t target = 0, query = 0, span = 0;
      std::uint32_t window = no_anchor;
      if (active) {
        const std::uint64_t x = anchors.x[i], y = anchors.y[i];
        target = device_target(x);
        query = device_query(y);
        span = device_span(y);
        window = runs.window_begin[i];
      }
      std::int32_t best = span;
      std::uint32_t chosen = no_anchor;
      const std::uint32_t lowest = __shfl_sync(whole_warp, window, 0);
      for (std::uint32_t from = tile; from > lowest;) {
        from -= warp_lanes;
        const std::uint32_t j = from + lane;
        const std::uint64_t y = anchors.y[j];
        const std::int32_t score = scores.score[j];
        const std::int32_t highest = __reduce_max_sync(whole_warp, score + device_span(y));
        const bool wanted = active && from + warp_lanes > window && best < highest;
        if (!__any_sync(whole_warp, wanted)) continue;
        block[lane] = {device_target(anchors.x[j]), device_query(y), device_span(y), score};
        __syncwarp();
        if (active && from + warp_lanes > window) evaluated += from + warp_lanes - max(window, from);
#pragma unroll 8
        for (std::uint32_t k = warp_lanes; k-- > 0;) {
          const Predecessor p = block[k];
          const Step s = step<penalty>(target, query, p.target, p.query, p.span, rules, table);
          const std::int32_t sum = p.score + s.score;
          if (s.valid && from + k >= window && sum > best) {
            best = sum;
            chosen = from + k;
          }
        }
        __syncwarp();
      }
      // Predecessors among the 32, ascending: the later of equal ones wins, but not over beginning a chain.
      block[lane] = {target, query, span, 0};
      __syncwarp();
      if (active) evaluated += i - max(window, tile);
#pragma unroll 8
      for (std::uint32_t k = 0; k < warp_lanes - 1; ++k) {
        const Predecessor p = block[k];
        const Step s = step<penalty>(target, query, p.target, p.query, p.span, rules, table);
        const bool valid = s.valid && k < lane && tile + k >= window;
        const std::int32_t sum = __shfl_sync(whole_warp, best, static_cast<int>(k)) + s.score;
        if (valid && (sum > best || (sum == best && chosen != no_anchor))) {
          best = sum;
          chosen = tile + k;
        }
      }
      if (active) {
        const std::uint32_t run = runs.ordinal[i] - 1;
        // A small max_chain_iter makes wide runs of small ones, which lie between others. They are done elsewhere.
        if (runs.window_cut[run] == 0) {
          scores.score[i] = best;
          scores.predecessor[i] = chosen == no_anchor ? -1 : static_cast<std::int32_t>(chosen - runs.row_begin[run]);
        }
      }
      __syncwarp();  // the next tile reads these scores
    }
  }
  evaluated = sluice::cuda::sum_over_warp(evaluated);
  if (lane == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&runs.totals->evaluated_pairs), evaluated);
}

}  // namespace

cudaError_t score_windows(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, const RunTotals& totals, const DeviceScores& scores,
                          int multiprocessors, cudaStream_t stream) {
  if (anchors.count <= 0) return cudaSuccess;
  const auto stretches = static_cast<std::uint32_t>((anchors.count + stretch_anchors - 1) / stretch_anchors);
  const std::uint32_t tasks = totals.medium_runs + stretches;
  const std::uint32_t most = static_cast<std::uint32_t>(multiprocessors * blocks_per_multiprocessor);
  const std::uint32_t blocks = std::min((tasks + warps_per_block - 1) / warps_per_block, most);
  if (rules.tabled) {
    windows_kernel<Penalty::tabled><<<blocks, block_threads, 0, stream>>>(anchors, rules, runs, totals, tasks, scores);
  } else {
    windows_kernel<Penalty::computed><<<blocks, block_threads, 0, stream>>>(anchors, rules, runs, totals, tasks, scores);
  }
  return cudaGetLastError();
}

}  // namespace sluice::chaining::cuda
