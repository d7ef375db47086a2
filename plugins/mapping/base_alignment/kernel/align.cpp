// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/kernel/align.hpp"

namespace sluice::base_alignment {

bool scores_fit(const Scores& scores) {
  if (scores.gap_open <= 0 || scores.gap_extend <= 0) return false;
  const std::int32_t short_gap = scores.gap_open + scores.gap_extend, long_gap = scores.gap_open_long + scores.gap_extend_long;
  if (!scores.one_piece() && (scores.gap_extend <= scores.gap_extend_long || short_gap >= long_gap)) return false;
  return short_gap + long_gap <= 127;
}

void align(const Scores& scores, const Problem& problem, MatrixRows& rows, Alignment& result) { align_plainly(scores, problem, rows, result); }

void align(const Scores& scores, std::span<const Problem> problems, MatrixRows& rows, std::span<Alignment> results) {
  for (std::size_t i = 0; i < problems.size(); ++i) align(scores, problems[i], rows, results[i]);
}

}  // namespace sluice::base_alignment
