// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_seeding/anchor_sort.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace sluice::minimizer_seeding {
namespace {

constexpr std::size_t largest_insertion = 64;  // part of the definition of the order

void insertion_sort(Anchor* begin, Anchor* end) {
  for (Anchor* i = begin + 1; i < end; ++i) {
    if (i->x >= (i - 1)->x) continue;
    const Anchor lifted = *i;
    Anchor* j = i;
    do {
      *j = *(j - 1);
      --j;
    } while (j > begin && lifted.x < (j - 1)->x);
    *j = lifted;
  }
}

void radix_sort(Anchor* begin, Anchor* end) {
  // Bytes that all keys agree in leave the order as it is, so sorting starts at the highest one that differs.
  std::uint64_t difference = 0;
  for (const Anchor* i = begin; i < end; ++i) difference |= i->x ^ begin->x;
  if (difference == 0) return;
  const int shift = (63 - std::countl_zero(difference)) / 8 * 8;
  const auto digit = [shift](const Anchor& anchor) { return static_cast<std::size_t>(anchor.x >> shift & 0xFF); };

  std::array<std::uint32_t, 256> counts{};
  for (const Anchor* i = begin; i < end; ++i) ++counts[digit(*i)];
  std::array<Anchor*, 256> next;
  std::array<Anchor*, 256> ends;
  Anchor* at = begin;
  for (std::size_t b = 0; b < 256; ++b) {
    next[b] = at;
    at += counts[b];
    ends[b] = at;
  }
  for (std::size_t b = 0; b < 256; ++b) {
    while (next[b] != ends[b]) {
      std::size_t d = digit(*next[b]);
      if (d == b) {
        ++next[b];
        continue;
      }
      Anchor carried = *next[b];
      do {
        const Anchor put = carried;
        carried = *next[d];
        *next[d]++ = put;
        d = digit(carried);
      } while (d != b);
      *next[b]++ = carried;
    }
  }
  if (shift == 0) return;
  Anchor* from = begin;
  for (std::size_t b = 0; b < 256; ++b) {
    if (counts[b] > largest_insertion)
      radix_sort(from, ends[b]);
    else if (counts[b] > 1)
      insertion_sort(from, ends[b]);
    from = ends[b];
  }
}

}  // namespace

void sort_anchors(std::span<Anchor> anchors) {
  if (anchors.size() <= 1) return;
  if (anchors.size() <= largest_insertion)
    insertion_sort(anchors.data(), anchors.data() + anchors.size());
  else
    radix_sort(anchors.data(), anchors.data() + anchors.size());
}

}  // namespace sluice::minimizer_seeding
