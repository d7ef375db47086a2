// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Matches as anchors for chaining.

#include <cstdint>
#include <sluice/fm_index.hpp>
#include <span>
#include <vector>

#include "mem_seeding/matches.hpp"

namespace sluice::mem_seeding {

enum class Strand : std::uint8_t { forward, reverse };

// What minimizer_seeding gives, with the layout of minimap2's anchors.
struct Anchors {
  struct Anchor {
    std::uint64_t x;  // reverse strand << 63 | contig << 32 | last base on the contig
    std::uint64_t y;  // span << 32 | last base on the read, in the direction of the contig
  };
  std::vector<Anchor> anchors;
  std::vector<std::uint64_t> seeds;  // span << 32 | last base on the read, of what has anchors; ascending
  std::int32_t repeat_length = 0;    // bases of the read in matches without listed places
  void clear() {
    anchors.clear();
    seeds.clear();
    skipped.clear();
    repeat_length = 0;
  }
  struct Span {
    std::int32_t begin, end;
  };
  std::vector<Span> skipped;  // matches without listed places
};

// The span of an anchor has 8 bits: longer matches become several anchors, one behind the other.
inline constexpr std::int32_t max_span = 255;

// What becomes of a match: anchors at its listed places, nothing but a share in repeat_length, or nothing at all.
enum class Use : std::uint8_t { places, too_frequent, none };

// Supermaximal matches of a read and of its reverse complement in a text of the forward strand, as if they had been searched in one of both strands:
// a match in a longer one of the other strand is none, and one that both have has the occurrences of both. (A text of both strands has one place more
// to lie on: where the strands meet.)
struct StrandUses {
  std::vector<Use> forward, reverse;  // per match
};
void join_strands(const Matches& forward, const Matches& reverse, std::int32_t read_length, std::uint64_t max_occurrences, StrandUses& uses);

// Adds the matches of one search: of the read, or of its reverse complement. A match that lies on two contigs, or on both strands of the text, has no
// anchors. `uses`: empty, or what join_strands says.
void add_anchors(const FmIndexView& index, const Matches& matches, Strand searched, std::int32_t read_length, std::span<const Use> uses,
                 Anchors& anchors);
// Sorts, and adds up repeat_length, after all searches of a read.
void finish_anchors(Anchors& anchors);

}  // namespace sluice::mem_seeding
