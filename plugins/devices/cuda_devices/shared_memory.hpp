// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <cstdint>

namespace sluice::cuda_devices {

// What runs may take of the bytes that are free on a device, unless --gpu-memory says less. The driver needs some itself. Where the CPU has the same
// memory (Jetson), batches on the CPU take up to half of it (a quarter by the default budget, and another for a device in use): the other half is
// left.
constexpr std::uint64_t memory_for_runs(std::uint64_t free_bytes, bool is_shared_with_cpu) {
  return is_shared_with_cpu ? free_bytes / 2 : free_bytes - free_bytes / 16;
}

}  // namespace sluice::cuda_devices
