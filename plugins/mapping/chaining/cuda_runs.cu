// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Runs and windows of anchors: see cuda.hpp.

#include <algorithm>
#include <cub/device/device_scan.cuh>
#include <sluice/cuda/warp.cuh>

#include "chaining/cuda_step.cuh"
#include "chaining/cuda_windows.cuh"

namespace sluice::chaining::cuda {
namespace {

constexpr int threads = 256;

unsigned int blocks_of(std::int64_t items) { return static_cast<unsigned int>((items + threads - 1) / threads); }

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::size_t scan_bytes_of(std::int64_t anchors) {
  std::size_t bytes = 0;
  const std::uint32_t* from = nullptr;
  std::uint32_t* to = nullptr;
  cub::DeviceScan::InclusiveSum(nullptr, bytes, from, to, anchors);
  return bytes;
}

// One call of it adds up the bytes, another gives the parts out.
template <class Take>
void lay_out(std::int64_t anchors, const StepRules& rules, Runs& runs, Take&& take) {
  const auto n = static_cast<std::size_t>(anchors);
  const std::size_t fewest_of_wide = std::min<std::size_t>(long_run_anchors, static_cast<std::size_t>(rules.max_chain_iter) + 1);
  runs.scan_bytes = scan_bytes_of(anchors);
  take(runs.totals, 1);
  take(runs.long_run_pairs, n / long_run_anchors + 1);
  take(runs.long_run_query, n / long_run_anchors + 1);
  take(runs.window_cut, n);
  take(runs.ordinal, n);
  take(runs.begin, n + 1);
  take(runs.row_begin, n);
  take(runs.window_begin, n);
  take(runs.medium, n / small_run_anchors + 1);
  take(runs.wide, n / fewest_of_wide + 1);
  auto* space = static_cast<std::byte*>(nullptr);
  take(space, runs.scan_bytes);
  runs.scan_space = space;
}

__global__ void __launch_bounds__(threads) mark_rows_kernel(DeviceAnchors anchors, std::uint32_t* head) {
  const std::int64_t row = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (row < anchors.rows && anchors.offsets[row] < anchors.offsets[row + 1]) head[anchors.offsets[row]] = 1;
}

__global__ void __launch_bounds__(threads) mark_heads_kernel(DeviceAnchors anchors, StepRules rules, std::uint32_t* head) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= anchors.count) return;
  if (i == 0) {
    head[0] = 1;
    return;
  }
  const std::uint64_t x = anchors.x[i], before = anchors.x[i - 1];
  if (x >> 32 != before >> 32 || x > before + static_cast<std::uint64_t>(rules.limits.target_gap)) head[i] = 1;
}

// The row of an anchor begins at the last offset that is not behind it.
__device__ std::uint32_t row_begin_of(const DeviceAnchors& anchors, std::int64_t anchor) {
  std::int64_t low = 0, high = anchors.rows;  // offsets[low] <= anchor < offsets[high]
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (anchors.offsets[middle] <= anchor) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return static_cast<std::uint32_t>(anchors.offsets[low]);
}

__global__ void __launch_bounds__(threads) list_runs_kernel(DeviceAnchors anchors, Runs runs) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= anchors.count) return;
  const std::uint32_t ordinal = runs.ordinal[i];
  if (i == anchors.count - 1) {
    runs.begin[ordinal] = static_cast<std::uint32_t>(anchors.count);
    runs.totals->runs = ordinal;
  }
  if (i != 0 && runs.ordinal[i - 1] == ordinal) return;
  runs.begin[ordinal - 1] = static_cast<std::uint32_t>(i);
  runs.row_begin[ordinal - 1] = row_begin_of(anchors, i);
}

__global__ void __launch_bounds__(threads) find_windows_kernel(DeviceAnchors anchors, StepRules rules, Runs runs) {
  __shared__ std::uint64_t block_pairs;
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (threadIdx.x == 0) block_pairs = 0;
  __syncthreads();
  std::uint64_t pairs = 0;
  std::uint32_t query = 0;
  std::uint32_t run = no_anchor;
  std::uint32_t run_begin = 0;
  bool is_long = false;
  if (i < anchors.count) {
    run = runs.ordinal[i] - 1;
    run_begin = runs.begin[run];
    is_long = runs.begin[run + 1] - run_begin >= long_run_anchors;
    const auto anchor = static_cast<std::uint32_t>(i);
    const auto iterations = static_cast<std::uint32_t>(rules.max_chain_iter);
    const std::uint64_t x = anchors.x[i];
    const auto reach = static_cast<std::uint64_t>(rules.limits.target_gap);
    std::uint32_t low = run_begin;
    std::uint32_t high = anchor;
    if (anchor - run_begin > iterations) {
      low = anchor - iterations;
      if (x <= anchors.x[low - 1] + reach) runs.window_cut[run] = 1;
    }
    if (low < high && x <= anchors.x[low] + reach) high = low;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (x <= anchors.x[middle] + reach) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    runs.window_begin[i] = low;
    pairs = anchor - low;
    if (is_long) query = static_cast<std::uint32_t>(anchors.y[i]);
  }
  const std::uint64_t sum = sluice::cuda::sum_over_warp(std::uint64_t{pairs});
  const std::uint32_t highest_query = __reduce_max_sync(whole_warp, query);
  const std::uint32_t first_run = __shfl_sync(whole_warp, run, 0);
  const bool one_run = __all_sync(whole_warp, run == first_run);
  const bool is_first_lane = threadIdx.x % warp_lanes == 0;
  if (is_first_lane) atomicAdd(reinterpret_cast<unsigned long long*>(&block_pairs), sum);
  if (is_long && (!one_run || is_first_lane)) {
    const std::uint32_t place = run_begin / long_run_anchors;
    atomicAdd(reinterpret_cast<unsigned long long*>(&runs.long_run_pairs[place]), one_run ? sum : pairs);
    atomicMax(&runs.long_run_query[place], one_run ? highest_query : query);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&runs.totals->window_pairs), block_pairs);
}

