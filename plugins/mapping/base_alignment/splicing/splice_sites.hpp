// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What an intron costs that opens behind a base of the target, or closes with it. Method: minimap2 2.31, S.5, S.8 and S.9 of the specification.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::overlap {
class KnownJunctions;
}

namespace sluice::base_alignment {

using overlap::KnownJunctions;
class SiteScoreTable;

// Along which strand of the target its transcripts are read: GT..AG along the forward strand is CT..AC of a transcript on the reverse one.
enum class Sites : std::uint8_t { none, forward, reverse };
enum class Direction : std::uint8_t { forward, backward };  // backward: the piece comes from its end to its beginning

struct SiteCosts {
  // Of a usual pair of bases without the usual third one, of the next two kinds of pairs, and of all others.
  std::array<std::int32_t, 4> of_kind{3, 5, 7, 10};
  std::int32_t known_end_bonus = 9;   // of an end of a known junction
  std::int32_t no_score_penalty = 5;  // of a place without a score, where there are scores
};

// One per base of the piece: what is added to the score of an intron that has its first base behind this one, and that has its last base here.
struct SiteScores {
  std::vector<std::int8_t> donor, acceptor;
};

// A piece of a contig, whose codes come as the direction says.
struct SitePiece {
  std::span<const std::uint8_t> codes;
  std::int32_t contig = 0, begin = 0;  // begin: on the contig, whatever the direction
  Direction direction = Direction::forward;
  Sites sites = Sites::none;
  std::int32_t end() const { return begin + static_cast<std::int32_t>(codes.size()); }
};
// Each may be null; with a table, known junctions do not count.
struct KnownSites {
  const KnownJunctions* junctions = nullptr;
  const SiteScoreTable* table = nullptr;
};
void score_sites(const SiteCosts& costs, const SitePiece& piece, KnownSites known, SiteScores& scores);

}  // namespace sluice::base_alignment
