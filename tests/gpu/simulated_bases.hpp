// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random bases, and copies of them with errors, for the seeding programs of this folder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sluice::gpu_test {

inline std::string random_bases(std::mt19937_64& random, std::size_t length, unsigned letters = 4) {
  std::string bases(length, 'A');
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < length; ++i, bits >>= 2) {
    if (i % 32 == 0) bits = random();
    bases[i] = "ACGT"[(bits & 3) % letters];
  }
  return bases;
}

// Substitutions, insertions and deletions alike.
inline std::string with_errors(const std::string& text, double rate, std::mt19937_64& random) {
  const auto limit = static_cast<std::uint64_t>(rate * 9007199254740992.0);
  std::string result;
  result.reserve(text.size() + text.size() / 16);
  for (const char base : text) {
    const std::uint64_t number = random();
    if (number >> 11 >= limit) {
      result += base;
      continue;
    }
    if (number % 3 == 0) result += "ACGT"[number / 3 % 4];
    if (number % 3 == 1) (result += base) += "ACGT"[number / 3 % 4];
  }
  return result;
}

inline void reverse_complement(std::string& bases) {
  std::reverse(bases.begin(), bases.end());
  for (char& base : bases) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : base == 'T' ? 'A' : base;
}

// Reads of both strands with 8 % of errors, lengths between half and one and a half times `mean`, `bases` in all.
inline std::vector<std::string> simulated_reads(const std::string& text, std::size_t bases, std::size_t mean, std::mt19937_64& random) {
  std::vector<std::string> reads;
  for (std::size_t made = 0; made < bases;) {
    const std::size_t length = std::min(bases - made, mean / 2 + random() % mean);
    std::string read = with_errors(text.substr(random() % (text.size() - std::min(text.size() - 1, length)), length), 0.08, random);
    if (random() % 2 == 0) reverse_complement(read);
    made += length;
    reads.push_back(std::move(read));
  }
  return reads;
}

}  // namespace sluice::gpu_test
