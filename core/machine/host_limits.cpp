// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/host_limits.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

double number(const std::string& text) {
  try {
    return std::stod(text);
  } catch (const std::logic_error&) {
    return -1;  // "max", or no such file
  }
}

// The folders of this process's cgroup for a controller, from its own up to the root: every one of them may set a limit.
std::vector<fs::path> cgroup_folders(const fs::path& root, const std::string& controller) {
  std::vector<fs::path> result;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
    const fs::path base = version2 ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / controller;
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (;;) {
      result.push_back(group.empty() ? base : base / group);
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return result;
}

}  // namespace

HostLimits host_limits(const fs::path& root) {
  HostLimits limits;
  limits.cpus_online = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t set;
  limits.cpus_affinity = ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : limits.cpus_online;
  limits.memory_total = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  const auto lower_cpus = [&](double cpus) {
    if (cpus > 0 && (limits.cpus_cgroup == 0 || cpus < limits.cpus_cgroup)) limits.cpus_cgroup = cpus;
  };
  for (const fs::path& folder : cgroup_folders(root, "cpu")) {
    std::istringstream v2(first_line(folder / "cpu.max"));
    std::string quota, period;
    if (v2 >> quota >> period && number(quota) > 0 && number(period) > 0) lower_cpus(number(quota) / number(period));
    const double q = number(first_line(folder / "cpu.cfs_quota_us")), p = number(first_line(folder / "cpu.cfs_period_us"));
    if (q > 0 && p > 0) lower_cpus(q / p);
  }
  for (const fs::path& folder : cgroup_folders(root, "memory"))
    for (const char* file : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
      const double bytes = number(first_line(folder / file));
      // v1 writes "no limit" as a number near 2^63.
      if (bytes > 0 && bytes < 4e18 && (limits.memory_cgroup == 0 || bytes < static_cast<double>(limits.memory_cgroup)))
        limits.memory_cgroup = static_cast<std::uint64_t>(bytes);
    }
  return limits;
}

int HostLimits::usable_cpus() const {
  int cpus = std::min(cpus_online, cpus_affinity);
  if (cpus_cgroup > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(cpus_cgroup)));
  return std::max(cpus, 1);
}

std::uint64_t HostLimits::usable_memory() const { return memory_cgroup > 0 ? std::min(memory_cgroup, memory_total) : memory_total; }

}  // namespace sluice
