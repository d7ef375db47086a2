// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/unit_cost_path.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

// The matrix, cell by cell.
std::vector<std::vector<std::int32_t>> distances(std::string_view pattern, std::string_view text) {
  std::vector<std::vector<std::int32_t>> d(pattern.size() + 1, std::vector<std::int32_t>(text.size() + 1));
  for (std::size_t i = 0; i <= pattern.size(); ++i)
    for (std::size_t j = 0; j <= text.size(); ++j) {
      if (i == 0 || j == 0)
        d[i][j] = static_cast<std::int32_t>(i + j);
      else
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (pattern[i - 1] == text[j - 1] ? 0 : 1)});
    }
  return d;
}

std::vector<PathStep> path_of(std::string_view pattern, std::string_view text) {
  const auto d = distances(pattern, text);
  std::vector<PathStep> steps;
  std::size_t i = pattern.size(), j = text.size();
  while (i > 0 || j > 0) {
    if (j > 0 && (i == 0 || d[i][j] == d[i][j - 1] + 1)) {
      steps.push_back(PathStep::text_only), --j;
    } else if (i > 0 && (j == 0 || d[i][j] == d[i - 1][j] + 1)) {
      steps.push_back(PathStep::pattern_only), --i;
    } else {
      steps.push_back(PathStep::diagonal), --i, --j;
    }
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

TEST_CASE("distance, path and best prefix are those of the matrix, for patterns of none to four words") {
  std::mt19937 random(3);
  UnitCostAligner aligner;
  std::vector<PathStep> steps;
  for (int round = 0; round < 600; ++round) {
    const std::string pattern = simulated_reads::random_bases(round < 100 ? random() % 6 : random() % 210, random);
    const std::string text =
        round % 2 == 0 ? simulated_reads::noisy_copy(pattern, 0.2, random) : simulated_reads::random_bases(random() % 150, random);
    const auto expected = distances(pattern, text);
    aligner.set_pattern(pattern);
    CHECK(aligner.align(text) == expected[pattern.size()][text.size()]);
    aligner.path(steps);
    CHECK(steps == path_of(pattern, text));
    const auto& last = expected[pattern.size()];
    const auto best = std::min_element(last.begin(), last.end());
    const auto prefix = aligner.best_prefix(text);
    CHECK(prefix.distance == *best);
    CHECK(prefix.letters == best - last.begin());
  }
}

TEST_CASE("a gap in a run of equal bases lies at its end") {
  UnitCostAligner aligner;
  std::vector<PathStep> steps;
  aligner.set_pattern("CAAAG");
  CHECK(aligner.align("CAAG") == 1);
  aligner.path(steps);
  using enum PathStep;
  CHECK(steps == std::vector<PathStep>{diagonal, diagonal, diagonal, pattern_only, diagonal});
}
