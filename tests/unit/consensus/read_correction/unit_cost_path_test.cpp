// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/unit_cost_path.hpp"

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <algorithm>

#include "read_correction/stretch_alignment.hpp"
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

std::vector<PathRun> path_of(std::string_view pattern, std::string_view text) {
  const auto d = distances(pattern, text);
  std::vector<PathRun> runs;
  std::size_t i = pattern.size(), j = text.size();
  while (i > 0 || j > 0) {
    if (j > 0 && (i == 0 || d[i][j] == d[i][j - 1] + 1)) {
      append_steps(runs, PathStep::text_only, 1), --j;
    } else if (i > 0 && (j == 0 || d[i][j] == d[i - 1][j] + 1)) {
      append_steps(runs, PathStep::pattern_only, 1), --i;
    } else {
      append_steps(runs, pattern[i - 1] == text[j - 1] ? PathStep::match : PathStep::mismatch, 1), --i, --j;
    }
  }
  std::reverse(runs.begin(), runs.end());
  return runs;
}

struct Pair {
  std::string pattern, text;
};
// Equal, alike, different and empty ones, with runs of one letter and with N, of none to four words.
std::vector<Pair> pairs() {
  std::mt19937 random(3);
  std::vector<Pair> all;
  for (int round = 0; round < 900; ++round) {
    Pair pair;
    pair.pattern = simulated_reads::random_bases(round < 100 ? random() % 6 : random() % 210, random);
    if (round % 5 == 0)
      for (char& base : pair.pattern) base = "AAACN"[random() % 5];
    const double errors[] = {0, 0.02, 0.1, 0.2, 0.5};
    pair.text = round % 3 == 0 ? simulated_reads::random_bases(random() % 150, random)
                               : simulated_reads::noisy_copy(pair.pattern, errors[random() % 5], random);
    all.push_back(pair);
  }
  return all;
}

BestPrefix best_prefix_of(std::string_view pattern, std::string_view text) {
  const auto last = distances(pattern, text).back();
  const auto best = std::min_element(last.begin(), last.end());
  return {*best, static_cast<std::int32_t>(best - last.begin())};
}

}  // namespace

TEST_CASE("distance, path and best prefix are those of the matrix, whatever computes them") {
  Wavefronts wavefronts;
  BitVectors bit_vectors;
  UnitCostAligner aligner;
  std::vector<PathRun> runs;
  for (const auto& pair : pairs()) {
    const std::string &pattern = pair.pattern, &text = pair.text;
    const std::int32_t distance = distances(pattern, text).back().back();
    const auto expected = path_of(pattern, text);
    const BestPrefix best = best_prefix_of(pattern, text);
    const auto check = [&](auto& one) {
      CHECK(one.align(text) == distance);
      one.path(runs);
      CHECK(runs == expected);
      const BestPrefix prefix = one.best_prefix(text);
      CHECK(prefix.distance == best.distance);
      CHECK(prefix.letters == best.letters);
    };
    bit_vectors.set_pattern(pattern);
    check(bit_vectors);
    aligner.set_pattern(pattern);
    check(aligner);

    wavefronts.set_pattern(pattern);
    CHECK_FALSE(wavefronts.align(text, distance - 1));
    REQUIRE(wavefronts.align(text, distance));
    CHECK(wavefronts.distance() == distance);
    wavefronts.path(runs);
    CHECK(runs == expected);
    BestPrefix prefix;
    CHECK_FALSE(wavefronts.find_best_prefix(text, best.distance - 1, prefix));
    REQUIRE(wavefronts.find_best_prefix(text, best.distance + 1, prefix));
    CHECK(prefix.distance == best.distance);
    CHECK(prefix.letters == best.letters);
  }
}

TEST_CASE("a stretch first comes to each row where the path of the matrix does, and has too many differences where the matrix has") {
  StretchAlignment alignment;
  int aligned = 0, packed = 0;
  for (const auto& [pattern, text] : pairs()) {
    const auto rows = static_cast<std::int32_t>(pattern.size()), columns = static_cast<std::int32_t>(text.size());
    const std::int32_t distance = distances(pattern, text).back().back();
    if (!StretchAlignment::has_room(rows, columns)) continue;
    // As letters, and from some place on in packed bases, which have to be bases.
    const PackedBases more_pattern("ACGTA" + pattern + "GG"), more_text("T" + text + "CATTA");
    for (const bool as_letters : {true, false}) {
      if (!as_letters && (more_pattern.has_others(5, 5 + rows) || more_text.has_others(1, 1 + columns))) continue;
      const std::int32_t found = as_letters ? alignment.align(pattern, text) : alignment.align({more_pattern, 5, rows}, {more_text, 1, columns});
      CHECK(found >= distance);
      CHECK(StretchAlignment::is_in_band(rows, columns, found) == StretchAlignment::is_in_band(rows, columns, distance));
      if (!StretchAlignment::is_in_band(rows, columns, distance)) continue;
      ++(as_letters ? aligned : packed);
      CHECK(found == distance);
      std::int32_t row = 0, letters = 0;
      for (const PathRun& run : path_of(pattern, text))
        for (std::int32_t step = 0; step < run.length; ++step) {
          letters += run.step == PathStep::pattern_only ? 0 : 1;
          if (run.step != PathStep::text_only) CHECK(alignment.letters_before(++row) == letters);
        }
    }
  }
  CHECK(packed > 400);
  CHECK(aligned > 500);
}

TEST_CASE("a stretch has room as long as its end is in the band, and is in the band as long as no path of so many differences leaves it") {
  CHECK(StretchAlignment::has_room(512, 481));
  CHECK_FALSE(StretchAlignment::has_room(512, 480));
  CHECK_FALSE(StretchAlignment::has_room(513, 512));
  CHECK(StretchAlignment::is_in_band(512, 512, 62));
  CHECK_FALSE(StretchAlignment::is_in_band(512, 512, 63));
  CHECK(StretchAlignment::is_in_band(100, 131, 31));
  CHECK_FALSE(StretchAlignment::is_in_band(131, 100, 32));
}

TEST_CASE("a gap in a run of equal bases lies at its end") {
  UnitCostAligner aligner;
  std::vector<PathRun> runs;
  aligner.set_pattern("CAAAG");
  CHECK(aligner.align("CAAG") == 1);
  aligner.path(runs);
  using enum PathStep;
  CHECK(runs == std::vector<PathRun>{{match, 3}, {pattern_only, 1}, {match, 1}});
}

TEST_CASE("a path is of the pattern and text of its alignment, after both ways were taken") {
  std::mt19937 random(12);
  UnitCostAligner aligner;
  std::vector<PathRun> runs;
  const std::string pattern = simulated_reads::random_bases(100, random);
  const std::string alike = simulated_reads::noisy_copy(pattern, 0.05, random), other = simulated_reads::random_bases(100, random);
  aligner.set_pattern(pattern);
  for (const std::string& text : {alike, other, alike}) {
    aligner.align(text);
    aligner.path(runs);
    CHECK(runs == path_of(pattern, text));
  }
}

TEST_CASE("alignments are the same on every instruction set, also of many differences and of long equal parts") {
  std::mt19937 random(8);
  std::vector<PathRun> runs;
  for (const double errors : {0.0, 0.001, 0.03, 0.4}) {
    const std::string pattern = simulated_reads::random_bases(700, random), text = simulated_reads::noisy_copy(pattern, errors, random);
    const std::int32_t distance = distances(pattern, text).back().back();
    const auto expected = path_of(pattern, text);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      Wavefronts wavefronts;
      wavefronts.set_pattern(pattern);
      CHECK_FALSE(wavefronts.align(text, distance - 1));
      REQUIRE(wavefronts.align(text, 1000));
      CHECK(wavefronts.distance() == distance);
      wavefronts.path(runs);
      CHECK(runs == expected);
      hwy::SetSupportedTargetsForTest(0);
    }
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
