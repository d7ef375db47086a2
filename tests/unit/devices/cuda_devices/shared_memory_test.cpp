// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "cuda_devices/shared_memory.hpp"

#include <doctest/doctest.h>

using sluice::cuda_devices::memory_for_runs;

TEST_CASE("of memory that the CPU has as well half is left to it, of a device's own the driver's needs") {
  CHECK(memory_for_runs(16'000, false) == 15'000);
  CHECK(memory_for_runs(16'000, true) == 8'000);
  CHECK(memory_for_runs(0, true) == 0);
}
