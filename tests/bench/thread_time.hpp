// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What benchmarks of kernels share: the time of one thread, and which instruction sets it may use.

#include <hwy/targets.h>

#include <cstdint>
#include <ctime>

namespace sluice::bench {

// Processor seconds of this thread in the body: what other processes do in the meantime is not in them.
double thread_seconds(const auto& body) {
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  body();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

// 0: all that the machine has.
inline void choose_instruction_sets(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace sluice::bench
