// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What one device did during a run, for the report. Plain data.

#include <cstdint>
#include <string>

namespace sluice {

struct DeviceFaults {
  std::uint64_t memory = 0, kernel = 0, lost = 0;  // calls that ended so
};

struct DeviceStatistics {
  std::string name, model;  // "cuda:0", "NVIDIA H200"
  std::size_t streams = 0;
  std::uint64_t memory_limit = 0, memory_peak = 0;  // bytes that the run may use there, and did use at one moment
  std::uint64_t memory_now = 0;                     // bytes that it uses
  std::uint64_t calls = 0;
  double busy_seconds = 0;  // at least one call was under way, its copies included
  std::uint64_t copies = 0, bytes_to_device = 0, bytes_to_host = 0;
  double copy_seconds = 0;  // sum over copies
  DeviceFaults faults;
};

}  // namespace sluice
