// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which k-mers of a read are its minimizers, each decided by its neighbours alone: the parallel form of sluice/minimizer_sketch.hpp for a read
// without ambiguous bases, an odd k and no homopolymer compression. There every k-mer makes a step, and only the read's two ends have rules of their
// own.

#include <cstdint>
#include <sluice/minimizer_index.hpp>

namespace sluice::minimizer_seeding {

// Element `e` of a read's `count` (the k-mers in the order of their places). hash_at(i) is element i's hash; it is asked for elements of the read
// that lie less than w from e. w is 1 to 255.
template <class HashAt>
SLUICE_HOST_DEVICE inline bool is_minimizer(const HashAt& hash_at, std::int32_t e, std::int32_t count, std::int32_t w) {
  const auto hash = hash_at(e);
  if (count < w) {
    // No window is ever full: the tracked minimum at the end is all there is, the rightmost of the smallest.
    for (std::int32_t i = 0; i < e; ++i)
      if (hash_at(i) < hash) return false;
    for (std::int32_t i = e + 1; i < count; ++i)
      if (hash_at(i) <= hash) return false;
    return true;
  }
  if (e < w - 1) {
    // The first window: of its first w - 1 elements all equal to their minimum are reported but the rightmost, which is if the w-th is greater.
    bool least = true, rightmost = true;
    for (std::int32_t i = 0; i < w - 1; ++i) {
      const auto other = hash_at(i);
      least = least && other >= hash;
      rightmost = rightmost && (i <= e || other > hash);
    }
    if (least && hash_at(w - 1) <= hash) return !rightmost;
  }
  // The smallest of some window of w elements: enough neighbours on both sides are no smaller.
  const std::int32_t most_before = e < w - 1 ? e : w - 1;
  std::int32_t before = 0;
  while (before < most_before && hash_at(e - 1 - before) >= hash) ++before;
  const std::int32_t most_behind = count - 1 - e < w - 1 - before ? count - 1 - e : w - 1 - before;
  std::int32_t behind = 0;
  while (behind < most_behind && hash_at(e + 1 + behind) >= hash) ++behind;
  return before + behind >= w - 1;
}

}  // namespace sluice::minimizer_seeding
