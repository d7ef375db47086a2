// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The CUDA devices of this machine behind the same interface as any other device provider.

#include <sluice/abi.h>

#include <string>
#include <vector>

namespace sluice {

// Null when sluice was built without CUDA.
const sluice_device_provider* cuda_provider();

// One line per device ("cuda:0 NVIDIA H200, 139 GiB, compute capability 9.0"), or the reason why there is none: built without CUDA, no
// driver, a driver that is too old, no device, a device that this build has no code for.
std::vector<std::string> cuda_preflight();

}  // namespace sluice
