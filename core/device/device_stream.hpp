// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stream of a device: what goes to it happens in its order, later than the call that asks for it. Copies pass through page-locked memory of the
// stream's own, so that filling one slab overlaps the transfer of the other, and nobody waits for another stream's copies.

#include <sluice/abi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace sluice {

// Happens when a stream has done what went to it before.
class DeviceEvent {
 public:
  DeviceEvent(Device& device, void* event) : device_(device), event_(event) {}
  DeviceEvent(const DeviceEvent&) = delete;
  ~DeviceEvent() { device_.provider().forget(device_.raw(), event_); }
  void* raw() const { return event_; }

 private:
  Device& device_;
  void* event_;
};

// One thread at a time. Everything throws Failure.
class DeviceStream {
 public:
  DeviceStream(Device& device, std::string name);
  DeviceStream(const DeviceStream&) = delete;
  ~DeviceStream();

  Device& device() const { return device_; }
  const std::string& name() const { return name_; }  // "stream 2"
  const sluice_device& handle() const { return handle_; }
  void* raw() const { return stream_; }

  // The calling thread's calls of the device's own library go to this device.
  void enter();
  void* allocate(std::size_t bytes);
  // The sources arrive behind each other, in the stream's order; they may change when it returns.
  using Sources = std::vector<std::span<const std::byte>>;
  void copy_in(void* destination, const Sources& sources);
  // Returns when the copy, and so everything before it, has arrived.
  void copy_out(void* destination, const void* source, std::size_t bytes);
  // The same, faster, where the destination is page-locked.
  void copy_out_to_locked(void* destination, const void* source, std::size_t bytes);
  void copy_from_peer(void* destination, const Device& source_device, const void* source, std::size_t bytes);

  std::shared_ptr<DeviceEvent> record();
  // What follows waits for the event.
  void wait_for(const DeviceEvent& event);
  // Returns when everything has happened.
  void synchronize();
  // The same where a failure has been told already.
  void settle() noexcept;

 private:
  // 1 MiB: at 55 GB/s a slab takes 19 us, five times what starting a copy costs, and a dozen streams have 24 MiB.
  static constexpr std::size_t slab_bytes = std::size_t{1} << 20;
  struct Slab {
    void* memory = nullptr;
    std::shared_ptr<DeviceEvent> free_after;  // null: free
  };
  class CopyWatch;
  Slab& next_slab();
  void send(void* destination, const void* source, std::size_t bytes);
  std::byte* copy_through_slabs(std::byte* destination, const Sources& sources);
  void await(const DeviceEvent& event);  // on the calling thread

  Device& device_;
  const std::string name_;
  void* stream_ = nullptr;
  sluice_device handle_{};
  std::array<Slab, 2> slabs_;
  std::size_t slab_ = 0;
};

}  // namespace sluice
