// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/worker_pool.hpp"

#include <chrono>

namespace sluice::python {

WorkerPool::~WorkerPool() {
  for (const auto& worker : idle_) worker->close_socket();  // all begin to end before the first is waited for
}

std::unique_ptr<Worker> WorkerPool::take(const std::function<bool()>& give_up) {
  {
    std::unique_lock lock(mutex_);
    while (idle_.empty() && count_ >= most_) {
      free_.wait_for(lock, std::chrono::milliseconds(100));
      if (give_up()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
    }
    if (!idle_.empty()) {
      std::unique_ptr<Worker> worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
    ++count_;
  }
  try {
    return start_(give_up);
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

std::uint64_t WorkerPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& worker : idle_) bytes += worker->kept_bytes();
  return bytes;
}

}  // namespace sluice::python
