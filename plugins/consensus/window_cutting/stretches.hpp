// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Many short stretches of few sequences, fetched from a store.

#include <cstdint>
#include <sluice/sequence_store.hpp>
#include <span>
#include <string>
#include <vector>

#include "window_cutting/letter_copies.hpp"

namespace sluice::window_cutting {

// Bases [begin, end) of the forward strand of a sequence, and where they go, turned to its strand.
struct Stretch {
  std::int64_t sequence = 0, begin = 0, end = 0;
  std::int64_t at = 0;
  Strand strand = Strand::forward;
};

struct Letters {
  std::span<char> bases, qualities;
};

// Used by one thread at a time; memory is kept from one call to the next.
class StretchFetcher {
 public:
  // The store outlives this. unknown_quality: of the bases of sequences without qualities, Phred + 33.
  StretchFetcher(const SequenceStoreView& store, char unknown_quality) : store_(&store), unknown_quality_(unknown_quality) {}

  // What the store does not hold in memory is read, stretches of a sequence that lie near each other at once. Bases become upper case; other letters
  // than A, C, G and T have no complement.
  void fetch(std::span<const Stretch> stretches, const Letters& letters);

  std::size_t bytes() const { return bases_.capacity() + qualities_.capacity() + (order_.capacity() + other_order_.capacity()) * sizeof(Place); }

 private:
  // A stretch, and the number of the strand that it lies on: twice the sequence's, one more on the reverse strand.
  struct Place {
    std::uint64_t strand_of_sequence;
    std::size_t stretch;
  };
  // False: not all of its letters are in memory.
  bool copy_from_memory(const Stretch& stretch, const Letters& letters) const;
  // Those that are left in order_.
  void fetch_from_file(std::span<const Stretch> stretches, const Letters& letters);
  void sort_by_strand_of_sequence(std::span<const Stretch> stretches);
  void fetch_strand(std::span<const Stretch> stretches, std::span<Place> places);
  void fetch_part(std::int64_t sequence, std::int64_t begin, std::int64_t end, Strand strand);

  const SequenceStoreView* store_;
  char unknown_quality_;
  std::vector<Place> order_, other_order_;
  std::string bases_, qualities_;   // of all parts
  std::size_t fetched_ = 0;         // letters of them
  std::vector<std::size_t> begin_;  // per stretch, in them
  std::vector<char> scratch_;
};

}  // namespace sluice::window_cutting
