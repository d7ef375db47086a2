// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_merging/coverage_trimming.hpp"

#include <algorithm>

namespace sluice::window_merging {

KeptBases trim_by_coverage(std::span<const std::int32_t> coverage, std::int64_t layers) {
  const auto is_covered = [enough = layers / 2](std::int32_t sequences) { return sequences >= enough; };
  const auto begin = static_cast<std::size_t>(std::find_if(coverage.begin(), coverage.end(), is_covered) - coverage.begin());
  const auto end = static_cast<std::size_t>(coverage.rend() - std::find_if(coverage.rbegin(), coverage.rend(), is_covered));
  if (begin + 1 >= end) return {0, coverage.size(), true};
  return {begin, end, false};
}

}  // namespace sluice::window_merging
