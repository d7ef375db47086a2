// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstring>
#include <sluice/cuda.hpp>

#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/cuda/kernels.cuh"
#include "base_alignment/cuda/waves.cuh"
#include "base_alignment/kernel/columns.hpp"

namespace sluice::base_alignment::cuda {
namespace {

using sluice::cuda::check;

constexpr std::int64_t most_bases = std::int64_t{1} << 28;

// Teams of a warp keep rows of so many cells in shared memory, teams of a block of so many.
constexpr std::int32_t ring_of_warp = 256, ring_of_block = 2048;
constexpr int threads_of_warp = 32, threads_of_block = 256;

class Runner {
 public:
  Runner(const Scores& scores, std::span<const Problem> problems, const Resources& resources, Answers& answers)
      : scores_(scores), problems_(problems), resources_(resources), answers_(answers), waves_(scores, resources, jobs_, answers) {}

  void run() {
    answers_.begin(problems_.size());
    take_problems();
    run_band<8>(Phase::fill_band_64, narrow_, wide_);
    answers_.in_wide_bands = wide_.size();
    run_band<16>(Phase::fill_band_128, wide_, whole_);
    answers_.in_blocks = whole_.size();
    run_blocks();
  }

 private:
  static constexpr int words = 4;

  // Sorts problems by how they begin, and brings their codes to the device.
  void take_problems() {
    jobs_.reserve(problems_.size());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const Problem& problem = problems_[i];
      Job& job = jobs_.emplace_back(job_of(problem));
      if (std::int64_t{problem.query_length} + problem.target_length > most_bases) {
        ++answers_.left;
        continue;
      }
      // The definition gives such problems no answer.
      if (problem.query_length <= 0 || problem.target_length <= 0 || !kernel_takes(scores_)) {
        answers_.is_done[i] = 1;
        continue;
      }
      job.query = static_cast<std::int64_t>(bytes);
      job.target = job.query + problem.query_length;
      bytes += static_cast<std::size_t>(problem.query_length) + static_cast<std::size_t>(problem.target_length);
      list_for(problem).push_back(i);
    }
    waves_.lap(Phase::prepare, 0);
    codes_ = static_cast<std::uint8_t*>(resources_.allocate(bytes));
    sluice::cuda::GatheredCopy copy(codes_, resources_.stream);
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const Problem& problem = problems_[i];
      if (jobs_[i].target <= jobs_[i].query) continue;  // has no place
      copy.add(problem.query, static_cast<std::size_t>(problem.query_length));
      copy.add(problem.target, static_cast<std::size_t>(problem.target_length));
    }
    copy.finish();
    waves_.set_inputs(codes_);
    waves_.lap(Phase::upload, 0);
  }
  std::vector<std::size_t>& list_for(const Problem& problem) {
    if (problem.goal != Goal::ends || problem.ties != TieOrder::gap_right ||
        band_of(problem) < std::max(problem.query_length, problem.target_length) - 1 || has_ambiguous(problem.query, problem.query_length) ||
        has_ambiguous(problem.target, problem.target_length))
      return whole_;
    if (may_fit(problem, 2 * words * 8)) return narrow_;
    return may_fit(problem, 2 * words * 16) ? wide_ : whole_;
  }
  // As align_in_narrow_band of kernel/align.cpp.
  bool may_fit(const Problem& problem, std::int32_t width) const {
    const Diagonals band = diagonals_around(problem, width);
    const std::int64_t expected = std::int64_t{scores_.match} * std::min(problem.query_length, problem.target_length) * 3 / 4;
    return holds_ends(problem, band) && highest_outside(scores_, problem, band) < expected;
  }

  std::size_t rows_of(std::size_t problem) const { return static_cast<std::size_t>(jobs_[problem].query_length + jobs_[problem].target_length - 1); }

