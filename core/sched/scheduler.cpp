// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sched/scheduler.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace sluice {

Scheduler::Scheduler(const Plan& plan, std::vector<std::unique_ptr<Lane>> lanes, int threads)
    : plan_(plan), lanes_(std::move(lanes)), threads_(threads) {
  candidates_.resize(plan.stages.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const sluice_stage_descriptor& d = *plan.stages[i].stage->entry.descriptor;
    for (const std::uint32_t k : plan.stages[i].implementations)
      for (const auto& lane : lanes_)
        if (lane->kind() == d.implementations[k].device) candidates_[i].push_back({k, lane.get(), {}, 0});
  }
}

void Scheduler::withdraw(std::size_t stage, std::uint32_t implementation) {
  const std::lock_guard lock(mutex_);
  std::erase_if(candidates_[stage], [&](const Candidate& candidate) { return candidate.implementation == implementation; });
}

double Scheduler::transfer_seconds(const BatchData& batch, const Lane& lane) const {
  double seconds = 0;
  for (const ColumnHandle& column : batch.columns) {
    const DeviceMemory* to = lane.memory().get();
    if (to != nullptr ? column->is_on(*to) : column->is_on_host()) continue;
    if (to != nullptr) {
      seconds += to->info().seconds_per_copy + static_cast<double>(column->bytes()) / std::max(to->info().bytes_per_second, 1.0);
    } else {
      for (const auto& from : lanes_)
        if (!from->is_cpu() && column->is_on(*from->memory()))
          seconds +=
              from->memory()->info().seconds_per_copy + static_cast<double>(column->bytes()) / std::max(from->memory()->info().bytes_per_second, 1.0);
    }
  }
  return seconds;
}

Choice Scheduler::choose(std::size_t stage, const BatchData& batch, const CallSize& size, const std::vector<const DeviceMemory*>& failed) {
  const std::lock_guard lock(mutex_);
  Candidate* best = nullptr;
  double best_finish = std::numeric_limits<double>::infinity(), best_seconds = 0;
  for (Candidate& candidate : candidates_[stage]) {
    if (!candidate.lane->healthy()) continue;
    if (!candidate.lane->is_cpu() && std::find(failed.begin(), failed.end(), candidate.lane->memory().get()) != failed.end()) continue;
    const double transfer = transfer_seconds(batch, *candidate.lane);
    // An implementation that nobody has timed yet gets one batch at a time until its speed is known.
    double seconds = candidate.cost.predict(size.work, size.largest_row), finish;
    if (!candidate.cost.known()) {
      finish = candidate.trials == 0 ? -1.0 : std::numeric_limits<double>::max();
    } else {
      finish = candidate.lane->backlog_seconds() / (candidate.lane->is_cpu() ? threads_ : 1) + transfer + seconds;
    }
    if (finish < best_finish) {
      best = &candidate;
      best_finish = finish;
      best_seconds = seconds + (candidate.lane->is_cpu() ? 0 : transfer);
    }
  }
  if (best == nullptr) return {0, nullptr, 0};
  ++best->trials;
  best->lane->add_backlog(best_seconds);
  return {best->implementation, best->lane, best_seconds};
}

void Scheduler::completed(std::size_t stage, const Choice& choice, const CallSize& size, double seconds, bool ok) {
  const std::lock_guard lock(mutex_);
  choice.lane->add_backlog(-choice.expected_seconds);
  for (Candidate& candidate : candidates_[stage])
    if (candidate.lane == choice.lane && candidate.implementation == choice.implementation) {
      if (ok)
        candidate.cost.observe(size.work, size.largest_row, seconds);
      else if (!candidate.cost.known())
        candidate.trials = 0;
    }
}

void Scheduler::retire(Lane& lane, const std::string& why) {
  if (!lane.healthy()) return;
  lane.retire();
  const std::lock_guard lock(mutex_);
  decisions_.push_back(lane.name() + " was retired: " + why);
}

std::vector<std::string> Scheduler::decisions() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result = decisions_;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].size() < 2) continue;
    std::string line = "stage '" + plan_.stages[i].stage->name + "':";
    for (const Candidate& candidate : candidates_[i])
      line += " " + candidate.lane->name() + " " + std::to_string(candidate.cost.count()) + " batches at " + std::to_string(candidate.cost.rate()) +
              " per second;";
    result.push_back(line);
  }
  return result;
}

}  // namespace sluice
