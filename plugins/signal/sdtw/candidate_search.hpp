// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The search for a query in some stretches of the targets only, as exact as that in all columns.

#include <cstdint>
#include <sluice/batch.hpp>
#include <sluice/squiggle_reference.hpp>
#include <span>
#include <vector>

#include "sdtw/search.hpp"

namespace sluice::sdtw {

// Columns of all strands of all targets, end exclusive.
struct Stretch {
  std::int64_t begin = 0, end = 0;
};

class CandidateSearch {
 public:
  // `target`: rows of type squiggle_target; outlives the search.
  CandidateSearch(const Batch& target, Method method);

  // Do stretches ascend without touching each other's columns, each within one strand? Empty ones are not valid.
  bool are_valid(std::span<const Stretch> stretches) const;
  // Of a valid stretch.
  std::span<const std::int16_t> levels_of(const Stretch& stretch) const;
  // The best path of the query that lies in one of the valid stretches; without any, or without a query, there is no path: the score is then the
  // largest that a query of its length can have.
  SearchResult find(std::span<const std::int16_t> query, std::span<const Stretch> stretches, Search::PathStart start, Workspace& workspace) const;

 private:
  struct Strand {
    std::int64_t first_column;
    std::span<const std::int16_t> level;
  };
  const Strand& strand_of(std::int64_t column) const;
  Method method_;
  std::int64_t columns_ = 0;
  std::vector<Strand> strands_;  // that have levels, ascending
};

}  // namespace sluice::sdtw
