// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/device_activity.hpp"

#include <algorithm>

namespace sluice {

void DeviceActivity::begin_call() {
  const std::lock_guard lock(mutex_);
  ++totals_.calls;
  if (++calls_now_ == 1) busy_since_ = Clock::now();
}

void DeviceActivity::end_call() {
  const std::lock_guard lock(mutex_);
  if (--calls_now_ == 0) totals_.busy_seconds += std::chrono::duration<double>(Clock::now() - busy_since_).count();
}

void DeviceActivity::copied(const CopyEvent& copy) {
  {
    const std::lock_guard lock(mutex_);
    (copy.direction == CopyDirection::to_device ? totals_.bytes_to_device : totals_.bytes_to_host) += copy.bytes;
    ++totals_.copies;
    totals_.copy_seconds += copy.seconds;
  }
  if (observer_) observer_(copy);
}

void DeviceActivity::uses(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  totals_.memory_peak = std::max(totals_.memory_peak, bytes);
}

void DeviceActivity::failed(sluice_status status) {
  const std::lock_guard lock(mutex_);
  if (status == SLUICE_ERROR_DEVICE_MEMORY)
    ++totals_.faults.memory;
  else if (status == SLUICE_ERROR_DEVICE_KERNEL)
    ++totals_.faults.kernel;
  else if (status == SLUICE_ERROR_DEVICE_LOST)
    ++totals_.faults.lost;
}

DeviceStatistics DeviceActivity::statistics() const {
  const std::lock_guard lock(mutex_);
  DeviceStatistics result = totals_;
  if (calls_now_ > 0) result.busy_seconds += std::chrono::duration<double>(Clock::now() - busy_since_).count();
  return result;
}

}  // namespace sluice
