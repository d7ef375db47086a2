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

inline Bases with_errors(std::mt19937& random, const Bases& bases, std::uint32_t per_thousand) {
  Bases made;
  for (const std::uint8_t base : bases) {
    const std::uint32_t dice = random() % 1000;
    if (dice < per_thousand / 4) continue;
    made.push_back(dice < per_thousand / 2 ? static_cast<std::uint8_t>(random() % 4) : base);
    if (dice >= per_thousand / 2 && dice < per_thousand) made.push_back(static_cast<std::uint8_t>(random() % 4));
  }
  if (made.empty()) made.push_back(0);
  return made;
}
inline void write_over(Bases& bases, std::size_t at, const Bases& with) {
  std::copy_n(with.begin(), std::min(with.size(), bases.size() - at), bases.begin() + static_cast<std::ptrdiff_t>(at));
}

// Parts of the read lie in it, too, in some cases as exons.
inline Bases random_intron(std::mt19937& random, const Bases& read, std::uint32_t errors) {
  Bases intron = random_bases(random, 300 + random() % 2500, 4, random() % 10 == 0 ? 5 : 0);
  for (std::uint32_t copies = random() % 3; copies-- > 0;) {
    const std::size_t begin = random() % read.size(), bases = 1 + random() % (read.size() - begin), at = random() % intron.size();
    const Bases part(read.begin() + static_cast<std::ptrdiff_t>(begin), read.begin() + static_cast<std::ptrdiff_t>(begin + bases));
    write_over(intron, at, with_errors(random, part, errors));
    if (at > 3 && random() % 2 == 0) write_over(intron, at - 3, {1, 0, 2});
    if (at + bases + 3 < intron.size() && random() % 2 == 0) write_over(intron, at + bases, {2, 3, 0});
  }
  if (random() % 4 != 0) {
    write_over(intron, 0, {2, 3, 0});
    write_over(intron, intron.size() - 3, {1, 0, 2});
  }
  return intron;
}

// A read and a target with introns in it.
inline Pair random_long_pair(std::mt19937& random) {
  const std::uint32_t errors = random() % 3 == 0 ? 0 : random() % 120;
  const Bases exons = random_bases(random, 20 + random() % 230, random() % 5 == 0 ? 2 : 4, random() % 10 == 0 ? 5 : 0);
  Bases target = exons;
  for (std::uint32_t introns = 1 + random() % 3; introns-- > 0;) {
    const std::size_t border = random() % 6 == 0 ? (random() % 2) * target.size() : random() % (target.size() + 1);
    const Bases intron = random_intron(random, exons, random() % 3 == 0 ? 150 : errors);
    target.insert(target.begin() + static_cast<std::ptrdiff_t>(border), intron.begin(), intron.end());
  }
  Bases query = with_errors(random, exons, errors);
  if (random() % 8 == 0) query.insert(query.begin() + static_cast<std::ptrdiff_t>(random() % query.size()), 40, std::uint8_t{1});
  if (random() % 8 == 0) query.erase(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(random() % query.size()));
  return {query, target};
}

}  // namespace kernel_problems
