// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstring>
#include <sluice/cuda.hpp>
#include <utility>

#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/cuda/kernels.cuh"
#include "base_alignment/kernel/columns.hpp"

namespace sluice::base_alignment::cuda {
namespace {

using sluice::cuda::check;

constexpr std::int64_t most_bases = std::int64_t{1} << 28;
constexpr std::size_t alignment = 256;
constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
constexpr unsigned int blocks_for(std::size_t threads, int of_block) {
  return static_cast<unsigned int>((threads + static_cast<std::size_t>(of_block) - 1) / static_cast<std::size_t>(of_block));
}

// Teams of a warp keep rows of so many cells in shared memory, teams of a block of so many.
constexpr std::int32_t ring_of_warp = 256, ring_of_block = 2048;
constexpr int threads_of_warp = 32, threads_of_block = 256;

// What a job takes of the scratch memory.
struct Need {
  std::size_t steps = 0, ring = 0, operations = 0;
  std::size_t all() const { return steps + ring + operations; }
};

class Runner {
 public:
  Runner(const Scores& scores, std::span<const Problem> problems, const Resources& resources, Answers& answers)
      : scores_(scores), problems_(problems), resources_(resources), answers_(answers) {}

  void run() {
    answers_.of.assign(problems_.size(), {});
    answers_.is_done.assign(problems_.size(), 0);
    answers_.operations.clear();
    answers_.in_wide_bands = answers_.in_blocks = answers_.left = 0;
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
    lap(Phase::prepare, 0);
    codes_ = static_cast<std::uint8_t*>(resources_.allocate(bytes));
    sluice::cuda::GatheredCopy copy(codes_, resources_.stream);
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      const Problem& problem = problems_[i];
      if (jobs_[i].target <= jobs_[i].query) continue;  // has no place
      copy.add(problem.query, static_cast<std::size_t>(problem.query_length));
      copy.add(problem.target, static_cast<std::size_t>(problem.target_length));
    }
    copy.finish();
    lap(Phase::upload, 0);
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
  static std::size_t operation_bytes(const Job& job) {
    return static_cast<std::size_t>(job.query_length + job.target_length) * sizeof(std::uint32_t);
  }

  // So that jobs that run beside each other take as long. Each size is asked for once.
  template <class SizeOf>
  static void sort_by_falling(std::vector<std::size_t>& list, const SizeOf& size_of) {
    std::vector<std::pair<std::size_t, std::size_t>> sizes;
    sizes.reserve(list.size());
    for (const std::size_t i : list) sizes.emplace_back(size_of(i), i);
    std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::transform(sizes.begin(), sizes.end(), list.begin(), [](const auto& size) { return size.second; });
  }

