// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random bases, and errors in them. Draws are made one statement at a time: C++ leaves the order of the operands of an expression open.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <simulate_signal/counter_random.hpp>
#include <string>
#include <string_view>

namespace sluice::test_input {

using Random = simulate_signal::RandomStream;

// The numbers of test data number `index` of a kind that is made with this seed.
inline Random random_numbers(std::uint64_t seed, std::uint64_t index) { return {seed, index, simulate_signal::Purpose::reference}; }

// True in `parts_per_million` of a million cases.
inline bool chance(Random& random, std::uint64_t parts_per_million) { return random.below(1'000'000) < parts_per_million; }

inline char random_base(Random& random) { return "ACGT"[random.below(4)]; }

inline std::string random_bases(Random& random, std::size_t count) {
  std::string bases(count, 'A');
  for (char& base : bases) base = random_base(random);
  return bases;
}

// What is not a base stays what it is.
inline std::string reverse_complement(std::string_view bases) {
  constexpr std::string_view forward = "ACGT", complement = "TGCA";
  std::string reversed(bases.rbegin(), bases.rend());
  for (char& base : reversed) {
    if (const auto at = forward.find(base); at != std::string_view::npos) base = complement[at];
  }
  return reversed;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; });
  return lower;
}

// At `parts_per_million` of the places an error: a deletion, another base (one in four times the same), or a base before it.
inline std::string with_errors(std::string_view bases, std::uint64_t parts_per_million, Random& random) {
  std::string read;
  for (const char base : bases) {
    if (!chance(random, parts_per_million)) {
      read += base;
      continue;
    }
    const auto kind = random.below(3);
    if (kind == 0) continue;
    read += random_base(random);
    if (kind == 1) read += base;
  }
  return read;
}

}  // namespace sluice::test_input
