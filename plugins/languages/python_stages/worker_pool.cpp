// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/worker_pool.hpp"

#include <algorithm>
#include <chrono>

namespace sluice::python {

WorkerPool::~WorkerPool() {
  for (const auto* all : {&idle_, &starting_})
    for (const auto& worker : *all) worker->close_socket();  // all begin to end before the first is waited for
}

std::unique_ptr<Worker> WorkerPool::take_started() {
  const auto ready = std::find_if(starting_.begin(), starting_.end(), [](const auto& worker) { return worker->has_said(); });
  if (ready == starting_.end()) return nullptr;
  std::unique_ptr<Worker> worker = std::move(*ready);
  starting_.erase(ready);
  return worker;
}

std::unique_ptr<Worker> WorkerPool::take(const GiveUp& give_up) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  std::unique_ptr<Worker> worker;
  bool is_new = false, has_to_end = false;
  try {
    while (!worker && !has_to_end) {
      if (!idle_.empty()) {
        worker = std::move(idle_.back());
        idle_.pop_back();
      } else if ((worker = take_started())) {
        is_new = true;
      } else {
        if (count_ < most_ && starting_.size() < waiting_) {
          starting_.push_back(ways_.start());
          ++count_;
        }
        free_.wait_for(lock, std::chrono::milliseconds(starting_.empty() ? 100 : 2));
        has_to_end = give_up();
      }
    }
  } catch (...) {
    --waiting_;
    throw;
  }
  --waiting_;
  if (has_to_end && !worker) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
  lock.unlock();
  if (!is_new) return worker;
  try {
    ways_.greet(*worker, give_up);
    return worker;
  } catch (...) {
    put_back(nullptr);
    throw;
  }
}

void WorkerPool::put_back(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  if (worker)
    idle_.push_back(std::move(worker));
  else
    --count_;
  free_.notify_one();
}

void WorkerPool::add(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  ++count_;
}

std::uint64_t WorkerPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& worker : idle_) bytes += worker->kept_bytes();
  return bytes;
}

}  // namespace sluice::python
