// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/splice_sites.hpp"

#include <algorithm>
#include <sluice/overlap/known_junctions.hpp>

#include "base_alignment/splicing/site_score_table.hpp"

namespace sluice::base_alignment {
namespace {

enum class Third : std::uint8_t { any, purine, pyrimidine };
enum Kind : std::uint8_t { without_third = 0, second = 1, third = 2, other = 3, best = 4 };

constexpr std::uint8_t a = 0, c = 1, g = 2, t = 3;

struct Pair {
  std::uint8_t first, last;
  Kind kind;
  Third wanted = Third::any;  // of a best pair
};
// Ends of introns by the first two and the last two bases that the target shows, in the order in which the piece comes.
struct EndTable {
  std::array<Pair, 3> donor, acceptor;
  std::uint8_t donors, acceptors;
};
constexpr EndTable table_of(Sites sites, Direction direction) {
  if (direction == Direction::forward)
    return sites == Sites::forward
               ? EndTable{{{{g, t, best, Third::purine}, {g, c, second}, {a, t, third}}}, {{{a, g, best, Third::pyrimidine}, {a, c, third}}}, 3, 2}
               : EndTable{{{{c, t, best, Third::purine}, {g, t, third}}}, {{{a, c, best, Third::pyrimidine}, {g, c, second}, {a, t, third}}}, 2, 3};
  return sites == Sites::forward
             ? EndTable{{{{g, a, best, Third::pyrimidine}, {c, a, third}}}, {{{t, g, best, Third::purine}, {c, g, second}, {t, a, third}}}, 2, 3}
             : EndTable{{{{c, a, best, Third::pyrimidine}, {c, g, second}, {t, a, third}}}, {{{t, c, best, Third::purine}, {t, g, third}}}, 3, 2};
}

// What every pair of bases with the one beside it costs: 125 sums of codes of 0 to 4.
using CostTable = std::array<std::int8_t, 125>;
constexpr std::size_t place_of(std::uint8_t first, std::uint8_t last, std::uint8_t beside) {
  return static_cast<std::size_t>(first) * 25 + static_cast<std::size_t>(last) * 5 + beside;
}
constexpr bool fits(Third wanted, std::uint8_t code) {
  if (code > 3 || wanted == Third::any) return false;
  return (code == a || code == g) == (wanted == Third::purine);
}
CostTable costs_of(const SiteCosts& costs, const std::array<Pair, 3>& pairs, std::uint8_t count) {
  CostTable table;
  table.fill(static_cast<std::int8_t>(-costs.of_kind[other]));
  for (std::uint8_t i = 0; i < count; ++i)
    for (std::uint8_t beside = 0; beside < 5; ++beside) {
      const Pair& pair = pairs[i];
      const std::int32_t cost = pair.kind != best ? costs.of_kind[pair.kind] : fits(pair.wanted, beside) ? 0 : costs.of_kind[without_third];
      table[place_of(pair.first, pair.last, beside)] = static_cast<std::int8_t>(-cost);
    }
  return table;
}

void add(std::int8_t& to, std::int32_t value) { to = static_cast<std::int8_t>(std::clamp(to + value, -127, 127)); }

// A bonus for each end of a junction that lies in the piece as a whole.
void add_known_ends(const SiteCosts& costs, const SitePiece& piece, const KnownJunctions& known, SiteScores& scores) {
  const std::size_t bases = piece.codes.size();
  std::vector<std::uint8_t> opens(bases, 0), closes(bases, 0);  // on the piece as it comes, by its first and its last base
  known.for_each_inside(piece.contig, piece.begin, piece.end(), [&](const KnownJunctions::Junction& junction) {
    if (junction.strand == 0 || (junction.strand > 0) != (piece.sites == Sites::forward)) return;
    const auto first = static_cast<std::size_t>(junction.begin - piece.begin), last = static_cast<std::size_t>(junction.end - 1 - piece.begin);
    const bool backward = piece.direction == Direction::backward;
    opens[backward ? bases - 1 - last : first] = 1;
    closes[backward ? bases - 1 - first : last] = 1;
  });
  for (std::size_t i = 0; i < bases; ++i) {
    if (i + 1 < bases && opens[i + 1] != 0) add(scores.donor[i], costs.known_end_bonus);
    if (closes[i] != 0) add(scores.acceptor[i], costs.known_end_bonus);
  }
}

// Of a left end a score acts a base beside its place: so it is in minimap2.
void add_table(const SiteCosts& costs, const SitePiece& piece, const SiteScoreTable& table, SiteScores& scores) {
  const std::size_t bases = piece.codes.size();
  constexpr std::uint8_t none = 255;  // else (score + 64) * 2, one more of an acceptor
  std::vector<std::uint8_t> at(bases, none);
  const bool backward = piece.direction == Direction::backward, forward_sites = piece.sites == Sites::forward;
  const auto strand = piece.sites == Sites::reverse ? SiteScoreTable::Strand::reverse : SiteScoreTable::Strand::forward;
  table.for_each_between(piece.contig, strand, piece.begin + 1, piece.end(), [&](const SiteScoreTable::Site& site) {
    const auto place = static_cast<std::size_t>(site.place - piece.begin);
    std::uint8_t& here = at[backward ? bases - 1 - place : place];
    const auto coded = static_cast<std::uint8_t>((site.score + 64) * 2 + (site.acceptor ? 1 : 0));
    here = here == none ? coded : std::max(here, coded);
  });
  const bool donors_open = forward_sites != backward;
  for (std::size_t i = 0; i + 1 < bases; ++i) {
    const std::uint8_t coded = at[i + 1];
    const bool is_acceptor = (coded & 1U) != 0;
    const std::int32_t score = (coded >> 1) - 64;
    add(scores.donor[i], coded == none || is_acceptor == donors_open ? -costs.no_score_penalty : score);
    add(scores.acceptor[i], coded == none || is_acceptor != donors_open ? -costs.no_score_penalty : score);
  }
}

}  // namespace

void score_sites(const SiteCosts& costs, const SitePiece& piece, KnownSites known, SiteScores& scores) {
  const std::span<const std::uint8_t> codes = piece.codes;
  const std::size_t bases = codes.size();
  const auto usual = static_cast<std::int8_t>(piece.sites == Sites::none ? 0 : -costs.of_kind[other]);
  scores.donor.assign(bases, usual);
  scores.acceptor.assign(bases, usual);
  if (piece.sites == Sites::none) {
    if (known.table != nullptr) add_table(costs, piece, *known.table, scores);
    return;
  }
  const EndTable table = table_of(piece.sites, piece.direction);
  const CostTable donor = costs_of(costs, table.donor, table.donors), acceptor = costs_of(costs, table.acceptor, table.acceptors);
  for (std::size_t i = 0; i + 4 < bases; ++i) scores.donor[i] = donor[place_of(codes[i + 1], codes[i + 2], codes[i + 3])];
  for (std::size_t i = 2; i < bases; ++i) scores.acceptor[i] = acceptor[place_of(codes[i - 1], codes[i], codes[i - 2])];
  if (known.table != nullptr)
    add_table(costs, piece, *known.table, scores);
  else if (known.junctions != nullptr)
    add_known_ends(costs, piece, *known.junctions, scores);
}

}  // namespace sluice::base_alignment
