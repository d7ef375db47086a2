// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What kind of machine this is: for reports and `sluice doctor`.

#include <string>
#include <vector>

namespace sluice {

struct Machine {
  std::string processor;              // "AMD EPYC 9B45", or the architecture's name
  std::string operating_system;       // kernel name and release
  std::vector<std::string> features;  // instruction sets that the plugins' kernels can use: "sse4.2", "avx2", "avx512"
};

Machine describe_machine();

}  // namespace sluice
