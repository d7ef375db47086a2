// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Notices that a run has stopped moving and says where everything is. It never ends a run: a slow disk is no error.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "run/run_context.hpp"
#include "sched/memory_budget.hpp"

namespace sluice {

class Watchdog {
 public:
  Watchdog(const RunContext& run, const MemoryBudget& budget, double seconds);
  ~Watchdog();

 private:
  void watch();
  void tell() const;
  const RunContext& run_;
  const MemoryBudget& budget_;
  const double seconds_;
  std::mutex mutex_;  // guards closing_
  std::condition_variable wake_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace sluice
