// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/machine.hpp"

#include <sys/utsname.h>

#include <fstream>

namespace sluice {
namespace {

std::vector<std::string> instruction_sets() {
  std::vector<std::string> result;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) result.emplace_back("sse4.2");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) result.emplace_back("avx2");
  // What the kernels' AVX-512 form needs: foundation, byte and word, doubleword and quadword, vector length.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    result.emplace_back("avx512");
#elif defined(__aarch64__)
  result.emplace_back("neon");
#endif
  return result;
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) {
    machine.operating_system = std::string(names.sysname) + " " + names.release;
    machine.processor = names.machine;
  }
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      machine.processor = line.substr(colon + 2);
      break;
    }
  }
  machine.features = instruction_sets();
  return machine;
}

}  // namespace sluice
