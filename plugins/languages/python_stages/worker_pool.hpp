// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The workers of one stage of a run, each for one call at a time. One is started where a call has to wait for it; the call goes to whichever is free
// first, that one or another.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "python_stages/worker.hpp"

namespace sluice::python {

class WorkerPool {
 public:
  using GiveUp = std::function<bool()>;
  struct Ways {
    std::function<std::unique_ptr<Worker>()> start;
    // Before its first call: throws Failure where it is of no use.
    std::function<void(Worker&, const GiveUp& give_up)> greet;
  };
  WorkerPool(Ways ways, std::size_t most) : ways_(std::move(ways)), most_(most) {}
  // Ends all of them.
  ~WorkerPool();

  // A worker that nobody else has.
  std::unique_ptr<Worker> take(const GiveUp& give_up);
  // After a call. Null: that one is no more.
  void put_back(std::unique_ptr<Worker> worker);
  // One that has been started, and greeted.
  void add(std::unique_ptr<Worker> worker);
  std::uint64_t kept_bytes() const;

 private:
  std::unique_ptr<Worker> take_started();

  const Ways ways_;
  const std::size_t most_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable free_;
  std::size_t count_ = 0;    // those that are in use or being started, too
  std::size_t waiting_ = 0;  // calls
  std::vector<std::unique_ptr<Worker>> idle_, starting_;
};

}  // namespace sluice::python
