// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The order that sort_records (anchor_sort.hpp) leaves, among equal keys too, by a team of threads. Records are not moved: a pass over a byte says
// where the record of each place comes from. A part with more than two digits is a chain of records from hole to hole, which one thread follows with
// one load a step; parts are done side by side. Parts that the method sorts by insertion, which is stable, are put in order at the end.

#include <cstddef>
#include <cstdint>

#include "chaining/thread_team.hpp"

namespace sluice::chaining {

inline constexpr std::uint32_t largest_insertion = 64;
// A place and a digit share a word.
inline constexpr std::uint32_t most_sorted_records = (std::uint32_t{1} << 24) - 1;

// Places of records that agree in all bytes above.
struct SortPart {
  std::uint32_t begin, end;
};
inline constexpr std::size_t most_sort_parts(std::size_t records) { return records / (largest_insertion + 1); }

// Of one sort; the team's own. Keys are unsigned.
template <class Key>
struct RecordsToSort {
  const Key* key;        // of each record
  std::uint32_t count;   // at most most_sorted_records
  std::uint32_t* order;  // the result: the record at each place
  // Working memory.
  std::uint32_t* spare;  // count
  std::uint32_t* holes;  // count
  std::uint8_t* digit;   // count + 1
  SortPart* parts;       // most_sort_parts(count)
};

// What the threads of a team share.
template <class Team>
struct SortMemory {
  static constexpr std::uint32_t warps = Team::most_parts, settled_places = Team::most_threads + 2 * (largest_insertion - 1);
  std::uint32_t part_count, next_part;
  std::uint32_t head[warps][256], end[warps][256];
  std::uint64_t settled_key[settled_places];
};

// The records of a part with three digits or more. head[d]: the first place of digit d's records << 8 | the digit of the record there; end[d]: behind
// their last place. from[q]: the place before the pass of the record that comes to q; it is q already, since records that stay are not written. A
// head is written one step after it was read, so that a step waits for one load, not for two.
SLUICE_HOST_DEVICE inline void follow_records(const std::uint8_t* digit, std::uint32_t* head, const std::uint32_t* end, std::uint32_t* from) {
  for (std::uint32_t bucket = 0; bucket < 256; ++bucket) {
    for (std::uint32_t hole = head[bucket] >> 8; hole < end[bucket]; ++hole) {
      std::uint32_t wanted = digit[hole];
      if (wanted == bucket) continue;
      std::uint32_t carried = hole, moved = 256, moved_place = 0, moved_digit = 0;
      do {
        std::uint32_t at = head[wanted];
        if (moved < 256) {
          const std::uint32_t moved_head = moved_place << 8 | moved_digit;
          head[moved] = moved_head;
          if (moved == wanted) at = moved_head;
        }
        const std::uint32_t place = at >> 8;
        moved = wanted;
        moved_place = place + 1;
        moved_digit = digit[place + 1];
        from[place] = carried;
        carried = place;
        wanted = at & 255;
      } while (wanted != bucket);
      head[moved] = moved_place << 8 | moved_digit;
      from[hole] = carried;
    }
  }
}

// The same for a part of two digits, each place by itself: the chain that fills a hole, which is a place of the lower digit that has a record of the
// higher one, moves records of the higher digit up by one place until it comes to one of the lower. `middle`: where the places of the higher one
// begin.
template <class Warp>
SLUICE_HOST_DEVICE void place_two_digits(Warp& warp, SortPart part, std::uint32_t middle, std::uint8_t low, const std::uint8_t* digit,
                                         std::uint32_t* holes, std::uint32_t* from) {
  std::uint32_t hole_count = 0, found = 0;
  for (std::uint32_t first = part.begin; first < middle; first += warp.size()) {
    const std::uint32_t place = first + warp.rank();
    const bool is_hole = place < middle && digit[place] != low;
    const std::uint32_t before = warp.sum_before(is_hole ? 1 : 0, found);
    if (is_hole) holes[part.begin + hole_count + before] = place;
    hole_count += found;
  }
  warp.sync();
  std::uint32_t lows = 0;
  for (std::uint32_t first = middle; first < part.end && lows < hole_count; first += warp.size()) {
    const std::uint32_t place = first + warp.rank();
    const bool is_low = place < part.end && digit[place] == low;
    const std::uint32_t filled = lows + warp.sum_before(is_low ? 1 : 0, found);
    lows += found;
    if (place >= part.end || filled == hole_count) continue;
    const std::uint32_t hole = holes[part.begin + filled];
    from[place] = place == middle || digit[place - 1] == low ? hole : place - 1;
    if (is_low) from[hole] = place;
  }
}

// One warp's work.
template <class Warp>
SLUICE_HOST_DEVICE void place_part(Warp& warp, SortPart part, const std::uint8_t* digit, std::uint32_t* head, std::uint32_t* end,
                                   std::uint32_t* holes, std::uint32_t* from) {
  for (std::uint32_t d = warp.rank(); d < 256; d += warp.size()) end[d] = 0;
  warp.sync();
  for (std::uint32_t place = part.begin + warp.rank(); place < part.end; place += warp.size()) warp.add(&end[digit[place]], 1);
  warp.sync();
  std::uint32_t at = part.begin, digits = 0, low = 256, middle = part.end, sum = 0, met = 0;
  for (std::uint32_t first = 0; first < 256; first += warp.size()) {
    const std::uint32_t d = first + warp.rank(), count = end[d];
    const std::uint32_t begin = at + warp.sum_before(count, sum);
    warp.sum_before(count > 0 ? 1 : 0, met);
    const std::uint32_t lowest = warp.first(count > 0);
    if (digits == 0 && lowest < warp.size()) {
      low = first + lowest;
      middle = warp.from(begin + count, lowest);
    }
    digits += met;
    at += sum;
    end[d] = begin + count;
    head[d] = begin << 8 | (count > 0 ? digit[begin] : 0U);
  }
  warp.sync();
  if (digits == 2) {
    place_two_digits(warp, part, middle, static_cast<std::uint8_t>(low), digit, holes, from);
  } else if (digits > 2 && warp.rank() == 0) {
    follow_records(digit, head, end, from);
  }
  warp.sync();
}

// All parts of one byte; `now` becomes `next`.
template <class Team, class Key, class Memory>
SLUICE_HOST_DEVICE void sort_pass(Team& team, const RecordsToSort<Key>& records, int shift, const std::uint32_t* now, std::uint32_t* next,
                                  Memory& memory) {
  constexpr int key_bits = static_cast<int>(sizeof(Key) * 8);
  const std::uint32_t count = records.count;
  const auto above = [&](std::uint32_t place) -> Key { return shift + 8 >= key_bits ? Key{0} : records.key[now[place]] >> (shift + 8); };
  if (team.rank() == 0) {
    memory.part_count = memory.next_part = 0;
    records.digit[count] = 0;
  }
  team.sync();
  for (std::uint32_t place = team.rank(); place < count; place += team.size()) {
    records.digit[place] = static_cast<std::uint8_t>(records.key[now[place]] >> shift);
    next[place] = place;
    if (place + largest_insertion >= count) continue;
    // Records that agree in more than so many places lie together; of others the order may be any.
    const Key key = above(place);
    if ((place > 0 && above(place - 1) == key) || above(place + largest_insertion) != key) continue;
    std::uint32_t low = place + largest_insertion, high = count;
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (above(middle) == key ? low : high) = middle;
    }
    records.parts[team.add(&memory.part_count, 1)] = {place, high};
  }
  team.sync();
  auto warp = team.warp();
  const std::uint32_t part_count = memory.part_count;
  for (;;) {
    std::uint32_t part = 0;
    if (warp.rank() == 0) part = warp.add(&memory.next_part, 1);
    part = warp.from(part, 0);
    if (part >= part_count) break;
    place_part(warp, records.parts[part], records.digit, memory.head[warp.part()], memory.end[warp.part()], records.holes, next);
  }
  team.sync();
  for (std::uint32_t place = team.rank(); place < count; place += team.size()) next[place] = now[next[place]];
  team.sync();
}

