// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Devices for StageRun::device and ContractSample::devices.

#include <sluice/abi.h>

#include <string>

namespace sluice::testing {

// The provider that a plugin file holds: of CUDA devices that is cuda_devices.so in sluice's plugin folder (in CMake: SLUICE_PLUGIN_FOLDER of the
// installed package). Null where the file is not there or no device can be used; `reason` says why.
const sluice_device_provider* device_provider(const std::string& plugin_file, std::string& reason);

}  // namespace sluice::testing
