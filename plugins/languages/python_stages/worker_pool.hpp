// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The workers of one stage of a run: started when they are needed first, each for one call at a time.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "python_stages/worker.hpp"

namespace sluice::python {

class WorkerPool {
 public:
  using Start = std::function<std::unique_ptr<Worker>(const std::function<bool()>& give_up)>;
  WorkerPool(Start start, std::size_t most) : start_(std::move(start)), most_(most) {}
  // Ends all of them.
  ~WorkerPool();

  // A worker that nobody else has; waits where there are as many as there may be.
  std::unique_ptr<Worker> take(const std::function<bool()>& give_up);
  // After a call. Null: that one is no more.
  void put_back(std::unique_ptr<Worker> worker);
  std::uint64_t kept_bytes() const;

 private:
  const Start start_;
  const std::size_t most_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable free_;
  std::size_t count_ = 0;  // those that are in use, too
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace sluice::python
