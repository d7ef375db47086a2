// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/lane.hpp"

#include <utility>

namespace sluice {

std::unique_ptr<Lane> Lane::cpu() { return std::unique_ptr<Lane>(new Lane); }

std::unique_ptr<Lane> Lane::on_device(std::shared_ptr<Device> device, int streams) {
  std::unique_ptr<Lane> lane(new Lane);
  lane->device_ = std::move(device);
  for (int number = 0; number < streams; ++number) {
    DeviceStream& stream = lane->device_->open_stream("stream " + std::to_string(number));
    lane->threads_.emplace_back([raw = lane.get(), &stream] { raw->serve(stream); });
  }
  return lane;
}

Lane::~Lane() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lane::submit(Job job) {
  if (is_cpu()) return job(nullptr);
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Lane::serve(DeviceStream& stream) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job(&stream);
  }
}

}  // namespace sluice
