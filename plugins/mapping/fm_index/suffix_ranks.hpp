// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Ranks of the suffixes that prefix doubling asks for. A table of all takes as much memory as the rows; most texts ask for few.

#include <cstdint>
#include <span>
#include <vector>

#include "fm_index/suffix_sort.hpp"

namespace sluice::fm_index {

// Rows of suffixes that are equal as far as has been looked.
struct Group {
  std::uint32_t begin, end;
};

class SuffixRanks {
 public:
  SuffixRanks(std::span<const std::uint32_t> rows, const ParallelFor& parallel_for) : rows_(rows), parallel_for_(parallel_for) {}

  // Before each round: the ranks of the suffixes `depth` bases behind those of the groups; a suffix that is itself in a group has the rank of the
  // group's first row.
  void find(std::span<const Group> groups, std::uint64_t depth);
  // Of one of these.
  std::uint32_t of(std::uint64_t place) const { return rank_[has_all_ ? place : number_of(place)]; }
  // After each round, with its groups, whose rows have another order now.
  void forget(std::span<const Group> groups);

 private:
  static constexpr std::uint64_t words_per_count = 8;

  template <class Body>
  void for_each_row_of(std::span<const Group> groups, Body&& body) const;
  void find_all(std::span<const Group> groups);
  void find_some(std::span<const Group> groups, std::uint64_t depth);
  void mark(std::span<const Group> groups, std::uint64_t depth);
  void count_marks();
  bool is_marked(std::uint64_t place) const { return (marked_[place / 64] >> (place % 64) & 1) != 0; }
  std::uint32_t number_of(std::uint64_t place) const;

  std::span<const std::uint32_t> rows_;
  const ParallelFor& parallel_for_;
  bool has_all_ = false;
  std::vector<std::uint32_t> rank_;          // by place: of all suffixes, or of the marked ones
  std::vector<std::uint64_t> marked_;        // a bit for each suffix
  std::vector<std::uint32_t> marks_before_;  // each words_per_count words
};

}  // namespace sluice::fm_index
