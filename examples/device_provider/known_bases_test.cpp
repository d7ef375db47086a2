// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: one test of a provider and of a stage for it. The contract suite compares the device's bytes with the CPU's, and fills the device.
#include <cstdio>
#include <sluice/testing.hpp>
#include <sluice/testing/device.hpp>

namespace testing = sluice::testing;

// Returns the number of problems.
int main() {
  int problems = 0;
  const auto expect = [&](bool fine, const std::string& what) {
    if (!fine) std::printf("FAILED: %s\n", what.c_str()), ++problems;
  };
  std::string reason;
  const sluice_device_provider* mirror = testing::device_provider(PROVIDER_FILE, reason);
  expect(mirror != nullptr, "there is a mirror: " + reason);
  if (mirror == nullptr) return problems;

  const auto reads = testing::BatchBuilder("read", 5).text("bases", {"GATTACA", "", "ACNNNGT", "CCCC", "n"}).failed(3).build();
  const auto* plugin = testing::load_plugin(PLUGIN_FILE);
  const auto result = testing::run_stage(testing::stage_of(*plugin, "known_bases"), reads).device(*mirror).expect_rows(4);
  const auto known = result.batch().view().column<std::int64_t>("known_bases");
  expect(known[0] == 7 && known[1] == 0 && known[2] == 4 && known[4] == 0, "a count for each read, made on the mirror");

  for (const std::string& problem : testing::contract_problems(*plugin, {{"known_bases", {.batches = {reads}, .devices = {mirror}}}}))
    expect(false, problem);
  std::printf("%d problems\n", problems);
  return problems;
}
