// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a fault of a device is, and faults made on purpose (`sluice run --inject-device-fault KIND@N[,every=M]`), at the host's side of every
// device, so that they work with any provider: what a run does about a fault can then be tested without hardware that breaks.

#include <sluice/abi.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// What a run survives.
constexpr bool is_device_failure(sluice_status status) {
  return status == SLUICE_ERROR_DEVICE_MEMORY || status == SLUICE_ERROR_DEVICE_KERNEL || status == SLUICE_ERROR_DEVICE_LOST;
}

enum class DeviceFault {
  memory,  // the call finds no room
  kernel,  // the call's kernels have run, and then an error is reported
  lost     // the device is gone from this call on, with everything that lies on it
};

// Which calls: the first-th (counted from 1 over all devices of the run), and from there on every every-th (0: only that one).
struct DeviceFaultRule {
  DeviceFault fault = DeviceFault::kernel;
  std::uint64_t first = 1, every = 0;
};

// "memory@3", "kernel@1,every=5", "lost@10". Nothing: that is no rule.
std::optional<DeviceFaultRule> parse_device_fault(std::string_view text);

// Counts calls. Thread-safe.
class DeviceFaultInjector {
 public:
  explicit DeviceFaultInjector(std::vector<DeviceFaultRule> rules) : rules_(std::move(rules)) {}
  // The fault of the next call, if it is to have one; of several rules the first that fits.
  std::optional<DeviceFault> next_call();

 private:
  const std::vector<DeviceFaultRule> rules_;
  std::mutex mutex_;  // guards calls_
  std::uint64_t calls_ = 0;
};

}  // namespace sluice
