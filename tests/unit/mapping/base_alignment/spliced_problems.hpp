// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Random problems across introns for tests of the kernels.

#include "base_alignment/kernel/spliced.hpp"
#include "base_alignment/splicing/splice_sites.hpp"
#include "kernel_problems.hpp"

namespace kernel_problems {

using sluice::base_alignment::Direction;
using sluice::base_alignment::Sites;
using sluice::base_alignment::SiteScores;

inline const std::vector<Scores> spliced_scores = {
    {1, 2, 1, 2, 1, 32, 0},  {1, 4, 1, 6, 1, 24, 0},  {2, 4, 0, 4, 2, 24, 1},   {1, 1, 2, 1, 1, 5, 0},
    {84, 2, 1, 2, 1, 32, 0}, {27, 2, 1, 2, 1, 90, 0}, {1, 4, 1, 6, 1, 24, 0, 2}};  // the two before: beyond 8 bits

inline SiteScores sites_of(const Bases& target, Sites sites, Direction direction = Direction::forward) {
  SiteScores scores;
  score_sites({}, {.codes = target, .direction = direction, .sites = sites}, {}, scores);
  return scores;
}

struct SplicedPair {
  Pair pair;
  SiteScores sites;
  // Of any goal, in any order of ties.
  Problem problem(std::mt19937& random) const { return pair.problem(random, false); }
};
// A sequence and one like it with something in its middle that has ends of an intron in most cases; now and then a place is known to be a site.
inline SplicedPair random_spliced_pair(std::mt19937& random, std::size_t longest_read, std::size_t longest_intron) {
  SplicedPair made{random_pair(random, 1 + random() % longest_read, 1 + random() % longest_read), {}};
  Bases intron = random_bases(random, random() % longest_intron, 4, random() % 4 == 0 ? 5 : 0);
  if (intron.size() > 8 && random() % 4 != 0) {
    std::copy_n(Bases{2, 3, 0}.begin(), 3, intron.begin());    // GTA
    std::copy_n(Bases{1, 0, 2}.begin(), 3, intron.end() - 3);  // CAG
    if (random() % 2 == 0) {                                   // of the other strand
      std::reverse(intron.begin(), intron.end());
      for (std::uint8_t& code : intron) code = code < 4 ? static_cast<std::uint8_t>(3 - code) : code;
    }
  }
  Bases& target = made.pair.target;
  target.insert(target.begin() + static_cast<std::ptrdiff_t>(random() % (target.size() + 1)), intron.begin(), intron.end());
  made.sites = sites_of(target, static_cast<Sites>(random() % 3), random() % 2 == 0 ? Direction::forward : Direction::backward);
  if (random() % 7 == 0) made.sites.donor[random() % target.size()] = static_cast<std::int8_t>(random() % 2 == 0 ? 9 : 90);
  if (random() % 7 == 0) made.sites.acceptor[random() % target.size()] = static_cast<std::int8_t>(random() % 2 == 0 ? 9 : -90);
  return made;
}

}  // namespace kernel_problems
