// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <array>
#include <sluice/cuda.hpp>

#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/cuda/plan.hpp"
#include "base_alignment/cuda/spliced_kernels.cuh"
#include "base_alignment/cuda/waves.cuh"

namespace sluice::base_alignment::cuda {
namespace {

class SplicedRunner {
 public:
  SplicedRunner(const Scores& scores, std::span<const SplicedProblem> problems, const Resources& resources, Answers& answers)
      : scores_(scores), problems_(problems), resources_(resources), answers_(answers), waves_(scores, resources, jobs_, answers) {}

  void run() {
    answers_.begin(problems_.size());
    take_problems();
    run_lanes<2>(of_cells_[0]);
    run_lanes<4>(of_cells_[1]);
    run_lanes<8>(of_cells_[2]);
    run_lanes<16>(of_cells_[3]);
  }

 private:
  static constexpr std::array<std::int32_t, 4> cells_of_lanes{2, 4, 8, 16};

  void take_problems() {
    jobs_.reserve(problems_.size());
    std::size_t codes = 0, words = 0, numbers = 0;
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const Problem& problem = problems_[i].problem;
      Job& job = jobs_.emplace_back(job_of(problem));
      // The definition gives such problems no answer.
      if (problem.query_length <= 0 || problem.target_length <= 0 || !kernel_takes(scores_) || !intron_costs_fit(scores_)) {
        answers_.is_done[i] = 1;
        continue;
      }
      if (!fits_spliced_lanes(scores_, problem)) {
        ++answers_.left;
        continue;
      }
      std::size_t kind = 0;
      while (problem.query_length > warp_lanes * cells_of_lanes[kind]) ++kind;
      job.step_stride = warp_lanes * cells_of_lanes[kind];
      job.query = static_cast<std::int64_t>(codes);
      job.target = static_cast<std::int64_t>(words);
      codes += static_cast<std::size_t>(problem.query_length);
      words += static_cast<std::size_t>(problem.target_length);
      job.cuts = problems_[i].cuts;
      job.of_cuts = static_cast<std::int64_t>(numbers);
      numbers += problems_[i].numbers_of_cuts();
      of_cells_[kind].push_back(i);
    }
    waves_.lap(Phase::prepare, 0);
    auto* const queries = static_cast<std::uint8_t*>(resources_.allocate(codes));
    auto* const targets = static_cast<SiteWord*>(resources_.allocate(words * sizeof(SiteWord)));
    sluice::cuda::GatheredCopy copy_of_queries(queries, resources_.stream);
    for_each_job(
        [&](const SplicedProblem& problem) { copy_of_queries.add(problem.problem.query, static_cast<std::size_t>(problem.problem.query_length)); });
    copy_of_queries.finish();
    sluice::cuda::GatheredCopy copy_of_targets(targets, resources_.stream);
    for_each_job([&](const SplicedProblem& problem) {
      copy_of_targets.add(problem.target, static_cast<std::size_t>(problem.problem.target_length) * sizeof(SiteWord));
    });
    copy_of_targets.finish();
    auto* const of_cuts = static_cast<std::int32_t*>(resources_.allocate(numbers * sizeof(std::int32_t)));
    sluice::cuda::GatheredCopy copy_of_cuts(of_cuts, resources_.stream);
    for_each_job([&](const SplicedProblem& problem) { copy_of_cuts.add(problem.of_cuts, problem.numbers_of_cuts() * sizeof(std::int32_t)); });
    copy_of_cuts.finish();
    waves_.set_inputs(queries, targets, of_cuts);
    waves_.lap(Phase::upload, 0);
  }
  // Those that have a place, in their order.
  template <class Take>
  void for_each_job(const Take& take) const {
    for (std::size_t i = 0; i < problems_.size(); ++i)
      if (jobs_[i].step_stride > 0) take(problems_[i]);
  }

  template <int cells>
  void run_lanes(std::vector<std::size_t>& list) {
    const auto step_bytes = [&](std::size_t i) {
      const Job& job = jobs_[i];
      return static_cast<std::size_t>(job.step_stride) * static_cast<std::size_t>(job.query_length + job.target_length - 1);
    };
    sort_by_falling(list, step_bytes);
    std::vector<std::size_t> none;
    waves_.run(
        list,
        [&](std::size_t i) {
          const Job& job = jobs_[i];
          return Need{step_bytes(i), job.cuts > 0 ? rounded_up(static_cast<std::size_t>(CutNumbers::bytes(job.cuts, job.query_length))) : 0,
                      operation_bytes(job)};
        },
        [&](const Work& work) {
          fill_spliced_kernel<cells>
              <<<blocks_for(static_cast<std::size_t>(work.count) * warp_lanes, threads_of_spliced), threads_of_spliced, 0, resources_.stream>>>(
                  work, spliced_rule(scores_));
          sluice::cuda::check(cudaGetLastError(), "fill_spliced_kernel");
        },
        [&](const Work& work) {
          follow_spliced_kernel<<<blocks_for(static_cast<std::size_t>(work.count), threads_of_path), threads_of_path, 0, resources_.stream>>>(
              work, longest_deletion(scores_));
          sluice::cuda::check(cudaGetLastError(), "follow_spliced_kernel");
        },
        Phase::fill_spliced, none);
  }

  const Scores& scores_;
  std::span<const SplicedProblem> problems_;
  const Resources& resources_;
  Answers& answers_;
  std::vector<Job> jobs_;  // of each problem
  std::array<std::vector<std::size_t>, 4> of_cells_;
  Waves waves_;
};

}  // namespace

void align_spliced(const Scores& scores, std::span<const SplicedProblem> problems, const Resources& resources, Answers& answers) {
  SplicedRunner(scores, problems, resources, answers).run();
}

}  // namespace sluice::base_alignment::cuda
