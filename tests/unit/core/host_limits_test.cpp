// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/host_limits.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "sched/memory_budget.hpp"
#include "sched/reorder_buffer.hpp"

using namespace sluice;
namespace fs = std::filesystem;

namespace {

class FakeRoot {
 public:
  FakeRoot() : folder_(fs::temp_directory_path() / ("sluice-root-" + std::to_string(::getpid()))) { fs::remove_all(folder_); }
  ~FakeRoot() { fs::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  const fs::path& path() const { return folder_; }

 private:
  fs::path folder_;
};

}  // namespace

TEST_CASE("cgroup v2 limits of the own group and of the groups above it count") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
  root.write("sys/fs/cgroup/a/memory.max", "max\n");
  const HostLimits limits = host_limits(root.path());
  CHECK(limits.cpus_cgroup == doctest::Approx(1.5));
  CHECK(limits.usable_cpus() <= 2);
  CHECK(limits.memory_cgroup == 1073741824U);
  CHECK(limits.usable_memory() == 1073741824U);
}

TEST_CASE("cgroup v1 limits count, and its number for 'no limit' does not") {
  const FakeRoot root;
  root.write("proc/self/cgroup", "5:cpu,cpuacct:/job\n3:memory:/job\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  const HostLimits limits = host_limits(root.path());
  CHECK(limits.cpus_cgroup == doctest::Approx(0.5));
  CHECK(limits.usable_cpus() == 1);
  CHECK(limits.memory_cgroup == 0);
}

TEST_CASE("A permit comes back when its last holder dies, and a batch larger than the budget goes alone") {
  MemoryBudget budget(1000, 10.0, 4);
  auto first = budget.acquire(50);
  auto second = budget.acquire(50);
  CHECK(budget.in_flight() == 2);
  MemoryBudget::PermitHandle third;
  std::thread waiting([&] { third = budget.acquire(1000); });
  const auto copy = first;
  first.reset();
  second.reset();
  CHECK(budget.in_flight() == 1);
  const_cast<MemoryBudget::PermitHandle&>(copy).reset();
  waiting.join();
  CHECK(third);
  CHECK(budget.in_flight() == 1);
}

TEST_CASE("The budget learns what a batch really takes") {
  MemoryBudget budget(1 << 20, 10.0, 4);
  budget.acquire(100)->used(100 * 64);
  CHECK(budget.bytes_per_work() == doctest::Approx(64));
}

TEST_CASE("The reorder buffer gives items in order only") {
  ReorderBuffer<int> buffer;
  buffer.put(2, 20);
  buffer.put(1, 10);
  CHECK_FALSE(buffer.take());
  buffer.put(0, 0);
  CHECK(*buffer.take() == 0);
  CHECK(*buffer.take() == 10);
  CHECK(*buffer.take() == 20);
  CHECK_FALSE(buffer.take());
}