// Places of at most largest_insertion records that agree above are not in order yet. Whatever stands before a lower key is fewer places away than
// that.
template <class Team, class Key, class Memory>
SLUICE_HOST_DEVICE void settle_small_parts(Team& team, const RecordsToSort<Key>& records, const std::uint32_t* now, std::uint32_t* next,
                                           Memory& memory) {
  constexpr std::uint32_t reach = largest_insertion - 1;
  const std::uint32_t count = records.count;
  std::uint64_t* const key = memory.settled_key;  // of the places from first - reach on
  for (std::uint32_t first = 0; first < count; first += team.size()) {
    const std::uint32_t low = first < reach ? reach - first : 0;
    const std::uint32_t high = count - first < team.size() + reach ? count - first + reach : team.size() + 2 * reach;
    for (std::uint32_t i = low + team.rank(); i < high; i += team.size()) key[i] = records.key[now[first + i - reach]];
    team.sync();
    bool out_of_order = false;
    for (std::uint32_t i = low + team.rank(); i + 1 < high; i += team.size()) out_of_order |= key[i] > key[i + 1];
    out_of_order = team.any(out_of_order);
    const std::uint32_t place = first + team.rank(), mine = team.rank() + reach;
    if (place < count) {
      std::uint32_t to = place;
      if (out_of_order) {
        const std::uint64_t my_key = key[mine];
        for (std::uint32_t i = mine - reach < low ? low : mine - reach; i < mine; ++i) to -= key[i] > my_key ? 1 : 0;
        for (std::uint32_t i = mine + 1; i < high && i <= mine + reach; ++i) to += key[i] < my_key ? 1 : 0;
      }
      next[to] = now[place];
    }
    team.sync();
  }
}

template <class Team, class Key, class Memory>
SLUICE_HOST_DEVICE void sort_by_team(Team& team, const RecordsToSort<Key>& records, Memory& memory) {
  std::uint32_t* now = records.spare;
  std::uint32_t* next = records.order;
  const auto swap = [&] {
    std::uint32_t* const before = now;
    now = next;
    next = before;
  };
  std::uint64_t differences = 0;
  for (std::uint32_t i = team.rank(); i < records.count; i += team.size()) differences |= records.key[i] ^ records.key[0];
  differences = team.union_of(differences);
  // The last result is that of settle_small_parts, which has to be in `order`.
  int passes = 0;
  for (int shift = 0; shift < static_cast<int>(sizeof(Key) * 8); shift += 8) passes += (differences >> shift & 255) != 0 ? 1 : 0;
  if (records.count <= largest_insertion) passes = 0;
  if (passes % 2 != 0) swap();
  for (std::uint32_t i = team.rank(); i < records.count; i += team.size()) now[i] = i;
  team.sync();
  for (int shift = static_cast<int>(sizeof(Key) * 8) - 8; shift >= 0 && passes > 0; shift -= 8) {
    if ((differences >> shift & 255) == 0) continue;  // all agree, and stay
    sort_pass(team, records, shift, now, next, memory);
    swap();
  }
  settle_small_parts(team, records, now, next, memory);
}

}  // namespace sluice::chaining
