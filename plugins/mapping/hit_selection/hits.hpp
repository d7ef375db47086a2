// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The chains of one read as hits: intervals on read and target, in the order of their scores.
// Method: minimap2 2.24 (Li 2018, 2021), PAF without base alignment; integer for integer the same.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hit_selection {

// One element of an anchor list: X = strand << 63 | target << 32 | last base of the k-mer on the target,
// Y = flags | span << 32 | last base of the k-mer on the read, for the reverse strand on its reverse complement.
struct AnchorList {
  std::span<const std::uint64_t> x, y;  // same length
};

constexpr std::int64_t position(std::uint64_t x_or_y) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x_or_y)); }
constexpr std::int32_t span_of(std::uint64_t y) { return static_cast<std::int32_t>(y >> 32 & 0xFF); }
constexpr std::int32_t target_of(std::uint64_t x) { return static_cast<std::int32_t>(x >> 32 & 0x7FFFFFFF); }
constexpr bool is_reverse(std::uint64_t x) { return (x >> 63) != 0; }

// What hits need of the anchors of a chain, and the seeds of its read, where somebody else has gone through them.
struct MeasuredChain {
  std::uint64_t first_x, first_y, last_x, last_y;  // its first and last anchor
  std::int32_t matches, block;                     // as Hit
  std::int32_t met_seeds;                          // anchors from the first on, along the read's forward strand, that are seeds in ascending order
  std::int32_t seeds_between;                      // seeds from the first to the last of these
};

// What the stages before have found for one read.
struct ReadChains {
  std::string_view read_id;
  std::int32_t read_length = 0;                  // bases
  std::int32_t repeat_length = 0;                // bases under minimizers that were left out as too frequent
  std::span<const std::uint64_t> seed_position;  // span << 32 | last base, of the minimizers that were looked up, ascending by base
  std::span<const std::int32_t> chain_score, chain_anchor_count;
  AnchorList anchors;  // of all chains, one after the other
  // Of each chain, instead of `anchors` and `seed_position`; with mean_span_of them.
  std::span<const MeasuredChain> measured = {};
  float mean_span = -1;

  // Anchor `first` is a chain's first one, and it has `count`.
  std::pair<std::uint64_t, std::uint64_t> first_of(std::size_t chain, std::size_t first) const {
    if (!measured.empty()) return {measured[chain].first_x, measured[chain].first_y};
    return {anchors.x[first], anchors.y[first]};
  }
  std::pair<std::uint64_t, std::uint64_t> last_of(std::size_t chain, std::size_t first, std::size_t count) const {
    if (!measured.empty()) return {measured[chain].last_x, measured[chain].last_y};
    return {anchors.x[first + count - 1], anchors.y[first + count - 1]};
  }
};

// Intervals are 0-based and end-exclusive, on the read's forward strand and on the target's.
struct Hit {
  std::int32_t chain = 0;         // index in chain_score
  std::int32_t first_anchor = 0;  // of the chain, in ReadChains::anchors
  std::int32_t anchors = 0;
  std::int32_t score = 0;
  std::uint32_t hash = 0;  // decides between equal scores
  std::int32_t target = 0;
  bool reverse = false;
  bool strand_retained = false;  // kept only because it lies on the other strand than its primary
  std::int32_t query_start = 0, query_end = 0, target_start = 0, target_end = 0;
  std::int32_t id = 0;
  std::int32_t parent = -1;       // id of the primary hit that it is secondary to; its own id if it is primary; -1: not asked
  std::int32_t second_score = 0;  // primary: the best score of a hit secondary to it
  std::int32_t rivals = 0;        // primary: secondary hits with at least as many anchors
  std::int32_t matches = 0;       // bases of the read under anchors
  std::int32_t block = 0;         // bases of read or target, whichever is longer between two anchors
  float divergence = -1;          // per base, estimated from the minimizers between the ends that have no anchor; -1: unknown
  std::uint8_t mapping_quality = 0;

  bool primary() const { return parent == id; }
};

// Why the lists of a read (not of measured chains) make no hits; "" if they do. Everything below relies on it: every count is at least 1, the counts
// add up to the anchors, scores are positive, targets exist, and every anchor ends inside its target and its read.
std::string problem_of(const ReadChains& read, std::span<const std::int32_t> target_length);

// Reusable memory.
struct HitOrder {
  struct Key {
    std::uint64_t key;
    std::uint32_t hash;
    std::int32_t chain, first_anchor;
  };
  std::vector<Key> keys;
};

enum class ReadNames : std::uint8_t {
  hashed,   // the order of hits of equal score depends on the name of the read
  ignored,  // equal bases give equal hits (--no-hash-name)
};

// One hit per chain, by descending score; ties by anchors and a hash of the first anchor, the read's name, its length and `seed`.
void make_hits(const ReadChains& read, std::uint32_t seed, ReadNames names, HitOrder& order, std::vector<Hit>& hits);

// Fills matches and block.
void measure_block(const ReadChains& read, Hit& hit);

}  // namespace sluice::hit_selection
