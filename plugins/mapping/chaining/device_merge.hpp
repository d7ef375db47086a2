// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A stable sort by a team of threads, for Ties::place (chaining.hpp): sorted runs are merged, each record finding its place in the other run by
// itself.

#include <cstdint>

#include "chaining/device_sort.hpp"
#include "chaining/thread_team.hpp"

namespace sluice::chaining {

// How many of the keys of `order`'s records, which ascend, come before `key`: lower ones, and with `also_equal` equal ones.
template <class Key>
SLUICE_HOST_DEVICE std::uint32_t count_before(const Key* keys, const std::uint32_t* order, std::uint32_t count, Key key, bool also_equal) {
  std::uint32_t low = 0, high = count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const Key other = keys[order[middle]];
    if (other < key || (also_equal && other == key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Uses `order` and `spare` alone.
template <class Team, class Key>
SLUICE_HOST_DEVICE void merge_by_team(Team& team, const RecordsToSort<Key>& records) {
  constexpr std::uint32_t first_run = 32;
  const std::uint32_t count = records.count;
  std::uint32_t* now = records.order;
  std::uint32_t* next = records.spare;
  int merges = 0;
  for (std::uint64_t run = first_run; run < count; run *= 2) ++merges;
  if (merges % 2 != 0) {
    now = records.spare;
    next = records.order;
  }
  for (std::uint32_t i = team.rank(); i < count; i += team.size()) {
    const std::uint32_t begin = i - i % first_run, end = count - begin < first_run ? count : begin + first_run;
    const Key key = records.key[i];
    std::uint32_t to = begin;
    for (std::uint32_t other = begin; other < end; ++other) to += records.key[other] < key || (other < i && records.key[other] == key) ? 1 : 0;
    now[to] = i;
  }
  team.sync();
  for (std::uint64_t run = first_run; run < count; run *= 2) {
    for (std::uint32_t i = team.rank(); i < count; i += team.size()) {
      const auto begin = static_cast<std::uint32_t>(i - i % (2 * run));
      const std::uint32_t middle = count - begin < run ? count : static_cast<std::uint32_t>(begin + run);
      const std::uint32_t end = count - middle < run ? count : static_cast<std::uint32_t>(middle + run);
      const std::uint32_t record = now[i];
      const bool is_left = i < middle;
      const std::uint32_t before = is_left ? count_before(records.key, now + middle, end - middle, records.key[record], false)
                                           : count_before(records.key, now + begin, middle - begin, records.key[record], true);
      next[is_left ? i + before : i - middle + begin + before] = record;
    }
    team.sync();
    std::uint32_t* const last = now;
    now = next;
    next = last;
  }
}

}  // namespace sluice::chaining
