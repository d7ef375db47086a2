// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Kernels of spliced.cu.

#include <cuda_runtime.h>

#include "base_alignment/cuda/path.hpp"
#include "base_alignment/cuda/spliced_lane.hpp"
#include "base_alignment/cuda/work.cuh"

namespace sluice::base_alignment::cuda {

constexpr int threads_of_spliced = 128;

// A warp a job: the lanes have the read's bases, `cells` each.
template <int cells>
class SplicedRows {
 public:
  using Lane = SplicedLane<cells>;
  static constexpr std::int32_t stride = warp_lanes * cells;

  __device__ SplicedRows(const Work& work, const SplicedRule& rule, const Job& job, int lane)
      : scores_(work.scores),
        rule_(rule),
        job_(job),
        rank_(lane),
        target_(work.targets + job.target),
        target_length_(job.target_length),
        numbers_(work.rings + (job.cuts > 0 ? job.ring_place : 0), job, work.of_cuts + job.of_cuts) {
    lane_.start(work.scores, work.codes + job.query, job.query_length, lane * cells);
    steps_ = work.steps + job.steps + lane * cells;
    next_ = target_at(-lane * cells);
  }

  // All of the answer but the path; the same for all lanes.
  __device__ Answer run() {
    if (job_.goal == Goal::ends) return job_.ties == TieOrder::gap_right ? run<TieOrder::gap_right, false>() : run<TieOrder::gap_left, false>();
    return job_.ties == TieOrder::gap_right ? run<TieOrder::gap_right, true>() : run<TieOrder::gap_left, true>();
  }

 private:
  template <TieOrder ties, bool has_peak>
  __device__ Answer run() {
    Answer answer;
    const std::int32_t rows = job_.query_length + job_.target_length - 1;
    if (!has_peak && job_.cuts > 0) {
      numbers_.start(scores_, rank_, warp_lanes);
      __syncwarp();
    }
    std::int32_t row = 0;
    for (; row < job_.query_length && !answer.dropped; ++row) {
      fill<ties, true>(row);
      if constexpr (has_peak) look(row, answer);
    }
    for (; row < rows && !answer.dropped; ++row) {
      fill<ties, false>(row);
      if constexpr (has_peak)
        look(row, answer);
      else
        for (std::int32_t cut = 0; cut < job_.cuts; ++cut)
          lane_.write_edge(row, numbers_.column(cut), job_.query_length, numbers_.score_before(cut), numbers_.intron_before(cut));
    }
    if (!answer.dropped) answer.score = score_at_query_end();
    if (!has_peak && job_.cuts > 0) answer.highest_through_cuts = go_through_cuts<ties>();
    return answer;
  }

  // From the first cut on: the stretch of the target behind each one.
  template <TieOrder ties>
  __device__ std::int32_t go_through_cuts() {
    const SiteWord* const target = target_;
    for (std::int32_t cut = 0; cut < job_.cuts; ++cut) {
      __syncwarp();
      numbers_.find_best(cut, rank_, warp_lanes);
      __syncwarp();
      numbers_.go_through(scores_, cut, rank_, warp_lanes);
      __syncwarp();
      const std::int32_t begin = numbers_.column(cut) + 1, end = cut + 1 < job_.cuts ? numbers_.column(cut + 1) + 1 : job_.target_length;
      target_ = target + begin;
      target_length_ = end - begin;
      lane_.start_behind(scores_, numbers_.score(), numbers_.intron(), job_.query_length);
      const SplicedPassing before = Lane::before_first_behind(scores_, numbers_.score()[0]);
      next_ = target_at(-rank_ * cells);
      const std::int32_t rows = job_.query_length + target_length_ - 1;
      for (std::int32_t row = 0; row < rows; ++row) {
        if (row < job_.query_length)
          advance<ties, true>(row, before);
        else
          advance<ties, false>(row, before);
        lane_.write_edge(row, target_length_ - 1, job_.query_length, numbers_.score_through(), numbers_.intron_through());
      }
    }
    __syncwarp();
    return numbers_.score_through()[job_.query_length];
  }
  template <TieOrder ties, bool on_first_rows>
  __device__ __forceinline__ void advance(std::int32_t row, SplicedPassing before) {
    std::uint32_t steps[Lane::step_words];
    take_row<ties, on_first_rows>(row, before, steps);
  }

