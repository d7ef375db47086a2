// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random alignment problems for tests of the kernel.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "base_alignment/kernel/align.hpp"

namespace kernel_problems {

using sluice::base_alignment::Goal;
using sluice::base_alignment::Problem;
using sluice::base_alignment::Scores;
using sluice::base_alignment::TieOrder;
using Bases = std::vector<std::uint8_t>;

inline const std::vector<Scores> score_sets = {{},                      // map-ont
                                               {1, 4, 1, 6, 2, 26, 1},  // map-hifi
                                               {1, 19, 1, 39, 3, 81, 1},
                                               {1, 9, 1, 16, 2, 41, 1},
                                               {2, 4, 1, 4, 2, 4, 2},   // one piece
                                               {2, 8, 0, 4, 2, 24, 1},  // columns with N cost a base of a long gap
                                               {5, 3, 2, 2, 3, 12, 1},
                                               {1, 1, 1, 1, 1, 1, 1},
                                               {7, 0, 3, 10, 9, 30, 1},
                                               {2, 4, 1, 1, 2, 2, 1},
                                               {3, 6, 1, 20, 1, 20, 1},
                                               // Differences come to the ends of 8 bits, and beyond where they are computed in another order.
                                               {3, 12, 1, 20, 4, 100, 1},
                                               {2, 48, 1, 20, 4, 100, 1},
                                               {100, 48, 1, 20, 4, 100, 1},
                                               {3, 5, 1, 60, 3, 60, 3},
                                               {1, 126, 1, 60, 3, 60, 3},
                                               {62, 126, 126, 60, 3, 60, 3}};

// And those with a penalty of their own for A against G and C against T, which devices do not know.
inline const std::vector<Scores> all_score_sets = [] {
  std::vector<Scores> all = score_sets;
  all.push_back({2, 6, 1, 10, 2, 50, 1, 4});  // map-iclr
  all.push_back({2, 6, 0, 10, 2, 50, 1, 1});
  all.push_back({1, 3, 2, 4, 2, 24, 1, 9});
  return all;
}();

struct Pair {
  Bases query, target;
  Problem problem(std::mt19937& random, bool banded) const {
    Problem p;
    p.query = query.data();
    p.target = target.data();
    p.query_length = static_cast<std::int32_t>(query.size());
    p.target_length = static_cast<std::int32_t>(target.size());
    p.band = banded ? static_cast<std::int32_t>(random() % 60) : -1;
    p.z_drop = random() % 3 == 0 ? -1 : static_cast<std::int32_t>(random() % 120);
    p.end_bonus = random() % 3 == 0 ? static_cast<std::int32_t>(random() % 30) : -1;
    p.goal = static_cast<Goal>(random() % 3);
    p.ties = random() % 2 == 0 ? TieOrder::gap_right : TieOrder::gap_left;
    return p;
  }
};

inline Bases random_bases(std::mt19937& random, std::size_t count, std::uint32_t letters, std::uint32_t ns_per_thousand) {
  Bases bases(count);
  for (std::uint8_t& base : bases) base = static_cast<std::uint8_t>(random() % 1000 < ns_per_thousand ? 4 : random() % letters);
  return bases;
}

// A sequence and one like it, or one unlike it.
inline Pair random_pair(std::mt19937& random, std::size_t query_length, std::size_t target_length) {
  const std::uint32_t letters = random() % 3 == 0 ? 2 : 4, ns = random() % 4 == 0 ? 60 : 0;
  Pair pair{random_bases(random, query_length, letters, ns), random_bases(random, target_length, letters, ns)};
  if (random() % 4 == 0) return pair;
  const std::uint32_t errors = random() % 30;
  std::size_t from = 0;
  for (std::uint8_t& base : pair.target) {
    if (random() % 100 < errors) {
      from += random() % 3;
      continue;
    }
    if (from >= pair.query.size()) break;
    base = pair.query[from++];
  }
  return pair;
}

// The CIGAR of a path that was walked from its end to its beginning (0: both bases, 1: insertion, 2: deletion), as minimap2 has it for the order of
// ties.
inline std::vector<std::uint32_t> cigar_of(std::vector<std::uint32_t> steps, TieOrder ties) {
  if (ties == TieOrder::gap_right) std::reverse(steps.begin(), steps.end());
  std::vector<std::uint32_t> cigar;
  for (const std::uint32_t step : steps) {
    if (!cigar.empty() && (cigar.back() & 15U) == step)
      cigar.back() += 16;
    else
      cigar.push_back(16 | step);
  }
  return cigar;
}

}  // namespace kernel_problems
