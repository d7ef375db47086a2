// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/cut_target.hpp"

#include <algorithm>

#include "base_alignment/aligned_hit.hpp"

namespace sluice::base_alignment {
namespace {

// So many bases cost as much in an intron as in a deletion, or less.
std::int32_t intron_bases(const Scores& scores) { return (scores.gap_open_long - scores.gap_open + scores.gap_extend - 1) / scores.gap_extend; }

// The codes of [begin, end) of a piece, with its sites at [from, to) appended to those of the short target.
void append_part(const SiteCosts& costs, const SitePiece& piece, std::int32_t begin, std::int32_t end, std::int32_t from, std::int32_t to,
                 ShortTarget& target) {
  SitePiece part = piece;
  part.codes = piece.codes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  SiteScores scores;
  score_sites(costs, part, {}, scores);
  const auto copy = [&](const std::vector<std::int8_t>& column, std::vector<std::int8_t>& to_column) {
    to_column.insert(to_column.end(), column.begin() + (from - begin), column.begin() + (to - begin));
  };
  copy(scores.donor, target.sites.donor);
  copy(scores.acceptor, target.sites.acceptor);
  target.codes.insert(target.codes.end(), piece.codes.begin() + from, piece.codes.begin() + to);
}

}  // namespace

Cut cut_of(const Scores& scores, const Problem& problem) {
  constexpr std::int32_t spare = 16, least = 256;  // bases of exons that a read lacks; a shorter middle is not worth it
  if (problem.goal != Goal::ends || problem.ties != TieOrder::gap_right || !intron_costs_fit(scores)) return {};
  const std::int64_t kept = std::int64_t{problem.query_length} + intron_bases(scores) + spare;
  if (problem.target_length < 2 * kept + std::max(least, 2 * intron_bases(scores))) return {};
  return {static_cast<std::int32_t>(kept), static_cast<std::int32_t>(problem.target_length - kept)};
}

void leave_out(const SiteCosts& costs, const SitePiece& piece, Cut cut, ShortTarget& target) {
  // What an end of an intron costs is said by three bases behind it, or two before; of the last four bases of a piece nobody asks.
  constexpr std::int32_t behind = 4, before = 2;
  const auto length = static_cast<std::int32_t>(piece.codes.size());
  target.codes.clear();
  target.sites.donor.clear();
  target.sites.acceptor.clear();
  append_part(costs, piece, 0, cut.begin + behind, 0, cut.begin, target);
  append_part(costs, piece, cut.end - before, length, cut.end, length, target);
}

bool put_back(const Scores& scores, std::int32_t query_length, Cut cut, Alignment& made) {
  const std::int64_t most = std::int64_t{query_length} * scores.match - 2 * std::int64_t{scores.gap_open_long};
  if (made.score <= most) return false;
  std::int32_t target = 0;
  for (std::uint32_t& operation : made.cigar) {
    if (code_of(operation) == insertion) continue;
    const std::int32_t end = target + bases_of(operation);
    if (end > cut.begin) {
      if (code_of(operation) != intron || target > cut.begin) return false;
      operation += static_cast<std::uint32_t>(cut.bases()) << 4;
      return true;
    }
    target = end;
  }
  return false;
}

}  // namespace sluice::base_alignment
