// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Jobs in waves: as many at a time as the scratch memory holds; then their answers and operations go to the host.

#include <algorithm>
#include <sluice/cuda.hpp>
#include <utility>
#include <vector>

#include "base_alignment/cuda/cuda.hpp"
#include "base_alignment/cuda/work.cuh"

namespace sluice::base_alignment::cuda {

inline constexpr std::size_t scratch_alignment = 256;
constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment; }
constexpr unsigned int blocks_for(std::size_t threads, int of_block) {
  return static_cast<unsigned int>((threads + static_cast<std::size_t>(of_block) - 1) / static_cast<std::size_t>(of_block));
}

// What a job takes of the scratch memory.
struct Need {
  std::size_t steps = 0, ring = 0, operations = 0;
  std::size_t all() const { return steps + ring + operations; }
};
inline std::size_t operation_bytes(const Job& job) { return static_cast<std::size_t>(job.query_length + job.target_length) * sizeof(std::uint32_t); }

// So that jobs that run beside each other take as long. Each size is asked for once.
template <class SizeOf>
void sort_by_falling(std::vector<std::size_t>& list, const SizeOf& size_of) {
  std::vector<std::pair<std::size_t, std::size_t>> sizes;
  sizes.reserve(list.size());
  for (const std::size_t i : list) sizes.emplace_back(size_of(i), i);
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::transform(sizes.begin(), sizes.end(), list.begin(), [](const auto& size) { return size.second; });
}

class Waves {
 public:
  // jobs: of each problem.
  Waves(const Scores& scores, const Resources& resources, std::vector<Job>& jobs, Answers& answers)
      : scores_(scores), resources_(resources), jobs_(jobs), answers_(answers) {}

  // What jobs read: codes, and words of the target for those across introns.
  void set_inputs(const std::uint8_t* codes, const std::uint32_t* targets = nullptr, const std::int32_t* of_cuts = nullptr) {
    codes_ = codes;
    targets_ = targets;
    of_cuts_ = of_cuts;
  }
  void lap(Phase phase, double cells) const {
    if (resources_.lap) resources_.lap(phase, cells);
  }

  // Runs the jobs of `list`, as many at a time as the scratch memory holds. Those whose band was too narrow go to `failed`.
  template <class NeedOf, class Fill, class Follow>
  void run(const std::vector<std::size_t>& list, const NeedOf& need_of, const Fill& fill, const Follow& follow, Phase phase,
           std::vector<std::size_t>& failed) {
    constexpr std::size_t most_jobs = std::size_t{1} << 20;
    if (list.empty()) return;
    std::size_t wanted = 2 * scratch_alignment;
    for (const std::size_t i : list) wanted += rounded_up(need_of(i).all()) + scratch_alignment;
    const std::size_t room = reserve(std::min(wanted, resources_.scratch_bytes));
    for (std::size_t next = 0; next < list.size();) {
      std::vector<Job> wave;
      std::vector<std::size_t> problems;
      Need all;
      double cells = 0;
      for (; next < list.size() && wave.size() < most_jobs; ++next) {
        Job& job = jobs_[list[next]];
        Need need = need_of(list[next]);
        need.steps = rounded_up(need.steps);
        if (need.all() + 2 * scratch_alignment > room) {
          ++answers_.left;
          continue;
        }
        if (all.all() + need.all() + 2 * scratch_alignment > room) break;
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

 private:
  // Makes room for what waves need, as much as there is of it on the device.
  std::size_t reserve(std::size_t wanted) {
    constexpr std::size_t least = std::size_t{32} << 20;
    if (wanted <= scratch_.size()) return scratch_.size();
    // There are two rooms at most.
    if (scratch_.size() > 0) wanted = resources_.scratch_bytes;
    for (;; wanted /= 2) {
      try {
        scratch_.get(wanted, resources_);
        return scratch_.size();
      } catch (const Failure& failure) {
        if (failure.status() != SLUICE_ERROR_DEVICE_MEMORY) throw;
        if (wanted / 2 <= scratch_.size()) return scratch_.size();
        if (wanted / 2 < least) throw;
      }
    }
  }

  Work place(const std::vector<Job>& wave, const Need& all) {
    const std::size_t steps = rounded_up(all.steps), rings = rounded_up(all.ring);
    std::uint8_t* const memory = scratch_.get(steps + rings + all.operations, resources_);
    const std::size_t answers = rounded_up(wave.size() * sizeof(Answer));
    std::uint8_t* const lists = lists_.get(answers + wave.size() * sizeof(Job), resources_);
    sluice::cuda::copy_to_device(lists + answers, wave.data(), wave.size() * sizeof(Job), resources_.stream);
    return {scores_,
            reinterpret_cast<const Job*>(lists + answers),
            static_cast<std::int32_t>(wave.size()),
            codes_,
            targets_,
            of_cuts_,
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
    sluice::cuda::check(cudaGetLastError(), "gather_kernel");
    answers_.operations.resize(before + static_cast<std::size_t>(count));
    sluice::cuda::copy_to_host(answers_.operations.data() + before, gathered, bytes, resources_.stream);
  }

  // Grows; what it had before is given back at the end of the call.
  class Room {
   public:
    std::uint8_t* get(std::size_t bytes, const Resources& resources) {
      if (bytes > size_) {
        memory_ = static_cast<std::uint8_t*>(resources.allocate(bytes));
        size_ = bytes;
      }
      return memory_;
    }
    std::size_t size() const { return size_; }

   private:
    std::uint8_t* memory_ = nullptr;
    std::size_t size_ = 0;
  };

  const Scores& scores_;
  const Resources& resources_;
  std::vector<Job>& jobs_;
  Answers& answers_;
  const std::uint8_t* codes_ = nullptr;
  const std::uint32_t* targets_ = nullptr;
  const std::int32_t* of_cuts_ = nullptr;
  Room scratch_, lists_, gathered_;
};

}  // namespace sluice::base_alignment::cuda
