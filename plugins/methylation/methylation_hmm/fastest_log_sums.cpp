// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {

// AMD's gathers are microcode. On a Zen 5 a gather of 16 entries takes 12 cycles with nothing else to do and a log-sum by it 21, by polynomials 11;
// score_groups does 7.4 instead of 5.2 Mbases/s. Intel's gathers take 9.5 cycles beside other work, and polynomials of as many instructions gained
// at most a tenth there (README.md), so Intel keeps the gather.
LogSums fastest_log_sums() {
#if defined(__x86_64__)
  static const bool is_amd = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
  }();
  if (is_amd) return LogSums::computed;
#endif
  return LogSums::gathered;
}

}  // namespace sluice::methylation_hmm
