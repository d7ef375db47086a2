// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cuda_devices {

// Whether a device of compute capability MAJOR.MINOR runs code that was compiled for `architectures`: CMake's CMAKE_CUDA_ARCHITECTURES joined by
// commas, as "80-real,90". One that is not a number ("native") is taken to fit. Method: CUDA C++ Programming Guide, "Binary Compatibility" and "PTX
// Compatibility".
inline bool runs_on(int major, int minor, std::string_view architectures) {
  const auto is_jetson = [](int capability) { return capability == 87 || capability == 101 || capability == 110; };  // Orin, Thor by its two names
  const int device = 10 * major + minor;
  while (!architectures.empty()) {
    const std::string_view one = architectures.substr(0, architectures.find(','));
    architectures.remove_prefix(std::min(one.size() + 1, architectures.size()));
    int built = 0;
    const char* const end = std::from_chars(one.data(), one.data() + one.size(), built).ptr;
    if (end == one.data()) return true;
    const std::string_view rest = one.substr(static_cast<std::size_t>(end - one.data()));
    if (rest.starts_with('a')) {  // that device alone
      if (device == built) return true;
      continue;
    }
    // Machine code runs on later devices of the same major number, but Jetson runs that of no other GPU, nor others that of Jetson.
    if (!rest.ends_with("-virtual") && device / 10 == built / 10 && device >= built && (device == built || (!is_jetson(device) && !is_jetson(built))))
      return true;
    if (!rest.ends_with("-real") && !rest.starts_with('f') && device >= built) return true;  // PTX, which the driver compiles
  }
  return false;
}

// Why a device of this compute capability is not used by a build for `architectures` (as above), for people; "" if it is. Kernels use what came
// with 8.0 (sums over a warp in one instruction).
inline std::string why_not_used(int major, int minor, std::string_view architectures) {
  const std::string capability = std::to_string(major) + "." + std::to_string(minor);
  if (major < 8)
    return "not used: compute capability " + capability +
           ", and 8.0 or newer is needed (A100, RTX 30, Jetson Orin, and what came after); runs take the CPU";
  if (!runs_on(major, minor, architectures))
    return "not used: this build has no code for compute capability " + capability + ", only for " + std::string(architectures) +
           "; build with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(10 * major + minor) + "; runs take the CPU";
  return "";
}

}  // namespace sluice::cuda_devices
