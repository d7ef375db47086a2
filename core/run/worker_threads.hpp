// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Threads that begin jobs in the order in which they were submitted; one runs them one after another. For readers and writers, which wait for disks
// and must not hold up a thread of the arena.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice {

class WorkerThreads {
 public:
  explicit WorkerThreads(int count) {
    try {
      for (int i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
    } catch (...) {  // a thread that can't be started
      end();
      throw;
    }
  }
  WorkerThreads(const WorkerThreads&) = delete;
  ~WorkerThreads() { end(); }
  void submit(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void serve() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }
  std::mutex mutex_;  // guards jobs_ and closing_
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice
