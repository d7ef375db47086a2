// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random sequences and copies of them with errors.

#include <random>
#include <string>
#include <string_view>

namespace simulated_reads {

inline std::string random_bases(std::size_t length, std::mt19937& random) {
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() % 4];
  return bases;
}

// A copy with errors (a third each: another base, one missing, one inserted) in `share` of the bases.
inline std::string noisy_copy(std::string_view bases, double share, std::mt19937& random) {
  std::string copy;
  for (const char base : bases) {
    if (std::uniform_real_distribution<>(0, 1)(random) >= share) {
      copy.push_back(base);
      continue;
    }
    const auto kind = random() % 3;
    if (kind == 0) copy.push_back("ACGT"[random() % 4]);
    if (kind == 1) copy.append({base, "ACGT"[random() % 4]});
  }
  return copy;
}

}  // namespace simulated_reads
