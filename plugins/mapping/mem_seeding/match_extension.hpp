// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How far two packed sequences agree, 32 bases at a time.

#include <algorithm>
#include <cstdint>
#include <sluice/fm_index.hpp>

namespace sluice::mem_seeding {

// Equal bases of a and b from the two places on, at most `limit`, which both have.
SLUICE_FM_INLINE std::int64_t equal_to_the_right(const std::uint64_t* a, std::int64_t in_a, const std::uint64_t* b, std::int64_t in_b,
                                                 std::int64_t limit) {
  std::int64_t equal = 0;
  while (equal < limit) {
    const std::uint64_t difference = FmIndexTables::packed_bases_at(a, in_a + equal) ^ FmIndexTables::packed_bases_at(b, in_b + equal);
    if (difference != 0) return std::min<std::int64_t>(limit, equal + __builtin_clzll(difference) / 2);
    equal += 32;
  }
  return limit;
}

// Equal bases before the two places, going left, at most `limit`, which both have.
SLUICE_FM_INLINE std::int64_t equal_to_the_left(const std::uint64_t* a, std::int64_t in_a, const std::uint64_t* b, std::int64_t in_b,
                                                std::int64_t limit) {
  std::int64_t equal = 0;
  while (equal < limit) {
    const std::uint64_t difference = FmIndexTables::packed_bases_at(a, in_a - equal - 32) ^ FmIndexTables::packed_bases_at(b, in_b - equal - 32);
    if (difference != 0) return std::min<std::int64_t>(limit, equal + __builtin_ctzll(difference) / 2);
    equal += 32;
  }
  return limit;
}

}  // namespace sluice::mem_seeding