  template <int lanes>
  void run_band(Phase phase, std::vector<std::size_t>& list, std::vector<std::size_t>& failed) {
    constexpr int width = 2 * words * lanes;
    sort_by_falling(list, [&](std::size_t i) { return rows_of(i); });
    for (const std::size_t i : list) {
      const auto least = highest_outside(scores_, problems_[i], diagonals_around(problems_[i], width));
      jobs_[i].least_score = static_cast<std::int32_t>(std::clamp<std::int64_t>(least, -0x40000000, 0x7FFFFFFF));
    }
    const auto need = [&](std::size_t i) { return Need{rows_of(i) * width, 0, operation_bytes(jobs_[i])}; };
    waves_.run(
        list, need,
        [&](const Work& work) {
          const BandRule rule = band_rule(scores_);
          const unsigned int blocks = blocks_for(static_cast<std::size_t>(work.count) * lanes, threads_of_band);
          if (scores_.one_piece())
            fill_band_kernel<false, words, lanes><<<blocks, threads_of_band, 0, resources_.stream>>>(work, rule);
          else
            fill_band_kernel<true, words, lanes><<<blocks, threads_of_band, 0, resources_.stream>>>(work, rule);
          check(cudaGetLastError(), "fill_band_kernel");
        },
        [&](const Work& work) {
          follow_band_kernel<width>
              <<<blocks_for(static_cast<std::size_t>(work.count), threads_of_path), threads_of_path, 0, resources_.stream>>>(work);
          check(cudaGetLastError(), "follow_band_kernel");
        },
        phase, failed);
  }

  void run_blocks() {
    std::vector<std::size_t> of_warps, of_blocks, far;
    for (const std::size_t i : whole_) {
      plan_blocks(problems_[i], jobs_[i]);
      (jobs_[i].ring <= ring_of_warp ? of_warps : jobs_[i].ring <= ring_of_block ? of_blocks : far).push_back(i);
    }
    run_teams<threads_of_warp>(of_warps, ring_of_warp);
    run_teams<threads_of_block>(of_blocks, ring_of_block);
    run_teams<threads_of_block>(far, 0);
  }
  // ring: cells of a row in shared memory; 0: rows lie in the device's memory.
  template <int threads>
  void run_teams(std::vector<std::size_t>& list, std::int32_t ring) {
    sort_by_falling(list, [&](std::size_t i) { return static_cast<std::size_t>(step_bytes(jobs_[i])); });
    const auto need = [&](std::size_t i) {
      const Job& job = jobs_[i];
      return Need{static_cast<std::size_t>(step_bytes(job)), ring == 0 ? static_cast<std::size_t>(RowRing::bytes(job.ring)) : 0,
                  operation_bytes(job)};
    };
    std::vector<std::size_t> none;
    waves_.run(
        list, need,
        [&](const Work& work) {
          const auto shared = static_cast<std::size_t>(RowRing::bytes(ring));
          if (scores_.one_piece())
            fill_blocks_kernel<false, threads><<<static_cast<unsigned int>(work.count), threads, shared, resources_.stream>>>(work);
          else
            fill_blocks_kernel<true, threads><<<static_cast<unsigned int>(work.count), threads, shared, resources_.stream>>>(work);
          check(cudaGetLastError(), "fill_blocks_kernel");
        },
        [&](const Work& work) {
          follow_blocks_kernel<<<blocks_for(static_cast<std::size_t>(work.count), threads_of_path), threads_of_path, 0, resources_.stream>>>(work);
          check(cudaGetLastError(), "follow_blocks_kernel");
        },
        Phase::fill_blocks, none);
  }

  const Scores& scores_;
  std::span<const Problem> problems_;
  const Resources& resources_;
  Answers& answers_;
  std::vector<Job> jobs_;  // of each problem
  std::vector<std::size_t> narrow_, wide_, whole_;
  std::uint8_t* codes_ = nullptr;
  Waves waves_;
};

}  // namespace

void align(const Scores& scores, std::span<const Problem> problems, const Resources& resources, Answers& answers) {
  Runner(scores, problems, resources, answers).run();
}

}  // namespace sluice::base_alignment::cuda
