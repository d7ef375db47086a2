// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: one test of both implementations. The contract suite compares the device's bytes with the CPU's, and tries full device memory.
#include "gc_count.hpp"

#include <cstdio>
#include <sluice/testing.hpp>
#include <sluice/testing/device.hpp>

namespace testing = sluice::testing;

// Returns the number of problems.
int main() {
  int problems = 0;
  const auto expect = [&](bool fine, const char* what) {
    if (!fine) std::printf("FAILED: %s\n", what), ++problems;
  };
  expect(gc_count::count("GATTACA") == 2 && gc_count::count("") == 0, "G and C are counted");

  // Shorter and longer than a warp, empty, and a row that failed in an earlier stage.
  const std::string longer = "GATTACA" + std::string(100, 'C');
  const auto reads = testing::BatchBuilder("read", 5).text("bases", {"GGCA", "", longer, "CCCC", "NNN"}).failed(3).build();
  const auto* plugin = testing::load_plugin(PLUGIN_FILE);
  const auto result = testing::run_stage(testing::stage_of(*plugin, "gc_count"), reads).expect_rows(4);
  const auto counts = result.batch().view().column<std::int64_t>("gc_bases");
  expect(counts[0] == 3 && counts[1] == 0 && counts[2] == 102 && counts[4] == 0, "a count for each read");

  testing::ContractSample sample{.batches = {reads}};
#ifdef SLUICE_WITH_CUDA
  std::string reason;
  if (const sluice_device_provider* device = testing::device_provider(CUDA_DEVICES_FILE, reason))
    sample.devices.push_back(device);
  else
    std::printf("skipped on a CUDA device: %s\n", reason.c_str());
#else
  std::printf("skipped on a CUDA device: there was no nvcc when this was built\n");
#endif
  for (const std::string& problem : testing::contract_problems(*plugin, {{"gc_count", sample}})) expect(false, problem.c_str());
  std::printf("%d problems, %zu devices\n", problems, sample.devices.size());
  return problems;
}
