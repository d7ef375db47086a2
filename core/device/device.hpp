// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One open device of a provider for one run: its memory, its streams, what it did.

#include <sluice/abi.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device_activity.hpp"
#include "device/device_fault.hpp"
#include "machine/recycled_memory.hpp"

namespace sluice {

class DeviceStream;

// Thread-safe.
class Device : public std::enable_shared_from_this<Device> {
 public:
  // limit_bytes: at most so much is allocated (0: all that the device has). Throws Failure when the device can't be opened.
  static std::shared_ptr<Device> open(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes);
  ~Device();
  Device(const Device&) = delete;

  // One more stream for calls. Lives as long as this object. Throws Failure.
  DeviceStream& open_stream(const std::string& name);
  // A stream for copies outside of calls: nobody else has it while the handle lives, and there are few, so that it may have to be waited for. It must
  // not outlive the device.
  using StreamHandle = std::unique_ptr<DeviceStream, void (*)(DeviceStream*)>;
  StreamHandle borrow_stream();

  const sluice_device_provider& provider() const { return provider_; }
  void* raw() const { return device_; }  // the provider's
  const char* kind() const { return provider_.kind; }
  int ordinal() const { return ordinal_; }
  std::string name() const;  // "cuda:0"
  const sluice_device_info& info() const { return info_; }
  bool is_peer_of(const Device& other) const { return &provider_ == &other.provider_ && provider_.copy_from_peer != nullptr; }

  // In the order of the provider's stream. SLUICE_ERROR_DEVICE_MEMORY beyond the limit.
  sluice_status allocate(void* stream, std::size_t bytes, void** memory);
  // On any thread; nothing that goes on may still use it. Null: nothing.
  void free(void* memory);
  std::uint64_t bytes_used() const { return used_; }
  // Page-locked memory of the host, which a copy fills without a detour; used again when the last owner lets it go. Null where there is none, or no
  // more than may be locked (nothing, until lock_at_most() says so).
  std::shared_ptr<void> locked_block(std::size_t bytes);
  RecycledMemory& locked_memory() { return locked_; }
  void lock_at_most(std::uint64_t bytes) { locked_.limit(bytes); }
  // Does all of it lie in a page-locked block?
  bool is_locked(std::span<const std::byte> memory) const;
  std::uint64_t limit() const { return limit_; }

  // Calls on the device share this; a call that ran out of memory is repeated while it holds it alone.
  std::shared_mutex& calls() { return calls_; }
  DeviceActivity& activity() { return activity_; }
  DeviceStatistics statistics() const;

  // Faults for calls on this device; set before the first call.
  void inject(std::shared_ptr<DeviceFaultInjector> faults) { faults_ = std::move(faults); }
  std::optional<DeviceFault> next_fault() { return faults_ ? faults_->next_call() : std::nullopt; }
  // From now on the device answers nothing but SLUICE_ERROR_DEVICE_LOST.
  void lose() { lost_ = true; }
  void throw_if_lost() const;
  [[noreturn]] void raise(sluice_status status, const std::string& what, const sluice_error& error) const;

 private:
  Device(const sluice_device_provider& provider, int ordinal, std::uint64_t limit_bytes);

  struct Block {
    std::size_t bytes;
    void* stream;  // that it was allocated on
  };
  const sluice_device_provider& provider_;
  const int ordinal_;
  std::uint64_t limit_;
  void* device_ = nullptr;
  sluice_device_info info_{};
  std::atomic<std::uint64_t> used_{0};
  std::atomic<bool> lost_{false};
  mutable std::shared_mutex locked_mutex_;                 // guards locked_blocks_
  std::map<const std::byte*, std::size_t> locked_blocks_;  // all of locked_
  RecycledMemory locked_;
  DeviceActivity activity_;
  std::shared_ptr<DeviceFaultInjector> faults_;
  std::shared_mutex calls_;
  mutable std::mutex streams_mutex_;  // guards what follows
  std::condition_variable stream_came_back_;
  std::deque<std::unique_ptr<DeviceStream>> streams_;
  std::vector<std::unique_ptr<DeviceStream>> idle_;  // for borrow_stream()
  int borrowed_ = 0;                                 // that were made for it
  std::mutex blocks_mutex_;                          // guards blocks_
  std::unordered_map<void*, Block> blocks_;
};

// For a process that ends without destructors when its last run is over: the system takes back what devices have in a tenth of the time.
void leave_to_the_system(std::vector<std::shared_ptr<Device>> devices);
bool devices_were_left();

}  // namespace sluice
