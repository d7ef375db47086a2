// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where calls run: the CPU, or one device with a thread for each of its streams.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/device_stream.hpp"

namespace sluice {

// A lane runs jobs. The CPU lane runs them where it is called (a thread of the run's arena); a device lane has a queue and a thread for each
// stream. No exception leaves a job: jobs handle their own failures.
class Lane {
 public:
  // The stream that the thread feeds; null on the CPU.
  using Job = std::function<void(DeviceStream*)>;

  static std::unique_ptr<Lane> cpu();
  // A thread that waits for its stream is blocked in the driver and costs no core. Throws Failure when a stream can't be opened.
  static std::unique_ptr<Lane> on_device(std::shared_ptr<Device> device, int streams);
  // Waits for the jobs that were submitted.
  ~Lane();

  bool is_cpu() const { return device_ == nullptr; }
  const std::shared_ptr<Device>& device() const { return device_; }
  std::string name() const { return is_cpu() ? "cpu" : device_->name(); }
  std::string kind() const { return is_cpu() ? "cpu" : device_->kind(); }

  void submit(Job job);

 private:
  Lane() = default;
  void serve(DeviceStream& stream);

  std::shared_ptr<Device> device_;
  std::mutex mutex_;  // guards queue_ and closing_
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice
