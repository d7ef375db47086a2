// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Kernels of cuda.cu.

#include <cuda_runtime.h>

#include "base_alignment/cuda/band_lane.hpp"
#include "base_alignment/cuda/block_rows.hpp"
#include "base_alignment/cuda/path.hpp"
#include "base_alignment/cuda/plan.hpp"
#include "base_alignment/cuda/work.cuh"

namespace sluice::base_alignment::cuda {

constexpr int threads_of_band = 128;

template <int words>
__device__ __forceinline__ void store_steps(std::uint8_t* to, const std::uint32_t (&steps)[words > 1 ? words / 2 : 1]) {
  static_assert(words == 4);
  *reinterpret_cast<uint2*>(to) = make_uint2(steps[0], steps[1]);
}

// `lanes` neighbouring lanes of a warp a job. Rows of jobs that have ended are computed as long as another job of the warp goes on.
template <bool two_pieces, int words, int lanes>
class BandRows {
 public:
  using Walk = BandWalk<two_pieces, words, lanes>;
  using Lane = typename Walk::Lane;

  __device__ BandRows(const Work& work, const BandRule& rule, std::int32_t number, int lane) : scores_(work.scores), rule_(rule) {
    const bool has_job = number < work.count;
    const Job& job = work.jobs[has_job ? number : work.count - 1];
    const Diagonals band = diagonals_around(job.query_length, job.target_length, Walk::width);
    walk_.start(rule, work.codes + job.query, work.codes + job.target, job.query_length, job.target_length, band.lowest, lane);
    const std::int32_t rows = job.query_length + job.target_length - 1;
    rows_ = has_job ? rows : 0;
    bordered_ = bordered_rows(rows, band);
    steps_ = work.steps + job.steps + lane * Lane::cells;
  }

  __device__ void run() {
    const std::int32_t rows = __reduce_max_sync(whole_warp, rows_), bordered = min(rows, (__reduce_max_sync(whole_warp, bordered_) + 1) / 2 * 2);
    std::int32_t row = 0;
    for (; row < bordered; row += 2) fill_two<true>(row);
    for (; row < rows; row += 2) fill_two<false>(row);
  }

 private:
  template <bool has_border>
  __device__ __forceinline__ void fill_two(std::int32_t row) {
    std::uint32_t steps[Lane::step_words];
    const Passing up = walk_.passing_even();
    const Passing before{__shfl_up_sync(whole_warp, up.gaps, 1, lanes), __shfl_up_sync(whole_warp, up.difference, 1, lanes)};
    walk_.template fill_even<has_border>(rule_, scores_, row, before, steps);
    if (row < rows_) store_steps<words>(steps_, steps);
    const Passing down = walk_.passing_odd();
    const Passing behind{__shfl_down_sync(whole_warp, down.gaps, 1, lanes), __shfl_down_sync(whole_warp, down.difference, 1, lanes)};
    walk_.template fill_odd<has_border>(rule_, scores_, row + 1, behind, steps);
    if (row + 1 < rows_) store_steps<words>(steps_ + Walk::width, steps);
    steps_ += 2 * Walk::width;
  }

  const Scores& scores_;
  const BandRule& rule_;
  Walk walk_;
  std::int32_t rows_, bordered_;
  std::uint8_t* steps_;
};

template <bool two_pieces, int words, int lanes>
__global__ void __launch_bounds__(threads_of_band) fill_band_kernel(const __grid_constant__ Work work, const __grid_constant__ BandRule rule) {
  const auto thread = static_cast<std::int32_t>(blockIdx.x * threads_of_band + threadIdx.x);
  // Whole warps end here.
  if (thread / warp_lanes * (warp_lanes / lanes) >= work.count) return;
  BandRows<two_pieces, words, lanes>(work, rule, thread / lanes, thread % lanes).run();
}

// A block of threads as a team of block_rows.hpp.
template <int threads>
class BlockTeam {
 public:
  struct Shared {
    RowBest of_warp[2][threads / warp_lanes];  // of two rows, so that one is not replaced before all have read it
  };
  __device__ explicit BlockTeam(Shared& shared) : shared_(shared) {}
  __device__ std::int32_t rank() const { return static_cast<std::int32_t>(threadIdx.x); }
  __device__ constexpr std::int32_t size() const { return threads; }
  __device__ void sync() {
    if constexpr (threads == warp_lanes)
      __syncwarp();
    else
      __syncthreads();
  }
  __device__ RowBest best(std::int32_t row, RowBest cell) {
    RowBest best{__reduce_max_sync(whole_warp, cell.score), 0};
    best.turn = __reduce_min_sync(whole_warp, cell.score == best.score ? cell.turn : 0xFFFFFFFFU);
    if constexpr (threads == warp_lanes) {
      __syncwarp();
    } else {
      RowBest(&of_warp)[threads / warp_lanes] = shared_.of_warp[row & 1];
      of_warp[threadIdx.x / warp_lanes] = best;
      __syncthreads();
      best = of_warp[0];
      for (int i = 1; i < threads / warp_lanes; ++i)
        if (of_warp[i].beats(best)) best = of_warp[i];
    }
    return best;
  }

 private:
  Shared& shared_;
};

// A block a job.
template <bool two_pieces, int threads>
__global__ void __launch_bounds__(threads) fill_blocks_kernel(const __grid_constant__ Work work) {
  extern __shared__ uint4 shared_ring[];
  __shared__ typename BlockTeam<threads>::Shared shared;
  __shared__ Edge edge;
  const Job& job = work.jobs[blockIdx.x];
  void* const memory = job.ring_place < 0 ? static_cast<void*>(shared_ring) : work.rings + job.ring_place;
  BlockTeam<threads> team(shared);
  using Rows = BlockRows<BlockTeam<threads>, two_pieces>;
  const Answer answer = Rows(team, work.scores, job, work.codes, RowRing(memory, job.ring), edge, work.steps + job.steps).run();
  if (threadIdx.x == 0) work.answers[blockIdx.x] = answer;
}

// A thread a job.
template <int width>
__global__ void __launch_bounds__(threads_of_path) follow_band_kernel(const __grid_constant__ Work work) {
  const auto number = static_cast<std::int32_t>(blockIdx.x * threads_of_path + threadIdx.x);
  if (number >= work.count) return;
  const Job job = work.jobs[number];
  const std::int32_t lowest = diagonals_around(job.query_length, job.target_length, width).lowest;
  Answer answer;
  write_path_of(job, BandSteps{work.steps + job.steps, lowest, width}, work.operations, answer);
  read_path_of(work.scores, job, work.codes, work.operations, true, answer);
  work.answers[number] = answer;
}
__global__ void __launch_bounds__(threads_of_path) follow_blocks_kernel(const __grid_constant__ Work work) {
  const auto number = static_cast<std::int32_t>(blockIdx.x * threads_of_path + threadIdx.x);
  if (number >= work.count) return;
  const Job job = work.jobs[number];
  Answer answer = work.answers[number];
  write_path_of(job, BlockSteps{work.steps + job.steps, job}, work.operations, answer);
  if (job.goal == Goal::ends) read_path_of(work.scores, job, work.codes, work.operations, false, answer);
  work.answers[number] = answer;
}

}  // namespace sluice::base_alignment::cuda
