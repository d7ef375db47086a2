// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What this process may use of the machine: affinity and cgroup limits (v1 and v2) count, not what the host has.

#include <cstdint>
#include <filesystem>

namespace sluice {

struct HostLimits {
  int cpus_online = 1;
  int cpus_affinity = 1;
  double cpus_cgroup = 0;           // 0: no limit
  std::uint64_t memory_total = 0;   // bytes
  std::uint64_t memory_cgroup = 0;  // 0: no limit

  int usable_cpus() const;
  std::uint64_t usable_memory() const;
};

// `root` stands for "/" (tests give a folder of their own).
HostLimits host_limits(const std::filesystem::path& root = "/");

}  // namespace sluice
