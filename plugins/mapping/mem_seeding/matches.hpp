// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Exact matches between a read and the text of an FM-index: what is asked for, and what is found.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::mem_seeding {

// maximal:      all triples (start, end, place) that can be extended neither to the left nor to the right there (definition 1: what mummer -maxmatch
//               lists). They end at the contigs' ends and at ambiguous bases.
// longest_left: for every end in the read the longest match that ends there, unless the one that ends a base later begins at the same base and occurs
// as
//               often (definition 2: Abbas et al., GPUseed).
// supermaximal: of these, the longest for each start: matches that lie in no other match of the read (SMEM: what bwa fastmap lists).
enum class Definition : std::uint8_t { maximal, longest_left, supermaximal };

// all: every occurrence of a match. longest: each place once per start in the read, with the longest match that starts there (GPUseed's output).
enum class Occurrences : std::uint8_t { all, longest };

struct SearchOptions {
  Definition definition = Definition::longest_left;
  Occurrences occurrences = Occurrences::all;
  std::int32_t min_length = 20;
  std::uint64_t max_occurrences = 0;  // matches that occur more often are listed without places; 0: no limit
};

struct Match {
  std::int32_t start = 0;    // in what was searched: the read, or its reverse complement
  std::int32_t end = 0;      // exclusive
  std::uint32_t count = 0;   // occurrences in the text
  std::uint32_t listed = 0;  // of them in `places`; 0 where they are more than max_occurrences
};

// Ordered by start, then end; places of a match in the alphabetical order of what follows in the text (maximal: ascending).
struct Matches {
  std::vector<Match> matches;
  std::vector<std::uint32_t> places;  // of all matches, one after the other
  bool too_many = false;              // the search was given up at max_places places
  void clear() {
    matches.clear();
    places.clear();
    too_many = false;
  }
};

// 512 MiB for one read: what has more is a run of one base against a run of the same base.
inline constexpr std::size_t max_places = std::size_t{1} << 27;

}  // namespace sluice::mem_seeding
