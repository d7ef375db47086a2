// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <sluice/cuda/warp.cuh>

#include "hit_selection/cuda.hpp"

namespace sluice::hit_selection::cuda {
namespace {

constexpr int row_threads = 128, chain_threads = 256;
using sluice::cuda::whole_warp;

struct Range {
  std::int64_t begin, end;
  __device__ std::int64_t size() const { return end - begin; }
};
template <class T>
__device__ Range range_of(const Lists<T>& lists, std::int64_t row) {
  return {lists.offsets[row], lists.offsets[row + 1]};
}
__device__ std::int32_t last_base(std::uint64_t y) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(y)); }

// Where the anchors of each chain of the row begin. False: counts, scores and anchors do not fit each other. By a block.
__device__ bool lay_out_chains(const DeviceReads& reads, std::int64_t row, const Workspace& workspace) {
  using Scan = cub::BlockScan<std::int64_t, row_threads>;
  __shared__ typename Scan::TempStorage memory;
  const Range scores = range_of(reads.chain_score, row), counts = range_of(reads.chain_anchor_count, row);
  const Range x = range_of(reads.anchor_x, row), y = range_of(reads.anchor_y, row);
  bool fine = scores.size() == counts.size() && x.size() == y.size() && x.size() <= INT32_MAX;
  std::int64_t at = x.begin;
  for (std::int64_t first = counts.begin; fine && first < counts.end; first += row_threads) {
    const std::int64_t chain = first + threadIdx.x;
    const bool inside = chain < counts.end;
    const std::int64_t count = inside ? reads.chain_anchor_count.values[chain] : 0;
    fine = !inside || (count > 0 && reads.chain_score.values[scores.begin + (chain - counts.begin)] > 0);
    std::int64_t before = 0, total = 0;
    Scan(memory).ExclusiveSum(count, before, total);
    if (inside) {
      workspace.first_anchor[chain] = at + before;
      workspace.row[chain] = static_cast<std::uint32_t>(row);
    }
    at += total;
    fine = __syncthreads_and(fine ? 1 : 0) != 0;
  }
  return fine && at == x.end;
}

// The words of the row's seeds, and the sum of their spans in thread 0. False: they do not ascend, or are not on the read. By a block.
__device__ bool place_seeds(const DeviceReads& reads, std::int64_t row, SeedWord* words, std::uint64_t& spans) {
  using Reduce = cub::BlockReduce<std::uint64_t, row_threads>;
  using Scan = cub::BlockScan<std::uint32_t, row_threads>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
  } memory;
  const std::int32_t length = reads.length[row];
  const Range seeds = range_of(reads.seed_position, row);
  bool fine = true;
  std::uint64_t mine = 0;
  for (std::int64_t i = seeds.begin + threadIdx.x; i < seeds.end; i += row_threads) {
    const std::uint64_t seed = reads.seed_position.values[i];
    const std::int32_t at = last_base(seed);
    mine += seed >> 32 & 0xFF;
    fine &= i == seeds.begin || last_base(reads.seed_position.values[i - 1]) < at;
    if (at < 0 || at >= length)
      fine = false;
    else
      atomicOr(&words[at / 32].ends, 1U << (at % 32));
  }
  spans = Reduce(memory.reduce).Sum(mine);
  fine = __syncthreads_and(fine ? 1 : 0) != 0;
  std::uint32_t before = 0;
  for (std::int64_t first = 0; fine && first < seed_words(length); first += row_threads) {
    const std::int64_t word = first + threadIdx.x;
    const bool inside = word < seed_words(length);
    std::uint32_t count = inside ? static_cast<std::uint32_t>(__popc(words[word].ends)) : 0, sum = 0, total = 0;
    Scan(memory.scan).ExclusiveSum(count, sum, total);
    if (inside) words[word].before = before + sum;
    before += total;
    __syncthreads();
  }
  return fine;
}

__global__ void __launch_bounds__(row_threads) prepare_rows_kernel(DeviceReads reads, Workspace workspace, MeasuredRow* rows) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  std::uint64_t spans = 0;
  bool fine = true, measured = false;
  if (reads.row_status == nullptr || reads.row_status[row] == 0) {
    fine = reads.length[row] > 0 && lay_out_chains(reads, row, workspace);
    fine = fine && place_seeds(reads, row, workspace.words + workspace.first_word[row], spans);
    measured = fine;
  }
  if (!measured) {
    const Range chains = range_of(reads.chain_anchor_count, row);
    for (std::int64_t chain = chains.begin + threadIdx.x; chain < chains.end; chain += row_threads) workspace.row[chain] = no_row;
  }
  if (threadIdx.x == 0) rows[row] = {spans, fine ? 0U : 1U, 0};
}

// The seed that ends at the base, -1: none.
__device__ std::int32_t seed_at(const SeedWord* words, std::int32_t length, std::int32_t base) {
  if (base < 0 || base >= length) return -1;
  const SeedWord word = words[base / 32];
  const std::uint32_t bit = 1U << (base % 32);
  return (word.ends & bit) == 0 ? -1 : static_cast<std::int32_t>(word.before + static_cast<std::uint32_t>(__popc(word.ends & (bit - 1))));
}

// The anchors are taken in the order in which they lie on the read's forward strand.
__global__ void __launch_bounds__(chain_threads)
    measure_chains_kernel(DeviceReads reads, Targets targets, Workspace workspace, MeasuredRow* rows, MeasuredChain* chains) {
  const std::int64_t chain = (std::int64_t{blockIdx.x} * chain_threads + threadIdx.x) / sluice::cuda::warp_lanes;
  const int lane = static_cast<int>(threadIdx.x % sluice::cuda::warp_lanes);
  if (chain < reads.chain_anchor_count.offsets[0] || chain >= reads.chain_anchor_count.offsets[reads.rows]) return;
  const std::uint32_t row = workspace.row[chain];
  if (row == no_row) return;
  const std::int32_t count = reads.chain_anchor_count.values[chain], length = reads.length[row];
  const std::int64_t begin = workspace.first_anchor[chain];
  const std::uint64_t* const x = reads.anchor_x.values + begin;
  const std::uint64_t* const y = reads.anchor_y.values + reads.anchor_y.offsets[row] + (begin - reads.anchor_x.offsets[row]);
  const SeedWord* const words = workspace.words + workspace.first_word[row];
  const auto strand_and_target = static_cast<std::uint32_t>(x[0] >> 32);
  const auto target = static_cast<std::uint32_t>(target_of(x[0]));
  const bool reverse = is_reverse(x[0]);
  bool fine = target < targets.count;
  const std::uint32_t limit = fine ? static_cast<std::uint32_t>(targets.length[target]) : 0;
  std::uint32_t matches = 0, block = 0;
  std::int32_t met = 0, first_seed = -1, last_seed = -1;
  bool meets = true;
  for (std::int32_t turn = 0; turn < count; turn += sluice::cuda::warp_lanes) {
    const std::int32_t k = turn + lane, i = reverse ? count - 1 - k : k;
    std::int32_t seed = -1;
    if (k < count) {
      const std::uint64_t here_x = x[i], here_y = y[i];
      const std::int32_t span = span_of(here_y);
      fine &= static_cast<std::uint32_t>(here_x >> 32) == strand_and_target && static_cast<std::uint32_t>(here_x) < limit &&
              static_cast<std::uint32_t>(here_y) < static_cast<std::uint32_t>(length) &&
              static_cast<std::uint32_t>(span) - 1 <= static_cast<std::uint32_t>(here_y);
      std::int32_t shorter = span, longer = span;
      if (i > 0) {
        const auto on_target = static_cast<std::int32_t>(static_cast<std::uint32_t>(here_x) - static_cast<std::uint32_t>(x[i - 1]));
        const auto on_read = static_cast<std::int32_t>(static_cast<std::uint32_t>(here_y) - static_cast<std::uint32_t>(y[i - 1]));
        shorter = min(min(on_target, on_read), span);
        longer = max(on_target, on_read);
      }
      matches += static_cast<std::uint32_t>(shorter);
      block += static_cast<std::uint32_t>(longer);
      if (meets) seed = seed_at(words, length, reverse ? length - 1 - (last_base(here_y) + 1 - span) : last_base(here_y));
    }
    if (!meets) continue;
    std::int32_t before = __shfl_up_sync(whole_warp, seed, 1);
    if (lane == 0) before = last_seed;
    const std::uint32_t misses = __ballot_sync(whole_warp, seed <= before);
    const int meeting = misses == 0 ? sluice::cuda::warp_lanes : __ffs(static_cast<int>(misses)) - 1;
    if (turn == 0) first_seed = __shfl_sync(whole_warp, seed, 0);
    if (meeting > 0) last_seed = __shfl_sync(whole_warp, seed, meeting - 1);
    met += meeting;
    meets = misses == 0;
  }
  matches = sluice::cuda::sum_over_warp(matches);
  block = sluice::cuda::sum_over_warp(block);
  fine = __all_sync(whole_warp, fine) != 0;
  if (lane != 0) return;
  if (!fine) rows[row].by_host = 1;
  chains[chain] = {x[0],
                   y[0],
                   x[count - 1],
                   y[count - 1],
                   static_cast<std::int32_t>(matches),
                   static_cast<std::int32_t>(block),
                   met,
                   met > 0 ? last_seed - first_seed + 1 : 0};
}

}  // namespace

cudaError_t prepare_rows(const DeviceReads& reads, const Workspace& workspace, MeasuredRow* rows, cudaStream_t stream) {
  if (reads.rows == 0) return cudaSuccess;
  prepare_rows_kernel<<<static_cast<unsigned int>(reads.rows), row_threads, 0, stream>>>(reads, workspace, rows);
  return cudaGetLastError();
}

cudaError_t measure_chains(const DeviceReads& reads, const Targets& targets, const Workspace& workspace, MeasuredRow* rows, MeasuredChain* chains,
                           cudaStream_t stream) {
  if (reads.chain_anchor_count.count == 0) return cudaSuccess;
  constexpr std::int64_t chains_a_block = chain_threads / sluice::cuda::warp_lanes;
  const auto blocks = static_cast<unsigned int>((reads.chain_anchor_count.count + chains_a_block - 1) / chains_a_block);
  measure_chains_kernel<<<blocks, chain_threads, 0, stream>>>(reads, targets, workspace, rows, chains);
  return cudaGetLastError();
}

}  // namespace sluice::hit_selection::cuda
