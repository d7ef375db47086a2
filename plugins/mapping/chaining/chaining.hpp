// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Chains of anchors: the method of minimap2 2.24 (Li 2018; Li 2021 for the long-join rescue), with its numbers, ties and sort orders. README.md says
// how it is computed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sluice/minimizer_index.hpp>  // SLUICE_HOST_DEVICE
#include <sluice/overlap/minimap2_release.hpp>
#include <span>

namespace sluice::chaining {

// Anchors of one read, ascending in x. Seeding made them:
//   x = reverse strand << 63 | target << 32 | position of the k-mer's last base on the target
//   y = flags << 40 | span << 32 | position of the k-mer's last base on the read (of its reverse complement when the strand is reverse)
struct Anchors {
  std::span<const std::uint64_t> x, y;
  std::size_t size() const { return x.size(); }
};

SLUICE_HOST_DEVICE inline std::int32_t target_position(std::uint64_t x) { return static_cast<std::int32_t>(x); }
SLUICE_HOST_DEVICE inline std::int32_t query_position(std::uint64_t y) { return static_cast<std::int32_t>(y); }
SLUICE_HOST_DEVICE inline std::int32_t span_of(std::uint64_t y) { return static_cast<std::int32_t>(y >> 32 & 0xff); }

// Positions may be at most this, so that sums of a score, a position and a span stay within 31 bits.
inline constexpr std::int32_t highest_position = INT32_MAX - 1024;

enum class Engine : std::uint8_t {
  dynamic_programming,  // all predecessors within max_gap and bw
  range_minimum         // the best predecessor by a linear gap cost, then all within rmq_inner_dist
};

// Which of equally good ends of chains comes first: what minimap2's sort of all of a read's anchors leaves, or the one further on. The latter does
// not depend on what else the read meets, as chains that are made of one part of an index after the other must not.
enum class Ties : std::uint8_t { minimap2, place };

// minimap2's names and defaults (map-ont), but for max_chain_skip.
struct ChainingParameters {
  std::int32_t max_gap = 5000;            // largest gap on the read, bases
  std::int32_t max_gap_ref = -1;          // largest gap on the target, bases; 0 or less: max_gap
  std::int32_t bw = 500;                  // largest difference of the gaps on read and target, bases
  std::int32_t bw_long = 20000;           // the same when chains are joined; at most bw: they are not
  std::int32_t max_chain_skip = 1000000;  // a search for predecessors ends after this many that are in the chain already
  std::int32_t max_chain_iter = 5000;     // anchors before an anchor among which its predecessor is looked for
  std::int32_t min_cnt = 3;               // anchors of a chain
  std::int32_t min_chain_score = 40;
  Engine engine = Engine::dynamic_programming;
  std::int32_t rmq_inner_dist = 1000;
  std::int32_t rmq_size_cap = 100000;
  std::int32_t rmq_rescue_size = 1000;
  float rmq_rescue_ratio = 0.1F;
  float chain_gap_scale = 0.8F;
  float chain_skip_scale = 0.0F;
  std::int32_t k = 15;
  Ties ties = Ties::minimap2;
  overlap::Minimap2Release release = overlap::Minimap2Release::v2_31;
  bool splice = false;  // gaps on the target may be introns: they cost their logarithm at most, and chains are not joined
};

SLUICE_HOST_DEVICE inline bool may_join(const ChainingParameters& parameters) { return parameters.bw_long > parameters.bw && !parameters.splice; }
// Whether the first of some chains leaves so much of the read to the others that they are joined. `first_y`, `last_y`: of its anchors.
SLUICE_HOST_DEVICE inline bool wants_long_join(const ChainingParameters& parameters, std::size_t chains, std::uint64_t first_y, std::uint64_t last_y,
                                               std::int32_t read_length) {
  if (!may_join(parameters) || chains < 2) return false;
  const std::int32_t covered = query_position(last_y) - query_position(first_y);
  return read_length - covered > parameters.rmq_rescue_size ||
         static_cast<float>(covered) > static_cast<float>(read_length) * parameters.rmq_rescue_ratio;
}

// With fewer anchors in a window than this counts, a limit of skips has no effect.
bool skips_are_unlimited(const ChainingParameters& parameters, std::int32_t window);

// Scores and predecessors of the first pass, one per anchor. Empty spans: not wanted.
struct AnchorScores {
  std::span<std::int32_t> score;
  std::span<std::int32_t> predecessor;  // -1: a chain begins here
};

// Where chains are put: each span has room for one element per anchor of the read.
struct ChainRoom {
  std::span<std::int32_t> score, anchor_count;
  std::span<std::uint64_t> anchor_x, anchor_y;
};

// Chains in minimap2's order (by their first anchor's x); parts of a ChainRoom.
struct Chains {
  std::span<const std::int32_t> score, anchor_count;
  std::span<const std::uint64_t> anchor_x, anchor_y;  // of all chains, one after the other, ascending within each
};

enum class AnchorFault : std::uint8_t { none, different_lengths, unsorted, outside_read, too_many };

// `read_length` is the length of the read in bases. What chain_anchors does not accept.
AnchorFault check_anchors(Anchors anchors, std::int64_t read_length);

// Memory that chain_anchors reuses; grows to the largest read.
class ChainingWorkspace {
 public:
  ChainingWorkspace();
  ~ChainingWorkspace();
  ChainingWorkspace(ChainingWorkspace&&) noexcept;
  ChainingWorkspace& operator=(ChainingWorkspace&&) noexcept;
  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// The anchors must have passed check_anchors.
Chains chain_anchors(Anchors anchors, std::int32_t read_length, const ChainingParameters& parameters, ChainingWorkspace& workspace, ChainRoom room,
                     AnchorScores scores = {});

// The chains of chain_anchors from scores and predecessors of its first pass that are there already, one each per anchor.
Chains chains_from_scores(Anchors anchors, std::int32_t read_length, const ChainingParameters& parameters, ChainingWorkspace& workspace,
                          ChainRoom room, AnchorScores scores);

// Bytes of a workspace that has chained this many anchors.
std::size_t chaining_workspace_bytes(std::size_t anchors);

}  // namespace sluice::chaining
