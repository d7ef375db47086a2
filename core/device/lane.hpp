// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where batches are executed: the CPU, or one device with its memory and a thread that feeds it.

#include <sluice/abi.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "device/device_activity.hpp"
#include "device/device_fault.hpp"

namespace sluice {

// The memory of one open device, and the copies to and from it. Thread-safe.
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  // limit_bytes: at most so much is allocated (0: all that the device has). Throws Failure when the device can't be opened.
  static std::shared_ptr<DeviceMemory> open(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes);
  ~DeviceMemory();

  // Both return when the copy has arrived.
  ArrowDeviceArray upload(const std::string& type, const ArrowArray& host);
  ArrowArray download(const std::string& type, const ArrowDeviceArray& device);

  // One more stream on the device, with the handle that calls on it get. Lives as long as this object.
  const sluice_device& open_stream();
  void synchronize(const sluice_device& stream);

  const char* kind() const { return provider_.kind; }

  // Calls on the device share this; a call that ran out of memory is repeated while it holds it alone.
  std::shared_mutex& calls() { return calls_; }
  const sluice_device_info& info() const { return info_; }
  std::string name() const;  // "cuda:0"
  DeviceActivity& activity() { return activity_; }
  DeviceStatistics statistics() const;

  // Faults for calls on this device; set before the first call.
  void inject(std::shared_ptr<DeviceFaultInjector> faults) { faults_ = std::move(faults); }
  std::optional<DeviceFault> next_fault() { return faults_ ? faults_->next_call() : std::nullopt; }
  // From now on the device answers nothing but SLUICE_ERROR_DEVICE_LOST.
  void lose() { lost_ = true; }
  void throw_if_lost() const;
  std::uint64_t bytes_used() const { return used_; }

 private:
  class CopyWatch;
  // A stream: the provider's device object and the handle that calls see.
  struct Stream {
    DeviceMemory* owner;
    void* device;
    sluice_device handle;
  };
  static sluice_status handle_allocate(const sluice_device* device, std::size_t bytes, void** memory);
  static void handle_free(const sluice_device* device, void* memory);
  static void release_array(ArrowArray* array);
  sluice_status allocate(void* device, std::size_t bytes, void** memory);
  void free(void* device, void* memory);

  DeviceMemory(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes);
  ArrowDeviceArray start_upload(const std::string& type, const ArrowArray& host);
  void copy_in(void* destination, const void* source, std::size_t bytes);
  void copy_out(void* destination, const void* source, std::size_t bytes);

  const sluice_device_provider& provider_;
  int ordinal_;
  std::uint64_t limit_;
  void* device_ = nullptr;  // the provider's object for copies
  sluice_device_info info_{};
  std::deque<std::unique_ptr<Stream>> streams_;  // grows only while lanes are made
  std::atomic<std::uint64_t> used_{0};
  std::atomic<bool> lost_{false};
  DeviceActivity activity_;
  std::shared_ptr<DeviceFaultInjector> faults_;
  std::shared_mutex calls_;
  std::mutex sizes_mutex_;  // guards sizes_
  std::unordered_map<void*, std::size_t> sizes_;
};

// One of a lane's ways to work side by side: a stream of a device; on the CPU a thread, of which nothing is known here.
struct LaneStream {
  const sluice_device* device = nullptr;  // what calls get; null: the CPU
  std::string name;                       // "stream 0"; "" on the CPU
};

// A lane runs jobs. The CPU lane runs them where it is called (a thread of the run's arena); a device lane has a queue and a thread for each
// stream. No exception leaves a job: jobs handle their own failures.
class Lane {
 public:
  using Job = std::function<void(const LaneStream&)>;

  static std::unique_ptr<Lane> cpu();
  // A thread that waits for its stream is blocked in the driver and costs no core. Throws Failure when a stream can't be opened.
  static std::unique_ptr<Lane> device(std::shared_ptr<DeviceMemory> memory, int streams);
  // Waits for the jobs that were submitted.
  ~Lane();

  bool is_cpu() const { return memory_ == nullptr; }
  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  std::string name() const { return is_cpu() ? "cpu" : memory_->name(); }
  std::string kind() const { return is_cpu() ? "cpu" : memory_->kind(); }

  void submit(Job job);

 private:
  Lane() = default;
  void serve(const LaneStream& stream);

  std::shared_ptr<DeviceMemory> memory_;
  std::deque<LaneStream> streams_;
  std::mutex mutex_;  // guards queue_ and closing_
  std::condition_variable wake_;
  std::deque<Job> queue_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice
