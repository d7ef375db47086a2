// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// minimap2's radix sort: most significant byte first, in place ("American flag"), insertion sort for 64 records or fewer. It is not stable, and the
// order that it leaves among equal keys decides between equally good chains, so that order is part of the method.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace sluice::chaining {

namespace detail {

inline constexpr std::size_t insertion_sort_records = 64;

template <class Record, class Key>
void insertion_sort(std::span<Record> records, Key key) {
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (!(key(records[i]) < key(records[i - 1]))) continue;
    const Record lifted = records[i];
    std::size_t hole = i;
    for (; hole > 0 && key(lifted) < key(records[hole - 1]); --hole) records[hole] = records[hole - 1];
    records[hole] = lifted;
  }
}

template <class Record, class Key>
void sort_by_digits(std::span<Record> records, Key key, int shift) {
  const auto digit = [&](const Record& record) { return static_cast<std::size_t>(key(record) >> shift & 255); };
  std::array<std::size_t, 257> begin{};
  for (const Record& record : records) ++begin[digit(record) + 1];
  for (std::size_t b = 0; b < 256; ++b) begin[b + 1] += begin[b];
  std::array<std::size_t, 256> cursor;
  std::copy_n(begin.begin(), 256, cursor.begin());
  for (std::size_t bucket = 0; bucket < 256; ++bucket) {
    while (cursor[bucket] != begin[bucket + 1]) {
      std::size_t to = digit(records[cursor[bucket]]);
      if (to == bucket) {
        ++cursor[bucket];
        continue;
      }
      Record carried = records[cursor[bucket]];
      do {
        std::swap(carried, records[cursor[to]++]);
        to = digit(carried);
      } while (to != bucket);
      records[cursor[bucket]++] = carried;
    }
  }
  if (shift == 0) return;
  for (std::size_t bucket = 0; bucket < 256; ++bucket) {
    const auto part = records.subspan(begin[bucket], begin[bucket + 1] - begin[bucket]);
    if (part.size() > insertion_sort_records) {
      sort_by_digits(part, key, shift - 8);
    } else {
      insertion_sort(part, key);
    }
  }
}

}  // namespace detail

// Key(record) is the std::uint64_t to sort by.
template <class Record, class Key>
void sort_records(std::span<Record> records, Key key) {
  if (records.size() <= detail::insertion_sort_records) return detail::insertion_sort(records, key);
  const auto reached = std::ranges::adjacent_find(records, std::ranges::greater_equal(), key);
  if (reached == records.end()) return;  // ascending without equal keys: there is one order only
  // Digits that all records share move nothing.
  std::uint64_t differing = 0;
  for (const Record& record : records) differing |= key(record) ^ key(records[0]);
  int shift = 56;
  while (shift > 0 && (differing >> shift & 255) == 0) shift -= 8;
  detail::sort_by_digits(records, key, shift);
}

}  // namespace sluice::chaining
