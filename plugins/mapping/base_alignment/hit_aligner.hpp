// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From a chain of k-mer matches to a base-level alignment: the chain's trustworthy anchors are kept as fixed points, the stretches between them are
// aligned end to end, and both ends are extended as long as the score grows (as minimap2 does with KSW2; the dynamic programming here is WFA2-lib's).
// Not thread-safe: one object per thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base_alignment/pair_aligner.hpp"
#include "base_alignment/path.hpp"

namespace sluice::base_alignment {

// Both sequences may be cut in front of these bases.
struct FixedPoint {
  std::int32_t target = 0, query = 0;
};

// The anchors of a chain, ascending, as minimizer_seeding gives them (X: place of the k-mer's last base on the target in the low 32 bits; Y: span <<
// 32 | place on the query, in the orientation of the target). At least 64 bases apart where the anchors allow it, and on anchors that have a
// neighbour on their own diagonal.
enum class Compressed { no, yes };  // yes: homopolymer-compressed k-mers, which fix only their last base
void choose_fixed_points(std::span<const std::uint64_t> x, std::span<const std::uint64_t> y, Compressed compressed, std::vector<FixedPoint>& points);

struct HitAlignment {
  std::int32_t query_begin = 0, query_end = 0, target_begin = 0, target_end = 0;  // of the aligned part, in the coordinates of the arguments
  Path path;                                                                      // without clips; M, I and D
};

class HitAligner {
 public:
  explicit HitAligner(const Scoring& scoring) : aligner_(scoring) {}

  // query: the whole read in the orientation of the target; target: the part of the contig that the ends may extend into. The points lie in both,
  // ascending. False: nothing aligns.
  bool align(std::string_view query, std::string_view target, std::span<const FixedPoint> points, HitAlignment& result);

 private:
  // The longest worthwhile alignment of beginnings of both; returns how much of each it takes.
  FixedPoint extend(std::string_view query, std::string_view target, Path& path);
  FixedPoint extend_to_the_left(std::string_view query, std::string_view target, Path& reversed_path);
  void align_between(std::string_view query, std::string_view target, Path& path);

  PairAligner aligner_;
  Path piece_, left_, right_;
  std::string reversed_query_, reversed_target_;
};

}  // namespace sluice::base_alignment