  template <TieOrder ties, bool on_first_rows>
  __device__ __forceinline__ void fill(std::int32_t row) {
    std::uint32_t steps[Lane::step_words];
    take_row<ties, on_first_rows>(row, Lane::before_first(scores_, row), steps);
    store(steps);
    steps_ += stride;
  }
  // before: what the first lane takes.
  template <TieOrder ties, bool on_first_rows>
  __device__ __forceinline__ void take_row(std::int32_t row, SplicedPassing before, std::uint32_t (&steps)[Lane::step_words]) {
    const SplicedPassing own = lane_.passing();
    SplicedPassing passed{__shfl_up_sync(whole_warp, own.score, 1), __shfl_up_sync(whole_warp, own.insertion, 1)};
    if (rank_ == 0) passed = before;
    const SiteWord entering = next_;
    next_ = target_at(row + 1 - rank_ * cells);
    lane_.template fill<ties, on_first_rows>(rule_, row, entering, passed, steps);
  }
  __device__ __forceinline__ void store(const std::uint32_t (&steps)[Lane::step_words]) const {
    if constexpr (cells == 2)
      *reinterpret_cast<std::uint16_t*>(steps_) = static_cast<std::uint16_t>(steps[0]);
    else if constexpr (cells == 4)
      *reinterpret_cast<std::uint32_t*>(steps_) = steps[0];
    else if constexpr (cells == 8)
      *reinterpret_cast<uint2*>(steps_) = make_uint2(steps[0], steps[1]);
    else
      *reinterpret_cast<uint4*>(steps_) = make_uint4(steps[0], steps[1], steps[2], steps[3]);
  }

  __device__ void look(std::int32_t row, Answer& answer) const {
    const SplicedRow of_row = spliced_row(job_, row);
    const RowBest own = lane_.best(row, of_row);
    RowBest best{__reduce_max_sync(whole_warp, own.score), 0};
    best.turn = __reduce_min_sync(whole_warp, own.score == best.score ? own.turn : 0xFFFFFFFFU);
    const std::int32_t at_query_end = row >= job_.query_length - 1 ? score_at_query_end() : 0;
    answer.dropped = !take_spliced_row(job_, row, of_row, best, at_query_end, answer);
  }
  // Of the read's last base, in the row that was filled last.
  __device__ std::int32_t score_at_query_end() const {
    return __shfl_sync(whole_warp, lane_.score_at(job_.query_length - 1), (job_.query_length - 1) / cells);
  }
  __device__ SiteWord target_at(std::int32_t place) const {
    return static_cast<std::uint32_t>(place) < static_cast<std::uint32_t>(target_length_) ? target_[place] : 0;
  }

  const Scores& scores_;
  const SplicedRule& rule_;
  const Job job_;
  const int rank_;
  const SiteWord* target_;  // and its length: what passes by
  std::int32_t target_length_;
  const CutNumbers numbers_;
  Lane lane_;
  SiteWord next_;
  std::uint8_t* steps_;
};

template <int cells>
__global__ void __launch_bounds__(threads_of_spliced)
    fill_spliced_kernel(const __grid_constant__ Work work, const __grid_constant__ SplicedRule rule) {
  const auto number = static_cast<std::int32_t>((blockIdx.x * threads_of_spliced + threadIdx.x) / warp_lanes);
  // Whole warps end here.
  if (number >= work.count) return;
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const Answer answer = SplicedRows<cells>(work, rule, work.jobs[number], lane).run();
  if (lane == 0) work.answers[number] = answer;
}

// Codes of a target of words.
struct WordCodes {
  const SiteWord* words;
  __device__ std::uint8_t operator[](std::int32_t place) const { return static_cast<std::uint8_t>(words[place] & 7U); }
};

// A thread a job.
static __global__ void __launch_bounds__(threads_of_path) follow_spliced_kernel(const __grid_constant__ Work work, std::int32_t longest_deletion) {
  const auto number = static_cast<std::int32_t>(blockIdx.x * threads_of_path + threadIdx.x);
  if (number >= work.count) return;
  const Job job = work.jobs[number];
  Answer answer = work.answers[number];
  write_path_of(job, SplicedSteps{work.steps + job.steps, job, longest_deletion}, work.operations, answer);
  if (job.goal == Goal::ends)
    read_path_of(work.scores, job, work.codes + job.query, WordCodes{work.targets + job.target}, work.operations, false, answer);
  work.answers[number] = answer;
}

}  // namespace sluice::base_alignment::cuda
