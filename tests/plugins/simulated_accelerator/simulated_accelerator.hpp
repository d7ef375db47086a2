// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// An accelerator that exists only in the tests: its speed, transfer cost, memory and faults are what a test says they are.

#include <atomic>
#include <cstdint>
#include <functional>

namespace sluice::simulated_accelerator {

inline constexpr const char* extension_id = "sluice.simulated_accelerator/1";

// Reached through the plugin's get_extension(extension_id); set before a run opens its devices.
struct Settings {
  std::atomic<int> devices{1};
  std::atomic<double> speed{5.0};              // of the stage "simulated_work", relative to the CPU
  std::atomic<double> seconds_per_work{1e-5};  // on one CPU thread; spent asleep, so that cores do not matter
  std::atomic<double> bytes_per_second{1e9}, seconds_per_copy{1e-5};
  std::atomic<std::uint64_t> memory_bytes{std::uint64_t{1} << 30};
  std::atomic<int> fail_kernel_every{0};  // every n-th call fails; 0: never
  std::atomic<int> fail_memory_every{0};
  std::atomic<int> lost_after{-1};              // calls until the device is gone for good; -1: never
  std::atomic<int> fetch_status{0};             // what copies to the host return at once
  std::atomic<bool> fail_behind_kernel{false};  // a failing call has launched its kernel, which still runs when it fails
  std::atomic<int> calls{0};
  std::atomic<std::int64_t> bytes_allocated{0};  // must be 0 after a run
  std::atomic<int> peer_copies{0};
  // Calls that found another device current than their own, and kernels that read memory after it was freed: must be 0.
  std::atomic<int> wrong_devices{0}, read_after_free{0};
};
// Of this plugin.
Settings& settings();

// What the accelerator's own library calls the device.
constexpr int native_ordinal_of(int ordinal) { return 7 - ordinal; }
// Of the calling thread, by the library's number.
int& current_device();

// Memory that was freed is full of it.
constexpr int freed_byte = 0xDD;

// The `stream` of a call on the accelerator.
class DeferredStream {
 public:
  virtual ~DeferredStream() = default;
  // Later, after what went to the stream before.
  virtual void launch(std::function<void()> kernel) = 0;
  // Until that has happened.
  virtual void finish() = 0;
};

}  // namespace sluice::simulated_accelerator