  template <int lanes>
  void run_band(Phase phase, std::vector<std::size_t>& list, std::vector<std::size_t>& failed) {
    constexpr int width = 2 * words * lanes;
    sort_by_falling(list, [&](std::size_t i) { return rows_of(i); });
    for (const std::size_t i : list) {
      const auto least = highest_outside(scores_, problems_[i], diagonals_around(problems_[i], width));
      jobs_[i].least_score = static_cast<std::int32_t>(std::clamp<std::int64_t>(least, -0x40000000, 0x7FFFFFFF));
    }
    const auto need = [&](std::size_t i) { return Need{rows_of(i) * width, 0, operation_bytes(jobs_[i])}; };
    in_waves(
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
    in_waves(
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

  // Runs the jobs of `list`, as many at a time as the scratch memory holds. Those whose band was too narrow go to `failed`.
  template <class NeedOf, class Fill, class Follow>
  void in_waves(const std::vector<std::size_t>& list, const NeedOf& need_of, const Fill& fill, const Follow& follow, Phase phase,
                std::vector<std::size_t>& failed) {
    constexpr std::size_t most_jobs = std::size_t{1} << 20;
    for (std::size_t next = 0; next < list.size();) {
      std::vector<Job> wave;
      std::vector<std::size_t> problems;
      Need all;
      double cells = 0;
      for (; next < list.size() && wave.size() < most_jobs; ++next) {
        Job& job = jobs_[list[next]];
        Need need = need_of(list[next]);
        need.steps = rounded_up(need.steps);
        if (need.all() + 2 * alignment > resources_.scratch_bytes) {
          ++answers_.left;
          continue;
        }
        if (all.all() + need.all() + 2 * alignment > resources_.scratch_bytes) break;
        job.steps = static_cast<std::int64_t>(all.steps);
        job.ring_place = need.ring > 0 ? static_cast<std::int64_t>(all.ring) : -1;
        job.operations = static_cast<std::int64_t>(all.operations / sizeof(std::uint32_t));
        all.steps += need.steps;
        all.ring += need.ring;
        all.operations += need.operations;
        cells += static_cast<double>(need.steps);
        wave.push_back(job);
        problems.push_back(list[next]);
      }
      if (wave.empty()) continue;
      lap(Phase::prepare, 0);
      const Work work = place(wave, all);
      lap(Phase::upload, 0);
      fill(work);
      lap(phase, cells);
      follow(work);
      lap(Phase::follow, cells);
      fetch(work, problems, failed);
      lap(Phase::download, 0);
    }
  }

  Work place(const std::vector<Job>& wave, const Need& all) {
    const std::size_t steps = rounded_up(all.steps), rings = rounded_up(all.ring);
    std::uint8_t* const memory = scratch_.get(steps + rings + all.operations, resources_, resources_.scratch_bytes);
    const std::size_t answers = rounded_up(wave.size() * sizeof(Answer));
    std::uint8_t* const lists = lists_.get(answers + wave.size() * sizeof(Job), resources_);
    sluice::cuda::copy_to_device(lists + answers, wave.data(), wave.size() * sizeof(Job), resources_.stream);
    return {scores_,
            reinterpret_cast<const Job*>(lists + answers),
            static_cast<std::int32_t>(wave.size()),
            codes_,
            memory,
            memory + steps,
            reinterpret_cast<std::uint32_t*>(memory + steps + rings),
            reinterpret_cast<Answer*>(lists)};
  }

  void fetch(const Work& work, const std::vector<std::size_t>& problems, std::vector<std::size_t>& failed) {
    std::vector<Answer> made(problems.size());
    sluice::cuda::copy_to_host(made.data(), work.answers, made.size() * sizeof(Answer), resources_.stream);
    std::vector<std::int64_t> to(problems.size());
    const std::size_t before = answers_.operations.size();
    std::int64_t count = 0;
    for (std::size_t k = 0; k < problems.size(); ++k) {
      if (made[k].too_narrow) {
        failed.push_back(problems[k]);
        to[k] = -1;
        continue;
      }
      to[k] = count;
      count += made[k].operation_count;
      made[k].operations = static_cast<std::int64_t>(before) + to[k];
      answers_.of[problems[k]] = made[k];
      answers_.is_done[problems[k]] = 1;
    }
    if (count == 0) return;
    const std::size_t places = rounded_up(to.size() * sizeof(std::int64_t)), bytes = static_cast<std::size_t>(count) * sizeof(std::uint32_t);
    std::uint8_t* const memory = gathered_.get(places + bytes, resources_);
    sluice::cuda::copy_to_device(memory, to.data(), to.size() * sizeof(std::int64_t), resources_.stream);
    auto* const gathered = reinterpret_cast<std::uint32_t*>(memory + places);
    gather_kernel<<<blocks_for(problems.size() * warp_lanes, threads_of_path), threads_of_path, 0, resources_.stream>>>(
        work.answers, reinterpret_cast<const std::int64_t*>(memory), work.count, work.operations, gathered);
    check(cudaGetLastError(), "gather_kernel");
    answers_.operations.resize(before + static_cast<std::size_t>(count));
    sluice::cuda::copy_to_host(answers_.operations.data() + before, gathered, bytes, resources_.stream);
  }

  void lap(Phase phase, double cells) const {
    if (resources_.lap) resources_.lap(phase, cells);
  }

  // Grows; what it had before is given back at the end of the call.
  class Room {
   public:
    // When it has to grow, at once to `most`: then there are two of them at most.
    std::uint8_t* get(std::size_t bytes, const Resources& resources, std::size_t most = 0) {
      if (bytes > size_) {
        const std::size_t size = size_ == 0 ? bytes : std::max(bytes, most);
        memory_ = static_cast<std::uint8_t*>(resources.allocate(size));
        size_ = size;
      }
      return memory_;
    }

   private:
    std::uint8_t* memory_ = nullptr;
    std::size_t size_ = 0;
  };

  const Scores& scores_;
  std::span<const Problem> problems_;
  const Resources& resources_;
  Answers& answers_;
  std::vector<Job> jobs_;  // of each problem
  std::vector<std::size_t> narrow_, wide_, whole_;
  std::uint8_t* codes_ = nullptr;
  Room scratch_, lists_, gathered_;
};

}  // namespace

void align(const Scores& scores, std::span<const Problem> problems, const Resources& resources, Answers& answers) {
  Runner(scores, problems, resources, answers).run();
}

}  // namespace sluice::base_alignment::cuda
