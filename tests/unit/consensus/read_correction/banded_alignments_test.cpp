// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/banded_alignments.hpp"

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <deque>

#include "read_correction/bit_vectors.hpp"
#include "read_correction/strand_letters.hpp"
#include "read_correction/wavefronts.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

std::string codes_of(const std::string& letters) {
  std::string codes(letters.size(), '\0');
  to_codes(letters.data(), letters.size(), codes.data());
  return codes;
}

// Codes with what must follow them.
class Texts {
 public:
  void add(const std::string& letters) {
    padded_.push_back(codes_of(letters));
    padded_.back().append(Wavefronts::padding, Wavefronts::text_end);
    views_.emplace_back(padded_.back().data(), letters.size());
  }
  const std::vector<std::string_view>& views() const { return views_; }

 private:
  std::deque<std::string> padded_;
  std::vector<std::string_view> views_;
};

// The runs of a path, and whether each of its steps begins where the one behind it says.
struct Collected {
  std::vector<PathRun> runs;
  std::int32_t row, column;
  bool is_connected = true;
  void equal(std::int32_t at_row, std::int32_t at_column, std::int32_t letters) {
    append_steps(runs, PathStep::match, letters);
    go_to(at_row, at_column, letters, letters);
  }
  void difference(std::int32_t at_row, std::int32_t at_column, PathStep step) {
    append_steps(runs, step, 1);
    go_to(at_row, at_column, step == PathStep::text_only ? 0 : 1, step == PathStep::pattern_only ? 0 : 1);
  }
  void go_to(std::int32_t at_row, std::int32_t at_column, std::int32_t rows, std::int32_t columns) {
    is_connected = is_connected && at_row == row - rows && at_column == column - columns;
    row = at_row, column = at_column;
  }
};

Collected path_of(const BandedAlignments& alignments, std::size_t text, std::string_view pattern, std::string_view letters) {
  Collected path{{}, static_cast<std::int32_t>(pattern.size()), static_cast<std::int32_t>(letters.size())};
  alignments.path(text).walk_back(path);
  std::reverse(path.runs.begin(), path.runs.end());
  path.is_connected = path.is_connected && path.row == 0 && path.column == 0;
  return path;
}

// Whether a path has to be known: it and all others of as few differences are far from the ends of the band.
bool is_in_band(const std::vector<PathRun>& runs, std::string_view pattern, std::string_view text) {
  std::ptrdiff_t differences = 0;
  bool is_in_threes = false;
  for (const PathRun& run : runs) {
    differences += run.step == PathStep::match ? 0 : run.length;
    is_in_threes = is_in_threes || (run.step == PathStep::text_only && run.length > 2);
  }
  const auto longer = static_cast<std::ptrdiff_t>(text.size()) - static_cast<std::ptrdiff_t>(pattern.size());
  return !is_in_threes && differences + std::abs(longer) <= 31;
}

}  // namespace

TEST_CASE("texts aligned side by side have the paths that each has by itself, on every instruction set") {
  std::mt19937 random(23);
  BandedAlignments alignments;
  BitVectors alone;
  std::vector<PathRun> expected;
  std::size_t known = 0;
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (int round = 0; round < 240; ++round) {
    hwy::SetSupportedTargetsForTest(targets[static_cast<std::size_t>(round) % targets.size()]);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::string letters = simulated_reads::random_bases(1 + random() % (round % 4 == 0 ? BandedAlignments::most_columns : 150), random);
    if (round % 5 == 0)
      for (char& base : letters) base = "AAACN"[random() % 5];
    const std::string pattern = codes_of(letters);
    Texts texts;
    const std::size_t size = 1 + random() % 70;
    for (std::size_t i = 0; i < size; ++i)
      texts.add(random() % 8 == 0 ? simulated_reads::random_bases(1 + random() % 150, random)
                                  : simulated_reads::noisy_copy(letters, std::array{0.0, 0.02, 0.1, 0.2, 0.5}[random() % 5], random));
    alignments.align(pattern, texts.views());
    alone.set_pattern(pattern);
    for (std::size_t i = 0; i < size; ++i) {
      const std::string_view text = texts.views()[i];
      alone.align(text);
      alone.path(expected);
      if (!alignments.has(i)) {
        CHECK_FALSE(is_in_band(expected, pattern, text));
        continue;
      }
      ++known;
      const Collected path = path_of(alignments, i, pattern, text);
      CHECK(path.is_connected);
      CHECK(path.runs == expected);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(known > 4000);
}

TEST_CASE("nothing is known of a pattern without letters or of too many") {
  BandedAlignments alignments;
  Texts texts;
  texts.add("ACGT");
  alignments.align("", texts.views());
  CHECK_FALSE(alignments.has(0));
  alignments.align(std::string(BandedAlignments::most_columns + 1, '\0'), texts.views());
  CHECK_FALSE(alignments.has(0));
}
