// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// minimap2's sort by 64-bit keys: insertion up to 64 elements, else bytes from the top in place ("American flag"). It is not stable, and what it does
// with equal keys shows in the order of hits.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice::overlap {

// key_of(element): its key, 64 bits.
template <class T, class KeyOf>
void byte_sort(std::span<T> elements, KeyOf key_of, int shift = 56) {
  constexpr std::size_t few = 64;
  if (elements.size() <= few) {
    for (std::size_t i = 1; i < elements.size(); ++i) {
      T lifted = std::move(elements[i]);
      std::size_t to = i;
      for (; to > 0 && key_of(lifted) < key_of(elements[to - 1]); --to) elements[to] = std::move(elements[to - 1]);
      elements[to] = std::move(lifted);
    }
    return;
  }
  std::array<std::size_t, 256> next{}, end{};
  const auto digit = [&](const T& element) { return static_cast<std::size_t>(static_cast<std::uint64_t>(key_of(element)) >> shift & 0xFF); };
  for (const T& element : elements) ++end[digit(element)];
  std::size_t total = 0;
  for (std::size_t bucket = 0; bucket < 256; ++bucket) {
    next[bucket] = total;
    end[bucket] = total += end[bucket];
  }
  for (std::size_t bucket = 0; bucket < 256; ++bucket) {
    while (next[bucket] != end[bucket]) {
      T carried = std::move(elements[next[bucket]]);
      for (std::size_t to = digit(carried); to != bucket; to = digit(carried)) std::swap(carried, elements[next[to]++]);
      elements[next[bucket]++] = std::move(carried);
    }
  }
  if (shift == 0) return;
  std::size_t begin = 0;
  for (const std::size_t stop : end) {
    if (stop - begin > 1) byte_sort(elements.subspan(begin, stop - begin), key_of, shift - 8);
    begin = stop;
  }
}

}  // namespace sluice::overlap
