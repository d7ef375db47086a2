// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <vector>

#include "base_alignment/kernel/local.hpp"

namespace sluice::base_alignment {
namespace {

constexpr std::size_t lanes = 8;  // of 16 bits, which saturate
constexpr std::int32_t highest = 32767;

std::int32_t local_score(const Scores& scores, std::uint8_t target, std::uint8_t query) {
  return target > 3 || query > 3 ? -scores.ambiguous : column_score(scores, target, query);
}

}  // namespace

LocalEnd align_locally_plainly(const Scores& scores, std::span<const std::uint8_t> query, std::span<const std::uint8_t> target, Padding padding) {
  const std::size_t stripe = (query.size() + lanes - 1) / lanes, columns = stripe * lanes;
  const std::int32_t open = scores.gap_open + scores.gap_extend, extend = scores.gap_extend;
  std::vector<std::int32_t> scores_of_row(columns, 0), deletions(columns, 0);
  LocalEnd end;
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::int32_t diagonal = 0, insertion = 0, insertion_of_stripe = 0, row_best = 0;
    for (std::size_t p = 0; p < columns; ++p) {
      if (p % stripe == 0) insertion_of_stripe = 0;
      const std::int32_t substitution = p < query.size() ? local_score(scores, target[i], query[p]) : score_of_padding(padding);
      const std::int32_t matched = std::clamp(diagonal + substitution, 0, highest);
      diagonal = scores_of_row[p];
      // Gaps on the target open from a cell before insertions that come from other stripes are known.
      const std::int32_t known = std::max({matched, deletions[p], insertion_of_stripe});
      const std::int32_t score = std::max(known, insertion);
      scores_of_row[p] = score;
      deletions[p] = std::max({deletions[p] - extend, known - open, 0});
      insertion_of_stripe = std::max({insertion_of_stripe - extend, known - open, 0});
      insertion = std::max({insertion - extend, score - open, 0});
      row_best = std::max(row_best, score);
    }
    if (row_best < end.score) continue;
    end.score = row_best;
    end.target = static_cast<std::int32_t>(i);
    std::size_t found = 0;
    for (std::size_t p = 0; p < columns; ++p)
      if (scores_of_row[p] == row_best &&
          (p % stripe > found % stripe || (p % stripe == found % stripe && p >= found) || scores_of_row[found] != row_best))
        found = p;
    end.query = static_cast<std::int32_t>(found);
  }
  return end;
}

}  // namespace sluice::base_alignment
