// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What one device did during a run: calls, copies, memory, faults. Thread-safe.

#include <sluice/abi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "device/device_statistics.hpp"

namespace sluice {

enum class CopyDirection { to_device, to_host };

struct CopyEvent {
  CopyDirection direction = CopyDirection::to_device;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

class DeviceActivity {
 public:
  // The device is busy while at least one call is under way, on whichever stream.
  void begin_call();
  void end_call();
  void copied(const CopyEvent& copy);
  // So much memory is in use now.
  void uses(std::uint64_t bytes);
  // A call ended with this status of the SLUICE_ERROR_DEVICE_ kind.
  void failed(sluice_status status);
  // Called on the thread that copied, behind every copy. Set before the first one.
  void observe_copies(std::function<void(const CopyEvent&)> observer) { observer_ = std::move(observer); }
  // Name, model, memory and streams are the device's to add.
  DeviceStatistics statistics() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::function<void(const CopyEvent&)> observer_;
  mutable std::mutex mutex_;  // guards everything below
  DeviceStatistics totals_;
  int calls_now_ = 0;
  Clock::time_point busy_since_;
};

}  // namespace sluice
