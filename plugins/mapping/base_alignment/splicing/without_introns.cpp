// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/splicing/without_introns.hpp"

#include <algorithm>
#include <cstdlib>

#include "base_alignment/kernel/spliced.hpp"

namespace sluice::base_alignment {

std::int64_t highest_with_intron(const Scores& scores, std::int32_t query_length, std::int32_t target_length) {
  const std::int64_t query = query_length, target = target_length, intron = scores.gap_open_long;
  const auto gap = [&](std::int64_t bases) { return bases <= 0 ? 0 : std::min(scores.gap_open + scores.gap_extend * bases, intron); };
  // The shortest intron that leaves no deletion to be made, and the insertion that makes up for its bases.
  const std::int64_t left = target - std::max<std::int64_t>(1, target - query);
  const std::int64_t with_intron = scores.match * std::min(query, left) - intron - gap(query - left);
  // An insertion in front of the target that costs less than its bases, and the deletion that makes up for it.
  const std::int64_t inserted = std::max((intron - scores.gap_open) / scores.gap_extend + 1, query - target);
  if (inserted > query) return with_intron;
  const std::int64_t behind = query - inserted;
  return std::max(with_intron, scores.match * std::min(target, behind) - intron - gap(target - behind));
}

bool align_without_introns(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) {
  if (problem.goal != Goal::ends || problem.ties != TieOrder::gap_right || problem.query_length <= 0 || problem.target_length <= 0) return false;
  Scores one_piece = scores;
  one_piece.gap_open_long = scores.gap_open;
  one_piece.gap_extend_long = scores.gap_extend;
  if (!gap_costs_fit(one_piece) || scores.match > highest_match(one_piece)) return false;
  const std::int64_t most = highest_with_intron(scores, problem.query_length, problem.target_length);
  const std::int32_t unlike = std::abs(problem.query_length - problem.target_length);
  const std::int64_t least_gap = unlike > 0 ? scores.gap_open + std::int64_t{scores.gap_extend} * unlike : 0;
  if (std::int64_t{scores.match} * std::min(problem.query_length, problem.target_length) - least_gap <= most) return false;
  result.cigar.clear();
  Problem whole = problem;
  whole.band = -1;
  align(one_piece, whole, rows, result);
  return result.score > most;
}

}  // namespace sluice::base_alignment
