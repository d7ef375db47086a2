// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A named range of this thread for profilers (NVTX: Nsight Systems shows it above the kernels). Nothing where sluice is built without CUDA;
// a branch where no profiler listens.

#include <string>

namespace sluice {

class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
};

}  // namespace sluice
