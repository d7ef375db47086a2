// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Chooses, for each batch, the implementation and the lane that are expected to finish it first.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "device/lane.hpp"
#include "plan/plan.hpp"
#include "sched/cost_model.hpp"

namespace sluice {

struct CallSize {
  double work = 0, largest_row = 0;  // in the stage's work unit
};

struct Choice {
  std::uint32_t implementation = 0;  // index into the descriptor's implementations
  Lane* lane = nullptr;
  double expected_seconds = 0;  // of the call alone; added to the lane's backlog until completed()
};

class Scheduler {
 public:
  Scheduler(const Plan& plan, std::vector<std::unique_ptr<Lane>> lanes, int threads);

  // The stage's instance can't use this implementation. Before the first choose().
  void withdraw(std::size_t stage, std::uint32_t implementation);

  // failed: devices that have failed on this batch. A choice without lane: nothing is left.
  Choice choose(std::size_t stage, const BatchData& batch, const CallSize& size, const std::vector<const DeviceMemory*>& failed = {});
  // Every choose() is followed by exactly one completed(). ok = false: the call's time says nothing about the lane's speed.
  void completed(std::size_t stage, const Choice& choice, const CallSize& size, double seconds, bool ok);
  void retire(Lane& lane, const std::string& why);

  Lane& cpu() { return *lanes_.front(); }
  const std::vector<std::unique_ptr<Lane>>& lanes() const { return lanes_; }
  bool has_choice(std::size_t stage) const {
    return candidates_[stage].size() > 1 || (!candidates_[stage].empty() && !candidates_[stage][0].lane->is_cpu());
  }
  std::vector<std::string> decisions() const;

 private:
  struct Candidate {
    std::uint32_t implementation;
    Lane* lane;
    CostModel cost;
    int trials = 0;  // calls given before the first completion
  };
  double transfer_seconds(const BatchData& batch, const Lane& lane) const;

  const Plan& plan_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // [0]: the CPU
  int threads_;
  mutable std::mutex mutex_;                        // guards everything below
  std::vector<std::vector<Candidate>> candidates_;  // per stage
  std::vector<std::string> decisions_;
};

}  // namespace sluice
