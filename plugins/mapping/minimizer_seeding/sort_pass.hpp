// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where one pass of minimap2's sort (anchor_sort.hpp) puts each record, from the digits alone. A device sorts by a stable sort, and needs the passes
// only for reads that have anchors with the same x: their order is that in which the passes leave them.

#include <cstdint>
#include <sluice/minimizer_index.hpp>

namespace sluice::minimizer_seeding {

// Parts of at most this many records are sorted by insertion, which is stable: no passes over them.
inline constexpr std::uint32_t largest_insertion = 64;

// digit[q], q in [begin, end), for the records of a part. next[d] is the first place of digit d's records in it (begin for 0), end[d] the place
// behind its last; both have 256 numbers, and next is left equal to end. from[q]: the place before the pass of the record that comes to q; the caller
// has set it to q everywhere, since records that stay are not written.
SLUICE_HOST_DEVICE inline void place_by_digit(const std::uint8_t* digit, std::uint32_t* next, const std::uint32_t* end, std::uint32_t* from) {
  for (std::uint32_t bucket = 0; bucket < 256; ++bucket) {
    std::uint32_t hole = next[bucket];
    const std::uint32_t behind = end[bucket];
    for (; hole != behind; ++hole) {
      std::uint32_t wanted = digit[hole];
      if (wanted == bucket) continue;
      // A place that is given to a record still holds the record it had before the pass, which is carried on.
      std::uint32_t carried = hole;
      do {
        const std::uint32_t place = next[wanted];
        next[wanted] = place + 1;
        from[place] = carried;
        carried = place;
        wanted = digit[place];
      } while (wanted != bucket);
      from[hole] = carried;
    }
    next[bucket] = behind;
  }
}

// The same for a part whose records have only two digits, each place by itself: the chain that fills a hole, which is a place of the lower digit that
// has a record of the higher one, moves records of the higher digit up by one place until it comes to a record of the lower one.
// place: of the higher digit, whose places begin at `middle`; is_low, previous_is_low: the records there and before it have the lower digit;
// lows_before: how many have in [middle, place); holes: ascending, hole_count of them.
SLUICE_HOST_DEVICE inline void place_of_two(std::uint32_t place, std::uint32_t middle, bool is_low, bool previous_is_low, std::uint32_t lows_before,
                                            const std::uint32_t* holes, std::uint32_t hole_count, std::uint32_t* from) {
  if (lows_before == hole_count) return;  // all holes are filled
  from[place] = place == middle || previous_is_low ? holes[lows_before] : place - 1;
  if (is_low) from[holes[lows_before]] = place;
}

}  // namespace sluice::minimizer_seeding
