// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a thread is doing for a stage while this lives: one call with one batch. Copies that the thread causes meanwhile are counted for the
// call; profilers see a range of the stage's name; injected faults happen here.

#include <cstdint>
#include <optional>
#include <string>

#include "device/device_fault.hpp"
#include "device/lane.hpp"
#include "device/profiler_range.hpp"

namespace sluice {

struct CallScopeName {
  const std::string& stage;
  std::uint64_t sequence = 0;  // the batch's number
  std::int64_t rows = 0;
  std::string stream;  // "stream 2"; "" on the CPU
};

class CallScope {
 public:
  // device: null on the CPU. bytes_moved: what is copied to and from devices is added there. Throws Failure when this call is to find
  // the device full or gone.
  CallScope(const CallScopeName& name, DeviceMemory* device, std::uint64_t& bytes_moved);
  ~CallScope();
  CallScope(const CallScope&) = delete;

  // That of this thread; null between calls.
  static CallScope* current();
  const CallScopeName& name() const { return name_; }
  void copied(std::uint64_t bytes) { bytes_moved_ += bytes; }
  // True once: the kernels of this call are to fail.
  bool take_kernel_fault();

 private:
  const CallScopeName name_;
  DeviceMemory* const device_;
  std::uint64_t& bytes_moved_;
  bool kernel_fault_ = false;
  CallScope* outer_ = nullptr;
  std::optional<ProfilerRange> range_;
};

}  // namespace sluice
