// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <string>

namespace sluice::cuda_devices {

// Why a device of this compute capability is not used, for people; "" if it is. Kernels use what came with 8.0 (sums over a warp in one instruction).
inline std::string why_not_used(int major, int minor) {
  if (major >= 8) return "";
  return "not used: compute capability " + std::to_string(major) + "." + std::to_string(minor) +
         ", and 8.0 or newer is needed (A100, RTX 30, Jetson Orin, and what came after); runs take the CPU";
}

}  // namespace sluice::cuda_devices
