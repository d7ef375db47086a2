// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// place_by_digit (sort_pass.hpp) for a team of threads, for parts whose records have few different digits.
//
// The pass fills the holes of one digit after the other, each by a chain of records from place to place. Every digit's places are given away in
// ascending order, and how many of them the first holes of a digit take does not depend on the order in which these holes' chains make their steps:
// a chain that waits at a digit may as well take that digit's next place after another chain has gone on (the abelian property of chip-firing and
// rotor walks; Bond and Levine, Abelian networks I, 2016). So the holes are cut into segments. All chains of a segment go on together, a step of all
// that wait at a digit at a time, which needs counts of digits and no order, and gives what is free when the next segment begins. Then the segments'
// chains are followed one by one, but the segments side by side.
//
// A team has rank(), size(), sync() (memory written by any thread is seen by all), and add(memory, value) beside other threads.

#include <cstdint>
#include <sluice/minimizer_index.hpp>

namespace sluice::minimizer_seeding {

inline constexpr std::uint32_t most_few_digits = 32;

// Segments of a digit's places. More digits make longer chains, of which fewer wait at one digit: counting has more steps.
SLUICE_HOST_DEVICE constexpr std::uint32_t segments_for(std::uint32_t digits) { return digits <= 8 ? 32 : digits <= 16 ? 16 : 4; }
// Places below which a segment is not worth it.
inline constexpr std::uint32_t least_segment = 32;

// Memory that the team shares.
struct FewDigits {
  static constexpr std::uint32_t words = 3 * most_few_digits + 256;  // segments_for(digits) * digits <= 256
  std::uint32_t* next;                                               // per digit: the first place that is free
  std::uint32_t* end;                                                // per digit: behind its last place
  std::uint32_t* waiting;                                            // per digit: chains that wait for one of its places
  std::uint32_t* free;                                               // per segment and digit: the first place that is free when the segment begins

  SLUICE_HOST_DEVICE explicit FewDigits(std::uint32_t* memory)
      : next(memory), end(next + most_few_digits), waiting(end + most_few_digits), free(waiting + most_few_digits) {}
};

template <class Team>
class FewDigitsPass {
 public:
  // digit[q]: 0 to digits - 1, digits <= most_few_digits. from: as for place_by_digit.
  SLUICE_HOST_DEVICE FewDigitsPass(Team& team, const std::uint8_t* digit, std::uint32_t digits, const FewDigits& memory, std::uint32_t* from)
      : team_(team), digit_(digit), digits_(digits), memory_(memory), from_(from) {}

  // memory.next and memory.end are those of place_by_digit. By all threads.
  SLUICE_HOST_DEVICE void place() {
    for (std::uint32_t d = team_.rank(); d < digits_; d += team_.size()) memory_.waiting[d] = 0;
    team_.sync();
    for (std::uint32_t bucket = 0; bucket < digits_; ++bucket) fill(bucket);
  }

 private:
  SLUICE_HOST_DEVICE void fill(std::uint32_t bucket) {
    const std::uint32_t begin = memory_.next[bucket], places = memory_.end[bucket] - begin;
    std::uint32_t segments = segments_for(digits_);
    if (places < segments * least_segment) segments = 1;
    const auto segment_begin = [&](std::uint32_t segment) {
      return begin + static_cast<std::uint32_t>(static_cast<std::uint64_t>(places) * segment / segments);
    };
    for (std::uint32_t segment = 0;; ++segment) {
      std::uint32_t* const free = memory_.free + segment * digits_;
      for (std::uint32_t d = team_.rank(); d < digits_; d += team_.size()) free[d] = memory_.next[d];
      team_.sync();
      if (segment + 1 == segments) break;
      count_wanted(bucket, segment_begin(segment), segment_begin(segment + 1));
      take_places(bucket);
    }
    for (std::uint32_t segment = team_.rank(); segment < segments; segment += team_.size())
      follow(bucket, segment_begin(segment), segment_begin(segment + 1), memory_.free + segment * digits_);
    team_.sync();
    const std::uint32_t* const free = memory_.free + (segments - 1) * digits_;
    for (std::uint32_t d = team_.rank(); d < digits_; d += team_.size()) memory_.next[d] = free[d];
    team_.sync();
  }

  // The records at [first, last) go to where they belong.
  SLUICE_HOST_DEVICE void count_wanted(std::uint32_t bucket, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t place = first + team_.rank(); place < last; place += team_.size())
      if (digit_[place] != bucket) team_.add(&memory_.waiting[digit_[place]], 1);
    team_.sync();
  }

  // Until all have come to records of the bucket, which fill the holes.
  SLUICE_HOST_DEVICE void take_places(std::uint32_t bucket) {
    for (bool all_home = false; !all_home;) {
      all_home = true;
      for (std::uint32_t d = bucket + 1; d < digits_; ++d) {
        const std::uint32_t chains = memory_.waiting[d], first = memory_.next[d];
        if (chains == 0) continue;
        all_home = false;
        team_.sync();
        if (team_.rank() == 0) memory_.waiting[d] = 0, memory_.next[d] = first + chains;
        team_.sync();
        count_wanted(bucket, first, first + chains);
      }
    }
  }

  // The chains of the holes in [first, last), by one thread; `free` goes along.
  SLUICE_HOST_DEVICE void follow(std::uint32_t bucket, std::uint32_t first, std::uint32_t last, std::uint32_t* free) {
    for (std::uint32_t hole = first; hole < last; ++hole) {
      std::uint32_t wanted = digit_[hole];
      if (wanted == bucket) continue;
      std::uint32_t carried = hole;
      do {
        const std::uint32_t place = free[wanted]++;
        from_[place] = carried;
        carried = place;
        wanted = digit_[place];
      } while (wanted != bucket);
      from_[hole] = carried;
    }
  }

  Team& team_;
  const std::uint8_t* const digit_;
  const std::uint32_t digits_;
  const FewDigits memory_;
  std::uint32_t* const from_;
};

}  // namespace sluice::minimizer_seeding