// The number of runs is known on the device only, so there is a thread per anchor.
__global__ void __launch_bounds__(threads) sort_out_runs_kernel(DeviceAnchors anchors, Runs runs) {
  const std::int64_t run = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (run >= runs.totals->runs) return;
  const std::uint32_t begin = runs.begin[run];
  const std::uint32_t count = runs.begin[run + 1] - begin;
  bool is_wide = runs.window_cut[run] != 0;
  if (!is_wide && count >= long_run_anchors) {
    const std::uint64_t pairs = runs.long_run_pairs[begin / long_run_anchors];
    const bool on_many_diagonals =
        pairs >= std::uint64_t{count} * wide_window || std::uint64_t{count} * bases_per_anchor >= runs.long_run_query[begin / long_run_anchors];
    is_wide = pairs >= wide_run_pairs && on_many_diagonals;
  }
  if (is_wide) {
    const std::uint64_t before = atomicAdd(reinterpret_cast<unsigned long long*>(&runs.totals->wide), (std::uint64_t{1} << 32) + count);
    const auto first = static_cast<std::uint32_t>(before);
    runs.wide[before >> 32] = {begin, count, first, runs.row_begin[run], 0};
  } else if (count > small_run_anchors) {
    runs.medium[atomicAdd(&runs.totals->medium_runs, 1U)] = static_cast<std::uint32_t>(run);
  }
}

}  // namespace

StepRules step_rules(const ChainingParameters& parameters) {
  StepRules rules{step_limits(parameters), step_costs(parameters), parameters.max_chain_iter, false};
  rules.tabled = rules.costs.skip == 0 && rules.limits.band <= most_tabled_band && step_penalty(rules.limits.band, 0, rules.costs) <= UINT16_MAX;
  return rules;
}

std::size_t run_workspace_bytes(std::int64_t anchors, const StepRules& rules) {
  Runs runs;
  std::size_t bytes = 0;
  lay_out(anchors, rules, runs, [&]<class T>(T*&, std::size_t count) { bytes += aligned(count * sizeof(T)); });
  return bytes;
}

Runs runs_in(void* workspace, std::int64_t anchors, const StepRules& rules) {
  Runs runs;
  auto* at = static_cast<std::byte*>(workspace);
  lay_out(anchors, rules, runs, [&]<class T>(T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(at);
    at += aligned(count * sizeof(T));
  });
  return runs;
}

cudaError_t find_runs(const DeviceAnchors& anchors, const StepRules& rules, const Runs& runs, cudaStream_t stream) {
  if (anchors.count > most_anchors) return cudaErrorInvalidValue;
  // The totals, what is known of long runs and window_cut lie at the beginning, one behind the other.
  const auto cleared = static_cast<std::size_t>(reinterpret_cast<std::byte*>(runs.ordinal) - reinterpret_cast<std::byte*>(runs.totals));
  if (const cudaError_t error = cudaMemsetAsync(runs.totals, 0, cleared, stream); error != cudaSuccess) return error;
  if (anchors.count <= 0) return cudaSuccess;
  // Heads of runs are marked where their windows will lie.
  std::uint32_t* const head = runs.window_begin;
  const auto head_bytes = static_cast<std::size_t>(anchors.count) * sizeof(std::uint32_t);
  if (const cudaError_t error = cudaMemsetAsync(head, 0, head_bytes, stream); error != cudaSuccess) return error;
  mark_rows_kernel<<<blocks_of(anchors.rows), threads, 0, stream>>>(anchors, head);
  mark_heads_kernel<<<blocks_of(anchors.count), threads, 0, stream>>>(anchors, rules, head);
  std::size_t scan_bytes = runs.scan_bytes;
  if (const cudaError_t error = cub::DeviceScan::InclusiveSum(runs.scan_space, scan_bytes, head, runs.ordinal, anchors.count, stream);
      error != cudaSuccess)
    return error;
  list_runs_kernel<<<blocks_of(anchors.count), threads, 0, stream>>>(anchors, runs);
  find_windows_kernel<<<blocks_of(anchors.count), threads, 0, stream>>>(anchors, rules, runs);
  sort_out_runs_kernel<<<blocks_of(anchors.count), threads, 0, stream>>>(anchors, runs);
  return cudaGetLastError();
}

}  // namespace sluice::chaining::cuda
